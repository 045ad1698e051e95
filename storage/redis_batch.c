#include "storage/redis_batch.h"

#include "fence/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS_SIZE = STORAGE_BATCH_MAX * (STORAGE_KEY_MAX + 16),
    ARGUMENTS_SIZE = STORAGE_BATCH_MAX * STORAGE_REQUEST_MAX,
    HEAD_SIZE = 512 + FENCE_VIEW_TEXT_MAX,
    ATTEMPT_DIGITS = 16,
    NUMBER_MAX = 24, /* an integer as text, with its end */
};

int storage_batch_writer_init(struct storage_batch_writer *writer, const char *prefix,
                              uint32_t extensions)
{
    memset(writer, 0, sizeof(*writer));
    assert(strlen(prefix) <= STORAGE_KEY_PREFIX_MAX);
    snprintf(writer->fleet_key, sizeof(writer->fleet_key), "%sfleet", prefix);
    snprintf(writer->lock_prefix, sizeof(writer->lock_prefix), "%slock:", prefix);
    writer->extensions = extensions;
    writer->keys = malloc(KEYS_SIZE);
    writer->arguments = malloc(ARGUMENTS_SIZE);
    writer->command = malloc(HEAD_SIZE + KEYS_SIZE + ARGUMENTS_SIZE);
    if (writer->keys && writer->arguments && writer->command)
        return 0;
    storage_batch_writer_fini(writer);
    return FENCE_ENOMEM;
}

void storage_batch_writer_fini(struct storage_batch_writer *writer)
{
    free(writer->keys);
    free(writer->arguments);
    free(writer->command);
    memset(writer, 0, sizeof(*writer));
}

void storage_batch_clear(struct storage_batch_writer *writer)
{
    writer->keys_len = 0;
    writer->args_len = 0;
    writer->args = 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t write_number(char *to, uint64_t number)
{
    char digits[NUMBER_MAX];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < n; i++)
        to[i] = digits[n - 1 - i];
    return n;
}

static size_t end_line(char *to)
{
    to[0] = '\r';
    to[1] = '\n';
    return 2;
}

/* A RESP length line: "$<number>\r\n" (redis.io, "RESP protocol spec"). */
static size_t write_head(char *to, char kind, size_t number)
{
    to[0] = kind;
    size_t len = 1 + write_number(to + 1, number);
    return len + end_line(to + len);
}

static size_t write_bulk(char *to, const char *bytes, size_t len)
{
    size_t written = write_head(to, '$', len);
    memcpy(to + written, bytes, len);
    written += len;
    return written + end_line(to + written);
}

static char *append(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

/* The lock's key: prefix and resource. */
static void add_key(struct storage_batch_writer *writer, const char *resource)
{
    size_t prefix_len = strlen(writer->lock_prefix);
    size_t resource_len = strlen(resource);
    assert(resource_len <= FENCE_RESOURCE_MAX);
    char *start = writer->keys + writer->keys_len;
    char *end = start + write_head(start, '$', prefix_len + resource_len);
    end = append(end, writer->lock_prefix, prefix_len);
    end = append(end, resource, resource_len);
    end += end_line(end);
    writer->keys_len += (size_t)(end - start);
}

static void add_bytes(struct storage_batch_writer *writer, const char *bytes, size_t len)
{
    assert(writer->args_len + len + NUMBER_MAX < ARGUMENTS_SIZE);
    writer->args_len += write_bulk(writer->arguments + writer->args_len, bytes, len);
    writer->args++;
}

static void add_text(struct storage_batch_writer *writer, const char *text)
{
    add_bytes(writer, text, strlen(text));
}

static void add_number(struct storage_batch_writer *writer, uint64_t number)
{
    char text[NUMBER_MAX];
    add_bytes(writer, text, write_number(text, number));
}

/* "<lock id>.<attempt>" */
static void add_attempt(struct storage_batch_writer *writer, const struct fence_request *request)
{
    char text[FENCE_LOCK_ID_MAX + 1 + ATTEMPT_DIGITS];
    size_t len = strlen(request->lock_id);
    assert(len <= FENCE_LOCK_ID_MAX);
    memcpy(text, request->lock_id, len);
    text[len++] = '.';
    for (unsigned shift = 64; shift > 0;)
        text[len++] = "0123456789abcdef"[request->attempt >> (shift -= 4) & 15];
    add_bytes(writer, text, len);
}

static void add_arguments(struct storage_batch_writer *writer, const struct fence_request *request)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        add_text(writer, "T");
        add_attempt(writer, request);
        add_number(writer, request->slot);
        add_number(writer, request->ttl_ms);
        add_text(writer, request->owner);
        break;
    case FENCE_REQUEST_CONFIRM:
        add_text(writer, "C");
        add_attempt(writer, request);
        add_number(writer, request->slot);
        add_number(writer, (uint64_t)request->token);
        break;
    case FENCE_REQUEST_EXTEND:
        add_text(writer, "E");
        add_text(writer, request->lock_id);
        add_number(writer, (uint64_t)request->token);
        add_number(writer, request->ttl_ms);
        add_number(writer, writer->extensions);
        break;
    case FENCE_REQUEST_RELEASE:
        add_text(writer, "R");
        add_text(writer, request->lock_id);
        add_number(writer, (uint64_t)request->token);
        break;
    case FENCE_REQUEST_UNDO:
        add_text(writer, "U");
        add_attempt(writer, request);
        break;
    case FENCE_REQUEST_INSPECT:
        add_text(writer, "I");
        break;
    }
}

void storage_batch_add(struct storage_batch_writer *writer, struct storage_batch *batch,
                       const struct fence_request *request)
{
    assert(batch->count < STORAGE_BATCH_MAX);
    assert(request->token >= 0);
    add_key(writer, request->resource);
    add_arguments(writer, request);
    batch->expected[batch->count++] =
        (struct storage_expected){.tag = request->tag, .kind = request->kind};
}

const char *storage_batch_command(struct storage_batch_writer *writer,
                                  const struct storage_batch *batch,
                                  const struct storage_batch_terms *terms, size_t *ret_len)
{
    enum {
        KEYS_FIXED = 1, /* the fleet's */
        TERMS = 3,
    };
    unsigned keys = KEYS_FIXED + batch->count;
    char keys_text[NUMBER_MAX];
    size_t keys_digits = write_number(keys_text, keys);
    char member[NUMBER_MAX];
    size_t member_digits = write_number(member, terms->member);

    char *command = writer->command;
    size_t len = write_head(command, '*', 3 + keys + TERMS + writer->args);
    len += write_bulk(command + len, "EVALSHA", strlen("EVALSHA"));
    len += write_bulk(command + len, terms->sha, STORAGE_SHA_LEN);
    len += write_bulk(command + len, keys_text, keys_digits);
    len += write_bulk(command + len, writer->fleet_key, strlen(writer->fleet_key));
    memcpy(command + len, writer->keys, writer->keys_len);
    len += writer->keys_len;
    len += write_bulk(command + len, terms->view, strlen(terms->view));
    len += write_bulk(command + len, terms->fleet_id, strlen(terms->fleet_id));
    len += write_bulk(command + len, member, member_digits);
    memcpy(command + len, writer->arguments, writer->args_len);
    len += writer->args_len;
    storage_batch_clear(writer);
    *ret_len = len;
    return command;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A decimal number up to the delimiter @end; sets *ret_after behind it. */
static bool read_number(const char *text, char end, int64_t *ret_number, const char **ret_after)
{
    char *after = NULL;
    if (*text < '0' || *text > '9')
        return false;
    long long number = strtoll(text, &after, 10);
    if (*after != end || number < 0 || number > FENCE_TOKEN_MAX)
        return false;
    *ret_number = number;
    *ret_after = after + 1;
    return true;
}

/* "<lock id>.<attempt>:<number>:<extensions>:<owner>" */
static bool read_lock(const redisReply *value, struct fence_reply *reply,
                      struct storage_reply_text *text)
{
    if (value->type != REDIS_REPLY_STRING || strlen(value->str) != value->len)
        return false;
    size_t id_len = strcspn(value->str, ".:");
    const char *colon = strchr(value->str, ':');
    int64_t extensions = 0;
    const char *owner = NULL;
    if (!fence_lock_id_valid(value->str, id_len) || !colon ||
        !read_number(colon + 1, ':', &reply->number, &owner) ||
        !read_number(owner, ':', &extensions, &owner) || strlen(owner) > FENCE_OWNER_MAX)
        return false;
    memcpy(text->holder, value->str, id_len);
    text->holder[id_len] = '\0';
    memcpy(text->owner, owner, strlen(owner) + 1);
    return true;
}

static void read_held(const redisReply *answer, struct fence_reply *reply,
                      struct storage_reply_text *text)
{
    if (answer->elements != 2 || answer->element[0]->type != REDIS_REPLY_INTEGER ||
        !read_lock(answer->element[1], reply, text))
        return;
    reply->kind = FENCE_REPLY_HELD;
    reply->remaining_ms =
        answer->element[0]->integer > 0 ? (uint64_t)answer->element[0]->integer : 0;
    reply->holder = text->holder;
    reply->owner = text->owner;
}

static void read_integer(enum fence_request_kind kind, long long value, struct fence_reply *reply)
{
    if (kind == FENCE_REQUEST_TAKE) {
        if (value < 1 || value > FENCE_TOKEN_MAX)
            return;
        reply->kind = FENCE_REPLY_NUMBER;
        reply->number = value;
    } else if (value == 0) {
        reply->kind = FENCE_REPLY_NO;
    } else if (value == 1) {
        reply->kind = FENCE_REPLY_YES;
    } else if (value == -1 && kind == FENCE_REQUEST_EXTEND) {
        reply->kind = FENCE_REPLY_EXHAUSTED;
    }
}

struct fence_reply storage_batch_reply(const struct storage_batch *batch, unsigned i,
                                       const redisReply *reply, struct storage_reply_text *text)
{
    assert(i < batch->count);
    const struct storage_expected *expected = &batch->expected[i];
    struct fence_reply read = {.kind = FENCE_REPLY_REFUSED, .tag = expected->tag};
    if (!reply) {
        read.kind = FENCE_REPLY_LOST;
        return read;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != batch->count)
        return read;
    const redisReply *answer = reply->element[i];
    bool reads = expected->kind == FENCE_REQUEST_TAKE || expected->kind == FENCE_REQUEST_INSPECT;
    if (answer->type == REDIS_REPLY_ARRAY && reads)
        read_held(answer, &read, text);
    else if (answer->type == REDIS_REPLY_INTEGER)
        read_integer(expected->kind, answer->integer, &read);
    return read;
}

bool storage_batch_unwilling(const redisReply *reply, const char **ret_why)
{
    static const char *const signs[] = {"READONLY ", "MISCONF ", "OOM "};
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *answer = reply->element[i];
        if (answer->type != REDIS_REPLY_ERROR)
            continue;
        for (size_t j = 0; j < sizeof(signs) / sizeof(signs[0]); j++) {
            if (strncmp(answer->str, signs[j], strlen(signs[j])) != 0)
                continue;
            *ret_why = answer->str;
            return true;
        }
    }
    return false;
}
