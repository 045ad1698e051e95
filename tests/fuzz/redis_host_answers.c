#include "tests/fuzz/redis_host_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Reads each byte, for the sanitizers. */
static void read_all(const char *bytes, size_t len)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < len; i++)
        sum = (unsigned char)(sum + (unsigned char)bytes[i]);
}

int host_replicate(struct redis_ctx *ctx, const char *command, const char *format, ...)
{
    va_list args;
    (void)ctx;
    read_all(command, strlen(command));
    va_start(args, format);
    for (const char *kind = format; *kind; kind++) {
        const char *text = NULL;
        switch (*kind) {
        case 's': {
            const struct redis_string *string = va_arg(args, const struct redis_string *);
            read_all(string->bytes, string->len);
            break;
        }
        case 'c':
            text = va_arg(args, const char *);
            read_all(text, strlen(text));
            break;
        case 'b':
            text = va_arg(args, const char *);
            read_all(text, va_arg(args, size_t));
            break;
        case 'l':
            (void)va_arg(args, long long);
            break;
        default:
            abort();
        }
    }
    va_end(args);
    return REDIS_OK;
}

int host_publish(struct redis_ctx *ctx, struct redis_string *channel, struct redis_string *message)
{
    (void)ctx;
    read_all(channel->bytes, channel->len);
    read_all(message->bytes, message->len);
    return 0;
}

/* One more element; an array that has all of its elements is one of the array around it. */
static int answered(void)
{
    while (host.depth > 0 && --host.owed[host.depth - 1] == 0)
        host.depth--;
    if (host.depth == 0)
        host.answers++;
    return REDIS_OK;
}

int host_answer_integer(struct redis_ctx *ctx, long long integer)
{
    (void)ctx;
    (void)integer;
    return answered();
}

int host_answer_array(struct redis_ctx *ctx, long len)
{
    (void)ctx;
    assert(len > 0 && host.depth < NEST_MAX && host.answers == 0);
    host.owed[host.depth++] = len;
    return REDIS_OK;
}

int host_answer_bytes(struct redis_ctx *ctx, const char *bytes, size_t len)
{
    (void)ctx;
    read_all(bytes, len);
    return answered();
}

int host_answer_error(struct redis_ctx *ctx, const char *text)
{
    (void)ctx;
    read_all(text, strlen(text));
    assert(!strpbrk(text, "\r\n"));
    host.refused = host.refused || host.depth == 0;
    return answered();
}

int host_wrong_arity(struct redis_ctx *ctx)
{
    return host_answer_error(ctx, "ERR wrong number of arguments");
}
