/* Text of a server, made fit for terminals and lines of logs: a server may be anybody's. */
#ifndef API_CLIENT_PLAIN_H
#define API_CLIENT_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Writes @len bytes of @text to @ret_text (@size bytes, terminated; what does not fit is cut), each
 * byte of a control character and of what is no UTF-8 as \xNN. Also of a change of the direction of
 * writing, which would hide the text behind it. Returns the length. */
size_t client_plain(const char *text, size_t len, char *ret_text, size_t size);

/* Reports whether client_plain() would leave it as it is. */
bool client_is_plain(const char *text, size_t len);

#endif
