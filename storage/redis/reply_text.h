/* Bytes of others as strings of ours. */
#ifndef STORAGE_REDIS_REPLY_TEXT_H
#define STORAGE_REDIS_REPLY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* Copies the @len bytes at @from to @to, terminated. False where its @size has no room for them:
 * @to is as it was. Any thread. */
bool storage_reply_text_copy(char *to, size_t size, const char *from, size_t len);

/* Writes the @len bytes at @from for people and logs. Printable ASCII stays as it is. Any other
 * byte becomes "\xNN", so that no terminal obeys it. Always terminated; what does not fit is left
 * out. Any thread. */
void storage_reply_text_show(char *to, size_t size, const char *from, size_t len);

/* Reads a reply that is a string of digits, as fence_decimal_read() does. Any thread. */
bool storage_reply_text_number(const redisReply *reply, uint64_t max, uint64_t *ret_number);

/* Reports whether these bytes are printable ASCII. Any thread. */
bool storage_reply_text_plain(const char *bytes, size_t len);

#endif
