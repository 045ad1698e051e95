#include "storage/redis/reply_text.h"

#include "fence/protocol/decimal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool storage_reply_text_copy(char *to, size_t size, const char *from, size_t len)
{
    assert(size > 0);
    if (len >= size)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

bool storage_reply_text_number(const redisReply *reply, uint64_t max, uint64_t *ret_number)
{
    return reply->type == REDIS_REPLY_STRING &&
           fence_decimal_read(reply->str, reply->len, max, ret_number);
}

static bool is_plain(char c)
{
    return c >= ' ' && c <= '~';
}

bool storage_reply_text_plain(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!is_plain(bytes[i]))
            return false;
    return true;
}

void storage_reply_text_show(char *to, size_t size, const char *from, size_t len)
{
    enum {
        ESCAPED = sizeof("\\x00") - 1,
    };
    assert(size > 0);
    size_t at = 0;
    for (size_t i = 0; i < len && at + (is_plain(from[i]) ? 1 : ESCAPED) < size; i++) {
        if (is_plain(from[i]))
            to[at++] = from[i];
        else
            at += (size_t)snprintf(to + at, size - at, "\\x%02x", (unsigned char)from[i]);
    }
    to[at] = '\0';
}
