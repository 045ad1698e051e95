/* The lock in hand: its key, and what stands in it. */
#include "fence/protocol/owner.h"
#include "storage/redis/module/leases.h"
#include "storage/redis/module/store_functions.h"
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
    assert(k < FENCE_GROUP_MAX);
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

/* Handles a value that Pawl did not write, as Lua does. A take and an inspection report it; a
 * clean-up or a confirmation treats it as another lock. */
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
    assert(found->key && found->lock.present);
    found->value_len = storage_module_value_write(&found->lock, found->value);
}

/* An expiry of Redis, or of install.lua, on the clock of the turn. */
static uint64_t end_by_wall(const struct storage_module_store *store, long long expires_ms)
{
    const long long left_ms = expires_ms - redis.wall_ms();
    const long long most_ms = STORAGE_MODULE_LEASE_MAX_MS; /* the clock may have been set back */
    const long long bounded_ms = left_ms < most_ms ? left_ms : most_ms;
    return store->turn->now_ms + (uint64_t)(bounded_ms > 0 ? bounded_ms : 0);
}

static uint64_t end_of_lease(const struct storage_module_store *store, uint64_t lease_ms)
{
    assert(store->found.key);
    size_t len = 0;
    const char *name = redis.string_bytes(store->keys[store->found.k], &len);
    return storage_module_lease_end(name, len, store->turn->now_ms, lease_ms);
}

static void remove_lock(struct storage_module_store *store)
{
    assert(store->found.key);
    size_t len = 0;
    struct redis_string *name = store->keys[store->found.k];
    const char *bytes = redis.string_bytes(name, &len);
    storage_module_remove(store, store->found.key, name);
    storage_module_lease_forget(bytes, len);
}

/* Writes a just imported lock as the module writes locks. If there is no memory, it may still be
 * released. */
static void settle_imported(struct storage_module_store *store)
{
    struct storage_module_found *found = &store->found;
    const bool leased = found->value[0] == STORAGE_MODULE_LEASED;
    if (!storage_module_value_read_imported(found->value, found->value_len, &found->lock)) {
        meet_stranger(store);
        return;
    }
    found->lock.expires_ms = leased ? end_of_lease(store, found->lock.expires_ms)
                                    : end_by_wall(store, (long long)found->lock.expires_ms);
    if (found->lock.expires_ms <= store->turn->now_ms) {
        remove_lock(store);
        found->lock.present = false;
        return;
    }
    put_text(found);
    if (store->full && !store->wrote)
        return;
    store->wrote = true;
    (void)!storage_module_write_lock(store, found->key, store->keys[found->k], found->value,
                                     found->value_len, found->lock.expires_ms);
}

static bool is_endless(const struct fence_stored_lock *lock)
{
    return lock->expires_ms == UINT64_MAX;
}

/* A lease of Redis that ends within this millisecond stands to its end. */
static uint64_t end_of_key(const struct storage_module_store *store)
{
    const long long expiry_ms = redis.key_expiry(store->found.key);
    if (expiry_ms == REDIS_NO_EXPIRY)
        return UINT64_MAX;
    const uint64_t end_ms = end_by_wall(store, expiry_ms);
    return end_ms > store->turn->now_ms ? end_ms : store->turn->now_ms + 1;
}

/* The lock behind "=<lease>=", whose bytes so far are @head. One that has ended is removed by
 * ended.c, or overwritten. */
static void read_leased(struct storage_module_store *store, size_t head, uint64_t lease_ms)
{
    struct storage_module_found *found = &store->found;
    const uint64_t end_ms = end_of_lease(store, lease_ms);
    found->value_len -= head + 1;
    memmove(found->value, found->value + head + 1, found->value_len);
    if (end_ms <= store->turn->now_ms)
        found->lock = (struct fence_stored_lock){.present = false};
    else if (!storage_module_value_read(found->value, found->value_len, &found->lock))
        meet_foreign(store);
    found->lock.expires_ms = end_ms;
}

static void read_lock_value(struct storage_module_store *store)
{
    struct storage_module_found *found = &store->found;
    size_t len = 0;
    uint64_t lease_ms = 0;
    const char *bytes = redis.key_bytes(found->key, &len, REDIS_READ);
    memcpy(found->value, bytes, len);
    found->value_len = len;
    const size_t head = storage_module_value_read_lease(found->value, len, &lease_ms);
    if ((len > 0 && found->value[0] == STORAGE_MODULE_IMPORTED) ||
        (head > 0 && found->value[head] == STORAGE_MODULE_IMPORTED)) {
        settle_imported(store);
        return;
    }
    if (head > 0) {
        read_leased(store, head, lease_ms);
        return;
    }
    const uint64_t end_ms = end_of_key(store);
    if (!storage_module_value_read(found->value, len, &found->lock))
        meet_foreign(store);
    found->lock.expires_ms = end_ms;
}

static bool is_of_sender(const struct storage_module_store *store)
{
    const struct fence_stored_lock *lock = &store->found.lock;
    return lock->present && strcmp(lock->lock_id, store->request->request.lock_id) == 0;
}

static bool is_senders(const struct storage_module_store *store)
{
    const struct fence_request *request = &store->request->request;
    const struct fence_stored_lock *lock = &store->found.lock;
    return is_of_sender(store) &&
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

/* Refuses a lock without an expiry. A take first checks whether a lock is in the way, and then
 * takes the locks. A lock that it takes again must have an expiry; so must a lock that a release
 * keeps closed. */
static void refuse_endless(struct storage_module_store *store, unsigned k)
{
    const struct fence_request *request = &store->request->request;
    const bool writes = fence_owner_writes(store->found.lock.owner);
    const bool keeps = request->kind == FENCE_REQUEST_RELEASE && request->release.keep_ms > 0 &&
                       (request->release.covers || !writes);
    if (keeps && is_endless(&store->found.lock) && is_of_sender(store))
        storage_module_fail(store, STORAGE_MODULE_ENDLESS);
    if (request->kind != FENCE_REQUEST_TAKE)
        return;
    const unsigned before = request->take.gated ? 2 : 1; /* it only looks at these */
    store->looks += k == 0;
    if (store->looks > before && is_endless(&store->found.lock) && is_senders(store))
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
    if (storage_module_has_failed(store))
        return;
    if (is_endless(lock) && (kind == FENCE_REQUEST_EXTEND || kind == FENCE_REQUEST_JOIN)) {
        storage_module_fail(store, STORAGE_MODULE_ENDLESS);
        return;
    }
    if (!storage_module_may_write(store))
        return;
    struct redis_key *key = open_lock(store, k);
    found->read = true;
    found->lock = *lock;
    put_text(found);
    if (is_endless(lock))
        storage_module_write(store, key, store->keys[k], found->value, found->value_len,
                             REDIS_NO_EXPIRY);
    else if (!storage_module_write_lock(store, key, store->keys[k], found->value, found->value_len,
                                        lock->expires_ms))
        storage_module_fail(store, STORAGE_MODULE_NO_MEMORY);
}

void storage_module_drop_lock(void *context, const char *resource)
{
    struct storage_module_store *store = storage_module_store_of(context);
    const unsigned k = index_of(store, resource);
    if (storage_module_has_failed(store))
        return;
    (void)open_lock(store, k);
    remove_lock(store);
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
