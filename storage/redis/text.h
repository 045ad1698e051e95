/* Bytes of others as strings of ours. */
#ifndef STORAGE_REDIS_TEXT_H
#define STORAGE_REDIS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the @len bytes at @from to @to, terminated. False where its @size has no room for them:
 * @to is as it was. Any thread. */
bool storage_text_copy(char *to, size_t size, const char *from, size_t len);

/* Writes the @len bytes at @from for people and logs: as they are where they are printable ASCII,
 * else as "\xNN", so that no terminal obeys them. Always terminated; what does not fit is left out.
 * Any thread. */
void storage_text_show(char *to, size_t size, const char *from, size_t len);

/* Whether these bytes are printable ASCII. Any thread. */
bool storage_text_plain(const char *bytes, size_t len);

#endif
