/* UTF-8, as far as HTTP input needs it. */
#ifndef API_JSON_UTF8_H
#define API_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length (1 to 4) of the well-formed sequence that starts @bytes, of which @len are there; 0 if
 * there is none. No overlong forms, no surrogates (RFC 3629, section 4). */
size_t api_utf8_sequence(const char *bytes, size_t len);

/* Reports whether a well-formed sequence of @len bytes is a control character: C0, DEL, C1, a line
 * separator, or a change of the direction of writing. Terminals obey C1 (U+0080 to U+009F) too. A
 * changed direction hides the text after it. */
bool api_utf8_is_control(const char *sequence, size_t len);

bool api_utf8_valid(const char *bytes, size_t len);

#endif
