/* Makes text of a server safe for terminals and lines of logs: the server may not be trusted. */
#ifndef API_CLIENT_PLAIN_H
#define API_CLIENT_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Writes @len bytes of @text to @ret_text (@size bytes, terminated; longer text is cut). Each byte
 * of a control character, and each byte outside UTF-8, becomes \xNN. So does a change of the
 * direction of writing, which would hide the text behind it. Returns the length. */
size_t client_plain(const char *text, size_t len, char *ret_text, size_t size);

/* Reports whether client_plain() would leave it as it is. */
bool client_is_plain(const char *text, size_t len);

#endif
