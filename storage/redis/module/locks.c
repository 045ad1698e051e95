/* The lock in hand: its key, and what stands in it. */
#include "storage/redis/module/keeping.h"
#include "storage/redis/module/writing.h"

#include <assert.h>
#include <string.h>

static unsigned index_of(const struct storage_module_store *store, const char *resource)
{
    const struct fence_group *group = store->request->request.group;
    if (!group)
        return 0;
    const size_t k = (size_t)(resource - group->locks[0].resource) / sizeof(group->locks[0]);
    assert(k < group->count && group->locks[k].resource == resource);
    return (unsigned)k;
}

void storage_module_close_found(struct storage_module_store *store)
{
    if (store->found.key)
        redis.key_close(store->found.key);
    store->found.key = NULL;
    store->found.read = false;
}

/* Opens the key of lock @k, unless it is. */
static struct redis_key *open_lock(struct storage_module_store *store, unsigned k)
{
    struct storage_module_found *found = &store->found;
    if (found->key && found->k == k)
        return found->key;
    storage_module_close_found(store);
    found->k = k;
    found->key = redis.key_open(store->ctx, store->keys[k], REDIS_READ | REDIS_WRITE);
    return found->key;
}

static bool begins_with_own_id(const struct storage_module_store *store)
{
    const struct storage_module_found *found = &store->found;
    const size_t len = strlen(store->request->lock_id);
    return len > 0 && found->value_len > len &&
           memcmp(found->value, store->request->lock_id, len) == 0 && found->value[len] == '.';
}

/* A value that Pawl did not write: what Lua makes of it. A take and an inspection hand it on, and a
 * clean-up or a confirmation meets another lock than its own. */
static void meet_foreign(struct storage_module_store *store)
{
    const enum fence_request_kind kind = store->request->request.kind;
    const bool own = begins_with_own_id(store);
    struct fence_stored_lock *lock = &store->found.lock;
    *lock = (struct fence_stored_lock){.present = true};
    if (kind == FENCE_REQUEST_INSPECT || (kind == FENCE_REQUEST_TAKE && !own))
        return;
    lock->present = false;
    if (kind != FENCE_REQUEST_UNDO && !(kind == FENCE_REQUEST_CONFIRM && !own))
        storage_module_fail(store, STORAGE_MODULE_FOREIGN);
}

/* The key holds no string, or a string that is longer than any lock. */
static void meet_stranger(struct storage_module_store *store)
{
    store->found.lock = (struct fence_stored_lock){.present = false};
    if (store->request->request.kind != FENCE_REQUEST_UNDO)
        storage_module_fail(store, STORAGE_MODULE_FOREIGN);
}

static void put_text(struct storage_module_found *found)
{
    found->value_len = storage_module_value_write(&found->lock, found->value);
}

/* A lock that was imported just now gets its expiry. Where memory is out, it may still be
 * released. */
static void settle_imported(struct storage_module_store *store)
{
    struct storage_module_found *found = &store->found;
    struct redis_string *name = store->keys[found->k];
    if (!storage_module_value_read_imported(found->value, found->value_len, &found->lock)) {
        meet_stranger(store);
        return;
    }
    if (found->lock.expires_ms <= store->turn->now_ms) {
        storage_module_remove(store, found->key, name);
        found->lock.present = false;
        return;
    }
    put_text(found);
    if (store->full && !store->wrote)
        return;
    store->wrote = true;
    storage_module_write(store, found->key, name, found->value, found->value_len,
                         (long long)found->lock.expires_ms);
}

static bool is_endless(const struct fence_stored_lock *lock)
{
    return lock->expires_ms == UINT64_MAX;
}

/* A lease that ends within this millisecond stands to its end. */
static uint64_t lease_end_of(const struct storage_module_store *store, long long expires_ms)
{
    const uint64_t soonest_ms = store->turn->now_ms + 1;
    if (expires_ms == REDIS_NO_EXPIRY)
        return UINT64_MAX;
    return (uint64_t)expires_ms < soonest_ms ? soonest_ms : (uint64_t)expires_ms;
}

static void read_lock_value(struct storage_module_store *store)
{
    struct storage_module_found *found = &store->found;
    size_t len = 0;
    const char *bytes = redis.key_bytes(found->key, &len, REDIS_READ);
    const uint64_t expires_ms = lease_end_of(store, redis.key_expiry(found->key));
    memcpy(found->value, bytes, len);
    found->value_len = len;
    if (len > 0 && found->value[0] == STORAGE_MODULE_IMPORTED) {
        settle_imported(store);
        return;
    }
    if (!storage_module_value_read(found->value, len, &found->lock))
        meet_foreign(store);
    found->lock.expires_ms = expires_ms;
}

static bool is_senders(const struct storage_module_store *store)
{
    const struct fence_request *request = &store->request->request;
    const struct fence_stored_lock *lock = &store->found.lock;
    return lock->present && strcmp(lock->lock_id, request->lock_id) == 0 &&
           (request->idempotent || (!lock->adopted && lock->attempt == request->attempt));
}

static void read_lock_key(struct storage_module_store *store, unsigned k)
{
    struct storage_module_found *found = &store->found;
    struct redis_key *key = open_lock(store, k);
    const int type = redis.key_type(key);
    found->read = true;
    found->value_len = 0;
    if (type == REDIS_KEY_EMPTY)
        found->lock = (struct fence_stored_lock){.present = false};
    else if (type != REDIS_KEY_STRING || redis.key_len(key) > STORAGE_MODULE_VALUE_MAX)
        meet_stranger(store);
    else
        read_lock_value(store);
}

/* A take looks first whether anything is in the way of a lock, and takes them after that. What it
 * takes again must have an expiry. */
static void refuse_endless(struct storage_module_store *store, unsigned k)
{
    if (store->request->request.kind != FENCE_REQUEST_TAKE)
        return;
    store->looks += k == 0;
    if (store->looks > 1 && is_endless(&store->found.lock) && is_senders(store))
        storage_module_fail(store, STORAGE_MODULE_ENDLESS);
}

void storage_module_get_lock(void *context, const char *resource,
                             struct fence_stored_lock *ret_lock)
{
    struct storage_module_store *store = storage_module_store_of(context);
    const unsigned k = index_of(store, resource);
    *ret_lock = (struct fence_stored_lock){.present = false};
    if (storage_module_has_failed(store))
        return;
    if (!store->found.read || store->found.k != k)
        read_lock_key(store, k);
    refuse_endless(store, k);
    if (!storage_module_has_failed(store))
        *ret_lock = store->found.lock;
}

void storage_module_put_lock(void *context, const char *resource,
                             const struct fence_stored_lock *lock)
{
    struct storage_module_store *store = storage_module_store_of(context);
    struct storage_module_found *found = &store->found;
    const enum fence_request_kind kind = store->request->request.kind;
    const unsigned k = index_of(store, resource);
    if (!storage_module_may_write(store))
        return;
    if (is_endless(lock) && (kind == FENCE_REQUEST_EXTEND || kind == FENCE_REQUEST_JOIN)) {
        storage_module_fail(store, STORAGE_MODULE_ENDLESS);
        return;
    }
    struct redis_key *key = open_lock(store, k);
    found->read = true;
    found->lock = *lock;
    put_text(found);
    storage_module_write(store, key, store->keys[k], found->value, found->value_len,
                         is_endless(lock) ? REDIS_NO_EXPIRY : (long long)lock->expires_ms);
}

void storage_module_drop_lock(void *context, const char *resource)
{
    struct storage_module_store *store = storage_module_store_of(context);
    const unsigned k = index_of(store, resource);
    if (storage_module_has_failed(store))
        return;
    struct redis_key *key = open_lock(store, k);
    storage_module_remove(store, key, store->keys[k]);
    store->found.read = false;
}

long long storage_module_left_ms(const struct storage_module_store *store)
{
    const struct storage_module_found *found = &store->found;
    const uint64_t now_ms = store->turn->now_ms;
    if (is_endless(&found->lock))
        return REDIS_NO_EXPIRY;
    return found->lock.expires_ms > now_ms ? (long long)(found->lock.expires_ms - now_ms) : 0;
}
