/* Keys beside a lock: who waits for it, and whom a free lock is kept for. */
#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/store_functions.h"
#include "storage/redis/module/writing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_MAX = sizeof(STORAGE_WAIT_KEY) + FENCE_RESOURCE_MAX,
};
static_assert(sizeof(STORAGE_NEXT_KEY) == sizeof(STORAGE_WAIT_KEY), "KEY_MAX");

/* ---- who waits ------------------------------------------------------------------------------- */

static bool somebody_waits(struct storage_module_store *store)
{
    if (!store->looked_for_waiters) {
        struct redis_string *name =
            storage_module_text_new(store, STORAGE_WAITING_KEY, strlen(STORAGE_WAITING_KEY));
        struct redis_key *key = redis.key_open(store->ctx, name, REDIS_READ);
        store->looked_for_waiters = true;
        store->somebody_waits = key != NULL;
        if (key)
            redis.key_close(key);
        storage_module_text_free(store, name);
    }
    return store->somebody_waits;
}

/* The key that exists while any lock has waiters lives at least as long as the key of one lock. */
static void lengthen_waiting(struct storage_module_store *store, long long until_ms)
{
    struct redis_string *name =
        storage_module_text_new(store, STORAGE_WAITING_KEY, strlen(STORAGE_WAITING_KEY));
    struct redis_key *key = redis.key_open(store->ctx, name, REDIS_READ | REDIS_WRITE);
    if (redis.key_type(key) == REDIS_KEY_EMPTY) {
        storage_module_write(store, key, name, "", 0, until_ms);
    } else if (redis.key_expiry(key) != REDIS_NO_EXPIRY && redis.key_expiry(key) < until_ms) {
        redis.key_set_expiry(key, until_ms);
        redis.replicate(store->ctx, "PEXPIREAT", "sl", name, until_ms);
    }
    redis.key_close(key);
    storage_module_text_free(store, name);
}

/* The ticket in a note; 0: it has none. */
static int64_t ticket_in(struct redis_key *key)
{
    size_t len = 0;
    uint64_t ticket = 0;
    if (redis.key_type(key) != REDIS_KEY_STRING)
        return 0;
    const char *text = redis.key_bytes(key, &len, REDIS_READ);
    return text && fence_decimal_read(text, len, FENCE_TOKEN_MAX, &ticket) ? (int64_t)ticket : 0;
}

/* Writes a note with a ticket; 0: with none. */
static void write_ticket(struct storage_module_store *store, struct redis_key *key,
                         struct redis_string *name, int64_t ticket, long long expires_ms)
{
    char text[FENCE_DECIMAL_MAX];
    const size_t len = ticket > 0 ? fence_decimal((uint64_t)ticket, text) : 0;
    storage_module_write(store, key, name, text, len, expires_ms);
}

static struct redis_string *note_name(struct storage_module_store *store, const char *prefix,
                                      const char *resource)
{
    char name[KEY_MAX];
    const int len = snprintf(name, sizeof(name), "%s%s", prefix, resource);
    return storage_module_text_new(store, name, (size_t)len);
}

/* The lowest ticket stays. */
static void note_waiter(struct storage_module_store *store, const char *resource, int64_t ticket,
                        long long ends_ms)
{
    struct redis_string *name = note_name(store, STORAGE_WAIT_KEY, resource);
    struct redis_key *key = redis.key_open(store->ctx, name, REDIS_READ | REDIS_WRITE);
    const int64_t lowest = ticket_in(key);
    if (lowest > 0 && (ticket == 0 || lowest < ticket))
        ticket = lowest;
    write_ticket(store, key, name, ticket, ends_ms);
    redis.key_close(key);
    storage_module_text_free(store, name);
}

void storage_module_wait(void *context, const char *resource, uint64_t until_ms, int64_t ticket)
{
    struct storage_module_store *store = storage_module_store_of(context);
    const uint64_t longest_ms = store->turn->now_ms + FENCE_TTL_CEILING_MS;
    if (storage_module_has_failed(store) || until_ms == UINT64_MAX /* nothing ends the lock */ ||
        until_ms <= store->turn->now_ms || !storage_module_may_write(store))
        return;
    const long long ends_ms =
        storage_module_wall_of(store, until_ms < longest_ms ? until_ms : longest_ms);
    note_waiter(store, resource, ticket, ends_ms);
    lengthen_waiting(store, ends_ms);
    store->looked_for_waiters = true;
    store->somebody_waits = true;
}

static void publish_release(struct storage_module_store *store, const char *resource,
                            const char *lock_id)
{
    char text[FENCE_LOCK_ID_MAX + 1 + FENCE_RESOURCE_MAX + 1];
    const int len = snprintf(text, sizeof(text), "%s:%s", lock_id, resource);
    struct redis_string *channel =
        storage_module_text_new(store, STORAGE_RELEASED_CHANNEL, strlen(STORAGE_RELEASED_CHANNEL));
    struct redis_string *message = storage_module_text_new(store, text, (size_t)len);
    redis.publish(store->ctx, channel, message);
    storage_module_text_free(store, channel);
    storage_module_text_free(store, message);
}

int64_t storage_module_notify(void *context, const char *resource, const char *lock_id)
{
    struct storage_module_store *store = storage_module_store_of(context);
    if (storage_module_has_failed(store) || !somebody_waits(store))
        return 0;
    struct redis_string *key_name = note_name(store, STORAGE_WAIT_KEY, resource);
    struct redis_key *key = redis.key_open(store->ctx, key_name, REDIS_READ | REDIS_WRITE);
    const bool waits = redis.key_type(key) != REDIS_KEY_EMPTY;
    const int64_t ticket = ticket_in(key);
    if (waits)
        storage_module_remove(store, key, key_name);
    redis.key_close(key);
    storage_module_text_free(store, key_name);
    if (waits)
        publish_release(store, resource, lock_id);
    return ticket;
}

/* ---- whom a free lock is kept for ------------------------------------------------------------ */

int64_t storage_module_get_next(void *context, const char *resource, uint64_t *ret_until_ms)
{
    struct storage_module_store *store = storage_module_store_of(context);
    int64_t ticket = 0;
    if (storage_module_has_failed(store) || !somebody_waits(store))
        return 0;
    struct redis_string *name = note_name(store, STORAGE_NEXT_KEY, resource);
    struct redis_key *key = redis.key_open(store->ctx, name, REDIS_READ);
    if (key) {
        const long long expiry_ms = redis.key_expiry(key);
        const long long left_ms = expiry_ms - redis.wall_ms();
        ticket = expiry_ms == REDIS_NO_EXPIRY ? 0 : ticket_in(key);
        *ret_until_ms = store->turn->now_ms + (uint64_t)(left_ms > 0 ? left_ms : 1);
        redis.key_close(key);
    }
    storage_module_text_free(store, name);
    return ticket;
}

void storage_module_put_next(void *context, const char *resource, int64_t ticket, uint64_t until_ms)
{
    struct storage_module_store *store = storage_module_store_of(context);
    if (storage_module_has_failed(store))
        return;
    struct redis_string *name = note_name(store, STORAGE_NEXT_KEY, resource);
    struct redis_key *key = redis.key_open(store->ctx, name, REDIS_READ | REDIS_WRITE);
    if (ticket > 0)
        write_ticket(store, key, name, ticket, storage_module_wall_of(store, until_ms));
    else
        storage_module_remove(store, key, name);
    redis.key_close(key);
    storage_module_text_free(store, name);
}
