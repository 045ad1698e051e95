#include "storage/redis/batch.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "storage/redis/keys.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS_SIZE = STORAGE_BATCH_MAX * STORAGE_KEY_BYTES,
    ARGUMENTS_SIZE = STORAGE_BATCH_MAX * STORAGE_ARGS_BYTES,
    HEAD_SIZE = 512 + FENCE_VIEW_TEXT_MAX,
};

int storage_batch_writer_init(struct storage_batch_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
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
    writer->shared_len = 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool storage_batch_fits(const struct storage_batch *batch, const struct storage_request *request)
{
    return batch->locks + request->locks <= STORAGE_BATCH_MAX;
}

static size_t write_text(char *to, const char *text)
{
    return storage_resp_bulk(to, text, strlen(text));
}

static bool shares_with_last(const struct storage_batch_writer *writer,
                             const struct storage_request *request)
{
    return request->shared_len > 0 && request->shared_len == writer->shared_len &&
           memcmp(writer->arguments + writer->shared_at, request->args_bytes,
                  request->shared_len) == 0;
}

static void append_arguments(struct storage_batch_writer *writer,
                             const struct storage_request *request)
{
    size_t skipped = 0;
    if (shares_with_last(writer, request)) {
        skipped = request->shared_len;
        writer->args_len += write_text(writer->arguments + writer->args_len, STORAGE_ALSO);
        writer->args -= STORAGE_SHARED_ARGS - 1;
    } else {
        writer->shared_at = writer->args_len;
        writer->shared_len = request->shared_len;
    }
    memcpy(writer->arguments + writer->args_len, request->args_bytes + skipped,
           request->args_len - skipped);
    writer->args_len += request->args_len - skipped;
    writer->args += request->args;
}

void storage_batch_add(struct storage_batch_writer *writer, struct storage_batch *batch,
                       const struct storage_request *request)
{
    assert(storage_batch_fits(batch, request));
    assert(request->locks > 0 && batch->count < STORAGE_BATCH_MAX);
    assert(writer->keys_len + request->keys_len <= KEYS_SIZE);
    assert(writer->args_len + request->args_len <= ARGUMENTS_SIZE);
    memcpy(writer->keys + writer->keys_len, request->keys_bytes, request->keys_len);
    writer->keys_len += request->keys_len;
    append_arguments(writer, request);
    batch->locks += request->locks;
    batch->expected[batch->count++] = (struct storage_expected){
        .tag = request->tag,
        .kind = request->kind,
        .locks = request->locks,
        .in_group = request->in_group,
    };
}

/* EVALSHA, the script, the number of keys, the keys, the arguments. */
static size_t write_script_call(const struct storage_batch_writer *writer,
                                const struct storage_batch *batch,
                                const struct storage_batch_terms *terms, char *command)
{
    enum {
        COMMAND = 3,
        TERMS = 3,
    };
    const unsigned keys = 1 + batch->locks; /* the key of the fleet, and the keys of the locks */
    size_t len = storage_resp_head(command, '*', COMMAND + keys + TERMS + writer->args);
    len += write_text(command + len, "EVALSHA");
    len += write_text(command + len, terms->sha);
    len += storage_resp_number(command + len, keys);
    len += write_text(command + len, STORAGE_FLEET_KEY);
    memcpy(command + len, writer->keys, writer->keys_len);
    len += writer->keys_len;
    len += write_text(command + len, terms->view);
    len += write_text(command + len, terms->fleet_id);
    len += storage_resp_number(command + len, terms->member);
    memcpy(command + len, writer->arguments, writer->args_len);
    return len + writer->args_len;
}

/* The command, the terms, the arguments as one string, the keys. */
static size_t write_module_call(const struct storage_batch_writer *writer,
                                const struct storage_batch *batch,
                                const struct storage_batch_terms *terms, char *command)
{
    enum {
        COMMAND = 1,
        TERMS = 3,
        ARGUMENTS = 1,
    };
    const unsigned keys = 1 + batch->locks;
    size_t len = storage_resp_head(command, '*', COMMAND + TERMS + ARGUMENTS + keys);
    len += write_text(command + len, STORAGE_MODULE_COMMAND);
    len += write_text(command + len, terms->view);
    len += write_text(command + len, terms->fleet_id);
    len += storage_resp_number(command + len, terms->member);
    len += storage_resp_bulk(command + len, writer->arguments, writer->args_len);
    len += write_text(command + len, STORAGE_FLEET_KEY);
    memcpy(command + len, writer->keys, writer->keys_len);
    return len + writer->keys_len;
}

const char *storage_batch_command(struct storage_batch_writer *writer,
                                  const struct storage_batch *batch,
                                  const struct storage_batch_terms *terms, size_t *ret_len)
{
    assert(batch->count > 0 && terms->member >= 1 && terms->member <= FENCE_MASTERS_MAX);
    const size_t len =
        (terms->sha ? write_script_call : write_module_call)(writer, batch, terms, writer->command);
    assert(len <= HEAD_SIZE + KEYS_SIZE + ARGUMENTS_SIZE);
    storage_batch_clear(writer);
    *ret_len = len;
    return writer->command;
}

void storage_batch_keep(struct storage_batch *batch, const char *command, size_t len)
{
    batch->command_len = 0;
    if (batch->command_room < len) {
        free(batch->command);
        batch->command = malloc(len);
        batch->command_room = batch->command ? len : 0;
    }
    if (!batch->command)
        return;
    memcpy(batch->command, command, len);
    batch->command_len = len;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A decimal number up to the delimiter @end; sets *ret_after behind it. */
static bool read_number(const char *text, char end, int64_t *ret_number, const char **ret_after)
{
    const char *after = strchr(text, end);
    uint64_t number = 0;
    if (!after || !fence_decimal_read(text, (size_t)(after - text), FENCE_TOKEN_MAX, &number))
        return false;
    *ret_number = (int64_t)number;
    *ret_after = after + 1;
    return true;
}

/* "<lock id>.<attempt>:<number>:<extensions>:<from>:<owner>", or a tombstone. */
static bool read_lock(const redisReply *value, struct fence_reply *reply,
                      struct storage_reply_text *text)
{
    if (value->type != REDIS_REPLY_STRING || strlen(value->str) != value->len)
        return false;
    size_t id_len = strcspn(value->str, ".:");
    const char *at = strchr(value->str, ':');
    int64_t extensions = 0;
    bool tombstone = id_len == 1 && value->str[0] == FENCE_TOMBSTONE[0];
    if ((!tombstone && !fence_lock_id_valid(value->str, id_len)) || !at ||
        !read_number(at + 1, ':', &reply->number, &at) || !read_number(at, ':', &extensions, &at))
        return false;
    at += strspn(at, "0123456789");
    if (*at != ':' || !fence_owner_valid(at + 1, strlen(at + 1)))
        return false;
    memcpy(text->holder, value->str, id_len);
    text->holder[id_len] = '\0';
    memcpy(text->owner, at + 1, strlen(at + 1) + 1);
    return true;
}

static bool is_integer(const redisReply *value, long long least, long long most)
{
    return value->type == REDIS_REPLY_INTEGER && value->integer >= least && value->integer <= most;
}

/* Reads what is left of a lease, the lock, and in a group its index. */
static void read_held(const redisReply *answer, const struct storage_expected *expected,
                      struct fence_reply *reply, struct storage_reply_text *text)
{
    if (answer->elements != (expected->in_group ? 3 : 2) ||
        answer->element[0]->type != REDIS_REPLY_INTEGER)
        return;
    if (expected->in_group) {
        if (!is_integer(answer->element[2], 0, expected->locks - 1))
            return;
        reply->blocked = (unsigned)answer->element[2]->integer;
    }
    if (!read_lock(answer->element[1], reply, text)) {
        reply->kind = FENCE_REPLY_FOREIGN;
        return;
    }
    if (answer->element[0]->integer < 0) {
        reply->kind = FENCE_REPLY_ENDLESS;
        return;
    }
    reply->kind = FENCE_REPLY_HELD;
    long long left_ms = answer->element[0]->integer;
    reply->remaining_ms = left_ms <= 0                     ? 0
                          : left_ms > FENCE_TTL_CEILING_MS ? FENCE_TTL_CEILING_MS
                                                           : (uint64_t)left_ms;
    reply->holder = text->holder;
    reply->owner = text->owner;
}

/* Reads whether all was found, what is left of its lease, and a number for each lock. */
static void read_numbers(const redisReply *answer, const struct storage_expected *expected,
                         struct fence_reply *reply, struct storage_reply_text *text)
{
    enum {
        FOUND,
        REMAINING,
        NUMBERS,
    };
    if (answer->elements != NUMBERS + (size_t)expected->locks ||
        !is_integer(answer->element[FOUND], 0, 1) ||
        !is_integer(answer->element[REMAINING], 0, FENCE_TTL_CEILING_MS))
        return;
    for (unsigned k = 0; k < expected->locks; k++) {
        if (!is_integer(answer->element[NUMBERS + k], 1, FENCE_TOKEN_MAX))
            return;
        text->numbers[k] = answer->element[NUMBERS + k]->integer;
    }
    reply->kind = FENCE_REPLY_NUMBER;
    reply->found = answer->element[FOUND]->integer == 1;
    reply->remaining_ms = (uint64_t)answer->element[REMAINING]->integer;
    reply->number = text->numbers[0];
    reply->numbers = text->numbers;
}

/* Reads the number of extensions of a lock (or a sign that its number is below or above the token),
 * and its label; or that the grant was broken, and by whom. */
static void read_extended(const redisReply *answer, struct fence_reply *reply,
                          struct storage_reply_text *text)
{
    enum {
        SUPERSEDED = -2,
        BELOW = -6,
        BROKEN = -7,
    };
    const redisReply *owner = answer->element[1];
    const bool broken = is_integer(answer->element[0], BROKEN, BROKEN);
    const bool superseded = is_integer(answer->element[0], SUPERSEDED, SUPERSEDED);
    const bool below = is_integer(answer->element[0], BELOW, BELOW);
    const bool extended = is_integer(answer->element[0], 1, FENCE_EXTENSIONS_CEILING);
    if (answer->elements != 2 || (!broken && !superseded && !below && !extended) ||
        owner->type != REDIS_REPLY_STRING || strlen(owner->str) != owner->len ||
        !fence_owner_valid(owner->str, owner->len))
        return;
    memcpy(text->owner, owner->str, owner->len + 1);
    reply->kind = broken       ? FENCE_REPLY_BROKEN
                  : superseded ? FENCE_REPLY_SUPERSEDED
                               : FENCE_REPLY_YES;
    reply->number = extended ? answer->element[0]->integer : 0;
    reply->owner = text->owner;
}

static bool extends(enum fence_request_kind kind)
{
    return kind == FENCE_REQUEST_EXTEND || kind == FENCE_REQUEST_JOIN;
}

static void read_array(const redisReply *answer, const struct storage_expected *expected,
                       struct fence_reply *reply, struct storage_reply_text *text)
{
    bool takes = expected->kind == FENCE_REQUEST_TAKE;
    if (answer->elements < 2)
        return;
    if (takes && answer->element[1]->type == REDIS_REPLY_INTEGER)
        read_numbers(answer, expected, reply, text);
    else if (takes || expected->kind == FENCE_REQUEST_INSPECT ||
             expected->kind == FENCE_REQUEST_BREAK)
        read_held(answer, expected, reply, text);
    else if (extends(expected->kind))
        read_extended(answer, reply, text);
}

/* Reads the result of an extension: a lock without a label, or a refusal. */
static void read_extension(long long value, struct fence_reply *reply)
{
    enum {
        BELOW = 6, /* extended, and its number is below the token */
    };
    static const enum fence_reply_kind kinds[] = {
        FENCE_REPLY_NO,   FENCE_REPLY_EXHAUSTED, FENCE_REPLY_SUPERSEDED,    FENCE_REPLY_UNCOUNTED,
        FENCE_REPLY_PAST, FENCE_REPLY_TAKEN,     [BELOW] = FENCE_REPLY_YES,
    };
    if (value < -BELOW || value > FENCE_EXTENSIONS_CEILING)
        return;
    reply->kind = value > 0 ? FENCE_REPLY_YES : kinds[-value];
    reply->number = value > 0 ? value : 0;
    if (reply->kind == FENCE_REPLY_YES || reply->kind == FENCE_REPLY_SUPERSEDED)
        reply->owner = "";
}

static void read_integer_reply(const struct storage_expected *expected, long long value,
                               struct fence_reply *reply)
{
    bool counts = expected->kind == FENCE_REQUEST_COUNT;
    if (expected->kind == FENCE_REQUEST_TAKE || (counts && value != 0)) {
        if (value < 1 || value > FENCE_TOKEN_MAX || expected->in_group)
            return;
        reply->kind = FENCE_REPLY_NUMBER;
        reply->number = value;
    } else if (extends(expected->kind)) {
        read_extension(value, reply);
    } else if (value == 0) {
        reply->kind = FENCE_REPLY_NO;
    } else if (value == 1) {
        reply->kind = FENCE_REPLY_YES;
    } else if (value == 2 && expected->kind == FENCE_REQUEST_RELEASE) {
        reply->kind = FENCE_REPLY_YES;
        reply->adopted = true;
    } else if (value == -3) {
        reply->kind = FENCE_REPLY_UNCOUNTED;
    }
}

/* Reads the script's answer to a request that met data that Pawl did not write: a sign, and for a
 * group the index of the lock. */
static void read_error(const redisReply *answer, const struct storage_expected *expected,
                       struct fence_reply *reply)
{
    static const struct {
        const char *sign;
        enum fence_reply_kind kind;
    } signs[] = {
        {"PAWLFOREIGN ", FENCE_REPLY_FOREIGN}, {"PAWLENDLESS ", FENCE_REPLY_ENDLESS},
        {"PAWLSPENT ", FENCE_REPLY_SPENT},     {"PAWLMISCOUNTED ", FENCE_REPLY_MISCOUNTED},
        {"PAWLFULL ", FENCE_REPLY_FULL},       {"PAWLWRITERS ", FENCE_REPLY_WRITERS},
    };
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i].sign);
        if (strncmp(answer->str, signs[i].sign, len) != 0)
            continue;
        unsigned long index = strtoul(answer->str + len, NULL, 10);
        reply->kind = signs[i].kind;
        reply->blocked = expected->in_group && index < expected->locks ? (unsigned)index : 0;
    }
}

redisReply *storage_reply_take(redisReply *reply)
{
    assert(reply);
    redisReply *taken = malloc(sizeof(*taken));
    if (!taken)
        return NULL;
    *taken = *reply;
    memset(reply, 0, sizeof(*reply));
    reply->type = REDIS_REPLY_NIL;
    return taken;
}

struct fence_reply storage_batch_reply(const struct storage_batch *batch, unsigned i,
                                       const redisReply *reply, struct storage_reply_text *text)
{
    assert(i < batch->count);
    const struct storage_expected *expected = &batch->expected[i];
    struct fence_reply read = {
        .kind = FENCE_REPLY_REFUSED, .tag = expected->tag, .locks = expected->locks};
    if (!reply) {
        read.kind = FENCE_REPLY_LOST;
        return read;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != batch->count + 1)
        return read;
    const redisReply *position = reply->element[batch->count];
    if (is_integer(position, 0, FENCE_TOKEN_MAX))
        read.writes = position->integer;
    const redisReply *answer = reply->element[i];
    if (answer->type == REDIS_REPLY_ARRAY)
        read_array(answer, expected, &read, text);
    else if (answer->type == REDIS_REPLY_INTEGER)
        read_integer_reply(expected, answer->integer, &read);
    else if (answer->type == REDIS_REPLY_ERROR)
        read_error(answer, expected, &read);
    return read;
}

bool storage_reply_lacks_script(const redisReply *reply)
{
    static const char sign[] = "NOSCRIPT ";
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, sign, sizeof(sign) - 1) == 0;
}

bool storage_reply_unwilling(const redisReply *reply)
{
    static const char *const signs[] = {
        "READONLY ",
        "MISCONF ",
        "NOREPLICAS ",
        "NOPERM ",
        "ERR The user executing the script can't", /* NOPERM within a script, of Redis 7.0 ... */
        "ERR ACL failure in script",               /* ... and of 7.2 on */
    };
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (strncmp(reply->str, signs[i], strlen(signs[i])) == 0)
            return true;
    return false;
}

const char *storage_reply_words(const redisReply *reply)
{
    static const char wrong_type[] = "WRONGTYPE ";
    assert(reply->type == REDIS_REPLY_ERROR);
    if (strncmp(reply->str, wrong_type, sizeof(wrong_type) - 1) != 0)
        return reply->str;
    return "its key " STORAGE_FLEET_KEY
           " is not a hash: another program overwrote it. Delete that key on this "
           "master (redis-cli DEL " STORAGE_FLEET_KEY "). The master then rejoins";
}

bool storage_reply_changed(const redisReply *reply, const char **ret_why)
{
    static const char *const signs[] = {"PAWLGONE ", "PAWLFORGOT "}; /* errors of our own scripts */
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t len = strlen(signs[i]);
        if (strncmp(reply->str, signs[i], len) != 0)
            continue;
        *ret_why = reply->str + len;
        return true;
    }
    return false;
}

bool storage_batch_unwilling(const redisReply *reply, const char **ret_why)
{
    for (size_t i = 0; i < reply->elements; i++) {
        if (!storage_reply_unwilling(reply->element[i]))
            continue;
        *ret_why = reply->element[i]->str;
        return true;
    }
    return false;
}
