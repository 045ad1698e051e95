/* Bytes of others as strings of ours. */
#ifndef STORAGE_TEXT_H
#define STORAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the @len bytes at @from to @to, terminated. False where its @size has no room for them:
 * @to is as it was. Any thread. */
bool storage_text_copy(char *to, size_t size, const char *from, size_t len);

#endif
