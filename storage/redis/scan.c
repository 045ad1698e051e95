#include "storage/redis/scan.h"

#include "fence/protocol/name.h"
#include "storage/redis/keys.h"
#include "storage/redis/request.h"
#include "storage/redis/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCK_KEY_LEN = sizeof(STORAGE_LOCK_KEY) - 1,
    PATTERN_MAX = LOCK_KEY_LEN + 2 * FENCE_RESOURCE_MAX + 2, /* all escaped, a star, the end */
    MGET_HEAD_MAX = 64,
    IMPORTED_LEN =
        sizeof("@1795333883000@001@") - 1, /* before a lock (storage/redis/lua/install.lua) */
};

/* Who wants to know. */
struct question {
    const struct storage_session *session;
    storage_found_fn *told;
    void *context;
};

static struct question *question_new(const struct storage_session *session, storage_found_fn *told,
                                     void *context)
{
    struct question *question = malloc(sizeof(*question));
    if (question)
        *question = (struct question){session, told, context};
    return question;
}

/* Hands over what came back, and forgets the question. */
static void tell_found(struct question *question, const struct fence_found *found)
{
    const struct storage_session *session = question->session;
    if (session->connection->link != STORAGE_LINK_CLOSED)
        question->told(question->context, session->index, found);
    free(question);
}

/* ---- answers --------------------------------------------------------------------------------- */

const char *storage_scan_name(const redisReply *key)
{
    if (key->type != REDIS_REPLY_STRING || key->len <= LOCK_KEY_LEN ||
        memcmp(key->str, STORAGE_LOCK_KEY, LOCK_KEY_LEN) != 0 ||
        !fence_resource_valid(key->str + LOCK_KEY_LEN, key->len - LOCK_KEY_LEN))
        return NULL;
    return key->str + LOCK_KEY_LEN;
}

static void on_scan_reply(redisAsyncContext *context, void *data, void *question)
{
    const redisReply *reply = data;
    const char **names = NULL;
    struct fence_found found = {.part = reply ? FENCE_PART_REFUSED : FENCE_PART_TIMEOUT};
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_ARRAY &&
        storage_text_number(reply->element[0], UINT64_MAX, &found.next)) {
        const redisReply *keys = reply->element[1];
        found.part = FENCE_PART_GRANTED;
        found.count = keys->elements;
        names = calloc(found.count + 1, sizeof(*names));
        found.error = names ? 0 : FENCE_ENOMEM;
        for (size_t k = 0; names && k < found.count; k++)
            names[k] = storage_scan_name(keys->element[k]);
        found.names = names;
    }
    tell_found(question, &found);
    free(names);
}

uint64_t storage_scan_holder(const redisReply *value)
{
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    const char *text = value->type == REDIS_REPLY_STRING ? value->str : "";
    if (text[0] == '@' && value->len > IMPORTED_LEN)
        text += IMPORTED_LEN;
    size_t len = strcspn(text, ".:");
    if (len == 0 || len > FENCE_LOCK_ID_MAX)
        return 0;
    memcpy(lock_id, text, len);
    lock_id[len] = '\0';
    return fence_lock_id_hash(lock_id);
}

static void on_holders_reply(redisAsyncContext *context, void *data, void *question)
{
    const redisReply *reply = data;
    uint64_t *holders = NULL;
    struct fence_found found = {.part = reply ? FENCE_PART_REFUSED : FENCE_PART_TIMEOUT};
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ARRAY) {
        found.part = FENCE_PART_GRANTED;
        found.count = reply->elements;
        holders = calloc(found.count + 1, sizeof(*holders));
        found.error = holders ? 0 : FENCE_ENOMEM;
        for (size_t k = 0; holders && k < found.count; k++)
            holders[k] = storage_scan_holder(reply->element[k]);
        found.holders = holders;
    }
    tell_found(question, &found);
    free(holders);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* "pawl:lock:<prefix>*", where nothing in the prefix means anything but itself. */
static void write_pattern(char pattern[static PATTERN_MAX], const char *prefix)
{
    size_t len = LOCK_KEY_LEN;
    assert(strlen(prefix) <= FENCE_RESOURCE_MAX);
    memcpy(pattern, STORAGE_LOCK_KEY, LOCK_KEY_LEN);
    for (; *prefix != '\0'; prefix++) {
        if (strchr("*?[]^\\", *prefix))
            pattern[len++] = '\\';
        pattern[len++] = *prefix;
    }
    pattern[len++] = '*';
    pattern[len] = '\0';
}

int storage_scan_names(const struct storage_session *session, uint64_t cursor, const char *prefix,
                       unsigned keys, storage_found_fn *told, void *context)
{
    char pattern[PATTERN_MAX];
    assert(keys >= 1 && keys <= FENCE_SCAN_KEYS_MAX);
    if (session->connection->link != STORAGE_LINK_READY)
        return FENCE_EIO;
    struct question *question = question_new(session, told, context);
    if (!question)
        return FENCE_ENOMEM;
    write_pattern(pattern, prefix);
    if (redisAsyncCommand(session->connection->context, on_scan_reply, question,
                          "SCAN %llu MATCH %s COUNT %u TYPE string", (unsigned long long)cursor,
                          pattern, keys) == REDIS_OK)
        return 0;
    free(question);
    return FENCE_EIO;
}

/* MGET of all the keys; malloc'd, NULL if memory is out. */
static char *write_mget(const struct fence_lock_name *names, size_t count, size_t *ret_len)
{
    char *command = malloc(MGET_HEAD_MAX + count * STORAGE_KEY_BYTES);
    if (!command)
        return NULL;
    size_t len = storage_resp_head(command, '*', 1 + count);
    len += storage_resp_bulk(command + len, "MGET", strlen("MGET"));
    for (size_t i = 0; i < count; i++) {
        char key[LOCK_KEY_LEN + FENCE_RESOURCE_MAX + 1];
        int key_len = snprintf(key, sizeof(key), "%s%s", STORAGE_LOCK_KEY, names[i].text);
        len += storage_resp_bulk(command + len, key, (size_t)key_len);
    }
    *ret_len = len;
    return command;
}

int storage_scan_holders(const struct storage_session *session, const struct fence_lock_name *names,
                         size_t count, storage_found_fn *told, void *context)
{
    int error = FENCE_ENOMEM;
    size_t len = 0;
    assert(count > 0);
    if (session->connection->link != STORAGE_LINK_READY)
        return FENCE_EIO;
    struct question *question = question_new(session, told, context);
    char *command = write_mget(names, count, &len);
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
