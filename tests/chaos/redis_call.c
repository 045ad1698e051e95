#include "tests/chaos/redis_call.h"

#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisReply *call(uint16_t port, const char *format, va_list values)
{
    const struct timeval timeout = {.tv_sec = REDIS_CALL_TIMEOUT_S};
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", port, timeout);
    redisReply *reply = NULL;
    if (redis && !redis->err && redisSetTimeout(redis, timeout) == REDIS_OK)
        reply = redisvCommand(redis, format, values);
    if (redis)
        redisFree(redis);
    return reply;
}

redisReply *redis_call(uint16_t port, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = call(port, format, values);
    va_end(values);
    return reply;
}

bool redis_does(uint16_t port, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = call(port, format, values);
    va_end(values);
    const bool done = reply && reply->type != REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    return done;
}

void redis_must(uint16_t port, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = call(port, format, values);
    va_end(values);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("the server on port %u on '%s': %s", (unsigned)port, format,
                 reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

/* The value behind "@name:" at the begin of a line of @text. */
static char *value_of(const char *text, const char *name)
{
    const size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            return strndup(line + len + 1, strcspn(line + len + 1, "\r\n"));
    }
    return NULL;
}

char *redis_info(uint16_t port, const char *section, const char *name)
{
    redisReply *reply = redis_call(port, "INFO %s", section);
    char *value = reply && reply->type == REDIS_REPLY_STRING ? value_of(reply->str, name) : NULL;
    freeReplyObject(reply);
    return value;
}

long long redis_info_number(uint16_t port, const char *section, const char *name)
{
    char *value = redis_info(port, section, name);
    const long long number = value ? strtoll(value, NULL, 10) : -1;
    free(value);
    return number;
}

bool redis_info_is(uint16_t port, const char *section, const char *name, const char *value)
{
    char *text = redis_info(port, section, name);
    const bool same = text && strcmp(text, value) == 0;
    free(text);
    return same;
}
