/* Text from outside, made fit for a terminal and for lines of a log. */
#ifndef SERVER_SYSTEM_PRINTABLE_H
#define SERVER_SYSTEM_PRINTABLE_H

#include <stddef.h>

/* Writes @text to @ret_text (@size bytes, at least 1, terminated; what does not fit is cut) with
 * each byte as \xNN that belongs to a control character (also one of 0x80 to 0x9f, and those that
 * turn the direction of writing) or to no well-formed UTF-8. Returns the length. */
size_t server_printable(const char *text, char *ret_text, size_t size);

#endif
