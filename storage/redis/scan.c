#include "storage/redis/scan.h"

#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"
#include "storage/redis/keys.h"
#include "storage/redis/reply_text.h"
#include "storage/redis/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCK_KEY_LEN = sizeof(STORAGE_LOCK_KEY) - 1,
    COUNTER_FIELD_LEN = sizeof(STORAGE_COUNTER_FIELD) - 1,
    PATTERN_MAX = LOCK_KEY_LEN + 2 * FENCE_RESOURCE_MAX + 2, /* all escaped, a star, the end */
    MGET_HEAD_MAX = 64,
    IMPORTED_LEN =
        sizeof("@1795333883000@001@") - 1, /* before a lock (storage/redis/lua/install.lua) */
};

/* The receiver of the answer. */
struct question {
    const struct storage_session *session;
    enum fence_listing_kind kind;
    storage_found_fn *on_found;
    void *context;
};

static struct question *question_new(const struct storage_session *session,
                                     enum fence_listing_kind kind, storage_found_fn *on_found,
                                     void *context)
{
    struct question *question = malloc(sizeof(*question));
    if (question)
        *question = (struct question){session, kind, on_found, context};
    return question;
}

/* Hands over what came back, and forgets the question. */
static void tell_found(struct question *question, const struct fence_found *found)
{
    const struct storage_session *session = question->session;
    assert(found->count == 0 || found->error || found->names || found->holders);
    if (session->connection->link != STORAGE_LINK_CLOSED)
        question->on_found(question->context, session->index, found);
    free(question);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *name_behind(const redisReply *text, const char *begin, size_t len)
{
    if (text->type != REDIS_REPLY_STRING || text->len <= len ||
        memcmp(text->str, begin, len) != 0 ||
        !fence_lock_name_valid(text->str + len, text->len - len))
        return NULL;
    return text->str + len;
}

const char *storage_scan_name(const redisReply *key)
{
    return name_behind(key, STORAGE_LOCK_KEY, LOCK_KEY_LEN);
}

const char *storage_scan_counter(const redisReply *field)
{
    return name_behind(field, STORAGE_COUNTER_FIELD, COUNTER_FIELD_LEN);
}

/* Keys, or fields and their values in turn. */
static void read_names(enum fence_listing_kind kind, const redisReply *texts,
                       struct fence_found *found)
{
    bool counters = kind == FENCE_LISTING_COUNTERS;
    size_t count = counters ? texts->elements / 2 : texts->elements;
    const char **names = calloc(count + 1, sizeof(*names));
    found->count = count;
    found->error = names ? 0 : FENCE_ENOMEM;
    for (size_t k = 0; names && k < count; k++)
        names[k] = counters ? storage_scan_counter(texts->element[2 * k])
                            : storage_scan_name(texts->element[k]);
    found->names = names;
}

static void on_scan_reply(redisAsyncContext *context, void *data, void *privdata)
{
    const redisReply *reply = data;
    struct question *question = privdata;
    struct fence_found found = {.part = reply ? FENCE_PART_REFUSED : FENCE_PART_TIMEOUT};
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_ARRAY &&
        storage_reply_text_number(reply->element[0], UINT64_MAX, &found.next)) {
        found.part = FENCE_PART_GRANTED;
        read_names(question->kind, reply->element[1], &found);
    }
    const char *const *names = found.names;
    tell_found(question, &found);
    free((void *)names);
}

/* The lock in a value, behind what an import or the module wrote before it
 * (storage/redis/lua/install.lua, storage/redis/module/value.h). */
static const char *lock_in(const redisReply *value)
{
    static const char from[] = "@001@";
    const char *text = value->type == REDIS_REPLY_STRING ? value->str : "";
    if (text[0] == '@' && value->len > IMPORTED_LEN)
        return text + IMPORTED_LEN;
    if (text[0] != '=')
        return text;
    text += 1 + strspn(text + 1, "0123456789");
    if (*text == '@')
        return strlen(text) >= sizeof(from) ? text + sizeof(from) - 1 : "";
    return *text == '=' ? text + 1 : "";
}

uint64_t storage_scan_holder(const redisReply *value)
{
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    const char *text = lock_in(value);
    size_t len = strcspn(text, ".:");
    if (len == 0 || len > FENCE_LOCK_ID_MAX)
        return 0;
    memcpy(lock_id, text, len);
    lock_id[len] = '\0';
    return fence_lock_id_hash(lock_id);
}

static uint64_t holder_in(enum fence_listing_kind kind, const redisReply *value)
{
    return kind == FENCE_LISTING_COUNTERS ? value->type == REDIS_REPLY_STRING
                                          : storage_scan_holder(value);
}

static void on_holders_reply(redisAsyncContext *context, void *data, void *privdata)
{
    const redisReply *reply = data;
    struct question *question = privdata;
    uint64_t *holders = NULL;
    struct fence_found found = {.part = reply ? FENCE_PART_REFUSED : FENCE_PART_TIMEOUT};
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ARRAY) {
        found.part = FENCE_PART_GRANTED;
        found.count = reply->elements;
        holders = calloc(found.count + 1, sizeof(*holders));
        found.error = holders ? 0 : FENCE_ENOMEM;
        for (size_t k = 0; holders && k < found.count; k++)
            holders[k] = holder_in(question->kind, reply->element[k]);
        found.holders = holders;
    }
    tell_found(question, &found);
    free(holders);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* "<begin><prefix>*", where nothing in the prefix means anything but itself. */
static void write_pattern(char pattern[static PATTERN_MAX], const char *begin, const char *prefix)
{
    size_t len = strlen(begin);
    assert(len <= LOCK_KEY_LEN && strlen(prefix) <= FENCE_RESOURCE_MAX);
    memcpy(pattern, begin, len);
    for (; *prefix != '\0'; prefix++) {
        if (strchr("*?[]^\\", *prefix))
            pattern[len++] = '\\';
        pattern[len++] = *prefix;
    }
    pattern[len++] = '*';
    pattern[len] = '\0';
    assert(len < PATTERN_MAX);
}

static int send_scan(struct question *question, const struct fence_scan *scan)
{
    char pattern[PATTERN_MAX];
    redisAsyncContext *context = question->session->connection->context;
    if (question->kind == FENCE_LISTING_COUNTERS) {
        write_pattern(pattern, STORAGE_COUNTER_FIELD, scan->prefix);
        return redisAsyncCommand(context, on_scan_reply, question,
                                 "HSCAN " STORAGE_FLEET_KEY " %llu MATCH %s COUNT %u",
                                 (unsigned long long)scan->cursor, pattern, scan->keys);
    }
    write_pattern(pattern, STORAGE_LOCK_KEY, scan->prefix);
    return redisAsyncCommand(context, on_scan_reply, question,
                             "SCAN %llu MATCH %s COUNT %u TYPE string",
                             (unsigned long long)scan->cursor, pattern, scan->keys);
}

int storage_scan_names(const struct storage_session *session, const struct fence_scan *scan,
                       storage_found_fn *on_found, void *context)
{
    assert(scan->keys >= 1 && scan->keys <= FENCE_SCAN_KEYS_MAX);
    if (session->connection->link != STORAGE_LINK_READY)
        return FENCE_EIO;
    struct question *question = question_new(session, scan->kind, on_found, context);
    if (!question)
        return FENCE_ENOMEM;
    if (send_scan(question, scan) == REDIS_OK)
        return 0;
    free(question);
    return FENCE_EIO;
}

/* MGET of all the keys, or HMGET of all the fields; malloc'd, NULL if memory is out. */
static char *write_mget(enum fence_listing_kind kind, const struct fence_lock_name *names,
                        size_t count, size_t *ret_len)
{
    bool counters = kind == FENCE_LISTING_COUNTERS;
    const char *begin = counters ? STORAGE_COUNTER_FIELD : STORAGE_LOCK_KEY;
    char *command = malloc(MGET_HEAD_MAX + count * STORAGE_KEY_BYTES);
    if (!command)
        return NULL;
    size_t len = storage_resp_head(command, '*', 1 + counters + count);
    if (counters) {
        len += storage_resp_bulk(command + len, "HMGET", strlen("HMGET"));
        len += storage_resp_bulk(command + len, STORAGE_FLEET_KEY, strlen(STORAGE_FLEET_KEY));
    } else {
        len += storage_resp_bulk(command + len, "MGET", strlen("MGET"));
    }
    for (size_t i = 0; i < count; i++) {
        char key[LOCK_KEY_LEN + FENCE_RESOURCE_MAX + 1];
        int key_len = snprintf(key, sizeof(key), "%s%s", begin, names[i].text);
        assert(key_len > 0 && (size_t)key_len < sizeof(key));
        len += storage_resp_bulk(command + len, key, (size_t)key_len);
    }
    assert(len <= MGET_HEAD_MAX + count * STORAGE_KEY_BYTES);
    *ret_len = len;
    return command;
}

int storage_scan_holders(const struct storage_session *session, enum fence_listing_kind kind,
                         const struct fence_lock_name *names, size_t count,
                         storage_found_fn *on_found, void *context)
{
    int error = FENCE_ENOMEM;
    size_t len = 0;
    assert(count > 0);
    if (session->connection->link != STORAGE_LINK_READY)
        return FENCE_EIO;
    struct question *question = question_new(session, kind, on_found, context);
    char *command = write_mget(kind, names, count, &len);
    if (!question || !command)
        goto out;
    error = FENCE_EIO;
    if (redisAsyncFormattedCommand(session->connection->context, on_holders_reply, question,
                                   command, len) != REDIS_OK)
        goto out;
    question = NULL;
    error = 0;
out:
    free(question);
    free(command);
    return error;
}
