#include "storage/redis/module/answer.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static void answer_sign(const struct storage_module_store *store, const char *sign, unsigned index)
{
    char text[32];
    snprintf(text, sizeof(text), "%s %u", sign, index);
    redis.answer_error(store->ctx, text);
}

static void answer_store_failure(const struct storage_module_store *store)
{
    static const char *const signs[] = {
        [STORAGE_MODULE_FOREIGN] = "PAWLFOREIGN",
        [STORAGE_MODULE_ENDLESS] = "PAWLENDLESS",
        [STORAGE_MODULE_MISCOUNTED] = "PAWLMISCOUNTED",
    };
    switch (store->failure) {
    case STORAGE_MODULE_NO_MEMORY:
        redis.answer_error(store->ctx, "OOM command not allowed when used memory > 'maxmemory'.");
        break;
    case STORAGE_MODULE_ODD:
        redis.answer_error(store->ctx, "ERR a counter is no number");
        break;
    default:
        answer_sign(store, signs[store->failure], store->failed_at);
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Answers that a free lock is kept for another waiter: as if no holder had it. */
static void answer_kept(const struct storage_module_store *store, const struct fence_reply *reply)
{
    const struct fence_stored_lock nobodys = {.lock_id = FENCE_TOMBSTONE, .number = reply->number};
    char value[STORAGE_MODULE_VALUE_MAX];
    redis.answer_array(store->ctx, 2);
    redis.answer_integer(store->ctx, (long long)reply->remaining_ms);
    redis.answer_bytes(store->ctx, value, storage_module_value_write(&nobodys, value));
}

/* Answers that a lock is held: the rest of its lease, the lock, and in a group its index. */
static void answer_held(const struct storage_module_store *store, const struct fence_reply *reply)
{
    const bool in_group = store->request->letter == 'G';
    redis.answer_array(store->ctx, in_group ? 3 : 2);
    redis.answer_integer(store->ctx, storage_module_left_ms(store));
    redis.answer_bytes(store->ctx, store->found.value, store->found.value_len);
    if (in_group)
        redis.answer_integer(store->ctx, reply->blocked);
}

/* Answers whether all locks were found, the rest of their leases, and a number for each lock. One
 * lock that was taken now is answered with its number alone. */
static void answer_numbers(const struct storage_module_store *store,
                           const struct fence_reply *reply)
{
    const bool in_group = store->request->letter == 'G';
    if (!in_group && !reply->found && reply->remaining_ms == 0) {
        redis.answer_integer(store->ctx, reply->number);
        return;
    }
    redis.answer_array(store->ctx, 2 + (long)store->request->locks);
    redis.answer_integer(store->ctx, reply->found);
    redis.answer_integer(store->ctx, (long long)reply->remaining_ms);
    for (unsigned k = 0; k < store->request->locks; k++)
        redis.answer_integer(store->ctx, in_group ? reply->numbers[k] : reply->number);
}

static void answer_with_owner(const struct storage_module_store *store, long long integer,
                              const char *owner)
{
    redis.answer_array(store->ctx, 2);
    redis.answer_integer(store->ctx, integer);
    redis.answer_bytes(store->ctx, owner, strlen(owner));
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* The answers of storage/redis/lua/rare/extend.lua, by their names there. */
enum {
    FREE = 0,
    EXHAUSTED = -1,
    SUPERSEDED = -2,
    UNCOUNTED = -3,
    PAST = -4,
    TAKEN = -5,
    BELOW = -6,
    BROKEN = -7,
};

/* A @word about the lock of the lock id: its extensions, or a sign; and its label, if it has one.
 */
static void answer_labelled(const struct storage_module_store *store, long long word,
                            const struct fence_master_answer *answer)
{
    if (answer->owner[0] == '\0')
        redis.answer_integer(store->ctx, word);
    else
        answer_with_owner(store, word, answer->owner);
}

static void answer_extension(const struct storage_module_store *store,
                             const struct fence_master_answer *answer)
{
    switch (answer->reply.kind) {
    case FENCE_REPLY_YES:
        answer_labelled(store, answer->reply.number > 0 ? answer->reply.number : BELOW, answer);
        break;
    case FENCE_REPLY_BROKEN:
        answer_with_owner(store, BROKEN, answer->owner);
        break;
    case FENCE_REPLY_EXHAUSTED:
        redis.answer_integer(store->ctx, EXHAUSTED);
        break;
    case FENCE_REPLY_SUPERSEDED:
        answer_labelled(store, SUPERSEDED, answer);
        break;
    case FENCE_REPLY_UNCOUNTED:
        redis.answer_integer(store->ctx, UNCOUNTED);
        break;
    case FENCE_REPLY_PAST:
        redis.answer_integer(store->ctx, PAST);
        break;
    case FENCE_REPLY_TAKEN:
        redis.answer_integer(store->ctx, TAKEN);
        break;
    default:
        redis.answer_integer(store->ctx, FREE);
    }
}

static void answer_other(const struct storage_module_store *store, const struct fence_reply *reply)
{
    switch (reply->kind) {
    case FENCE_REPLY_NUMBER:
        if (store->request->request.kind == FENCE_REQUEST_TAKE)
            answer_numbers(store, reply);
        else
            redis.answer_integer(store->ctx, reply->number);
        break;
    case FENCE_REPLY_HELD:
        if (store->found.lock.present)
            answer_held(store, reply);
        else
            answer_kept(store, reply);
        break;
    case FENCE_REPLY_YES:
        redis.answer_integer(store->ctx, reply->adopted ? 2 : 1);
        break;
    case FENCE_REPLY_UNCOUNTED:
        redis.answer_integer(store->ctx, UNCOUNTED);
        break;
    case FENCE_REPLY_SPENT:
        answer_sign(store, "PAWLSPENT", reply->blocked);
        break;
    case FENCE_REPLY_WRITERS:
        answer_sign(store, "PAWLWRITERS", 0);
        break;
    case FENCE_REPLY_FULL:
        answer_sign(store, "PAWLFULL", 0);
        break;
    default:
        redis.answer_integer(store->ctx, FREE);
    }
}

void storage_module_answer(const struct storage_module_store *store,
                           const struct fence_master_answer *answer)
{
    const enum fence_request_kind kind = store->request->request.kind;
    if (store->failure != STORAGE_MODULE_FINE)
        answer_store_failure(store);
    else if (kind == FENCE_REQUEST_EXTEND || kind == FENCE_REQUEST_JOIN)
        answer_extension(store, answer);
    else
        answer_other(store, &answer->reply);
}

bool storage_module_is_counted(const struct storage_module_store *store,
                               const struct fence_master_answer *answer)
{
    switch (store->request->letter) {
    case 'T':
    case 'N': /* its number alone */
        return store->failure == STORAGE_MODULE_FINE && answer->reply.kind == FENCE_REPLY_NUMBER &&
               answer->reply.remaining_ms == 0;
    case 'K':
        return store->request->counted;
    case 'R':
    case 'S':
    case 'L':
    case 'M':
    case 'U':
    case 'V':
    case 'I':
        return false;
    default:
        return true;
    }
}
