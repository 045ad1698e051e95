/* Text from outside, made safe for a terminal and for lines of a log. */
#ifndef SERVER_SYSTEM_PRINTABLE_H
#define SERVER_SYSTEM_PRINTABLE_H

#include <stddef.h>

/* Writes @text to @ret_text (@size bytes, at least 1, terminated; longer text is cut). A byte that
 * must not be shown becomes \xNN: each byte outside well-formed UTF-8, and each byte of a control
 * character. 0x80 to 0x9f, and a change of the direction of writing, count as control characters.
 * Returns the length. */
size_t server_printable(const char *text, char *ret_text, size_t size);

#endif
