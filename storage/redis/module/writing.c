#include "storage/redis/module/writing.h"

#include "storage/redis/module/leases.h"

#include <assert.h>
#include <string.h>

struct storage_module_store *storage_module_store_of(void *context)
{
    return context;
}

/* ---- failing -------------------------------------------------------------------------------- */

/* The first failure is told. A group that is taken tells which lock met it. */
void storage_module_fail(struct storage_module_store *store, enum storage_module_failure failure)
{
    assert(failure != STORAGE_MODULE_FINE);
    if (store->failure != STORAGE_MODULE_FINE)
        return;
    store->failure = failure;
    store->failed_at = store->request->letter == 'G' ? store->found.k : 0;
}

bool storage_module_has_failed(const struct storage_module_store *store)
{
    return store->failure != STORAGE_MODULE_FINE;
}

/* Redis refuses the first write of a script that may need more memory. Commands after a write are
 * written, as half of a script must not be missing. */
bool storage_module_may_write(struct storage_module_store *store)
{
    if (storage_module_has_failed(store))
        return false;
    if (store->full && !store->wrote) {
        storage_module_fail(store, STORAGE_MODULE_NO_MEMORY);
        return false;
    }
    store->wrote = true;
    return true;
}

/* ---- keys ----------------------------------------------------------------------------------- */

struct redis_string *storage_module_text_new(struct storage_module_store *store, const char *text,
                                             size_t len)
{
    assert(text);
    return redis.string_new(store->ctx, text, len);
}

void storage_module_text_free(struct storage_module_store *store, struct redis_string *text)
{
    redis.string_free(store->ctx, text);
}

/* Writes over the string at @key. That spares the server from deleting the key and adding it again.
 * False: the key has no string, or has an expiry, which would stay. */
static bool overwrite(struct redis_key *key, const char *bytes, size_t len)
{
    size_t room = 0;
    if (redis.key_type(key) != REDIS_KEY_STRING || redis.key_expiry(key) != REDIS_NO_EXPIRY ||
        redis.key_resize(key, len) != REDIS_OK)
        return false;
    char *to = redis.key_bytes(key, &room, REDIS_READ | REDIS_WRITE);
    assert(room == len);
    memcpy(to, bytes, len);
    return true;
}

static void write_without_expiry(struct storage_module_store *store, struct redis_key *key,
                                 struct redis_string *name, const char *bytes, size_t len)
{
    if (overwrite(key, bytes, len)) {
        redis.replicate(store->ctx, "SET", "sb", name, bytes, len);
        return;
    }
    struct redis_string *value = storage_module_text_new(store, bytes, len);
    redis.key_set(key, value);
    redis.replicate(store->ctx, "SET", "ss", name, value);
    storage_module_text_free(store, value);
}

/* Writes a string with an expiry; REDIS_NO_EXPIRY: with none. */
void storage_module_write(struct storage_module_store *store, struct redis_key *key,
                          struct redis_string *name, const char *bytes, size_t len,
                          long long expires_ms)
{
    if (expires_ms == REDIS_NO_EXPIRY) {
        write_without_expiry(store, key, name, bytes, len);
        return;
    }
    struct redis_string *value = storage_module_text_new(store, bytes, len);
    redis.key_set(key, value);
    redis.key_set_expiry(key, expires_ms);
    redis.replicate(store->ctx, "SET", "sscl", name, value, "PXAT", expires_ms);
    storage_module_text_free(store, value);
}

bool storage_module_write_lock(struct storage_module_store *store, struct redis_key *key,
                               struct redis_string *name, const char *text, size_t len,
                               uint64_t end_ms)
{
    char value[STORAGE_MODULE_HEAD_MAX + STORAGE_MODULE_VALUE_MAX];
    size_t name_len = 0;
    const char *name_bytes = redis.string_bytes(name, &name_len);
    const uint64_t now_ms = store->turn->now_ms;
    if (!storage_module_lease_set(name_bytes, name_len, end_ms))
        return false;
    const size_t head =
        storage_module_value_write_lease(end_ms > now_ms ? end_ms - now_ms : 1, value);
    memcpy(value + head, text, len);
    storage_module_write(store, key, name, value, head + len, REDIS_NO_EXPIRY);
    return true;
}

long long storage_module_wall_of(const struct storage_module_store *store, uint64_t ms)
{
    return redis.wall_ms() + (long long)(ms - store->turn->now_ms);
}

void storage_module_write_at(struct storage_module_store *store, const char *name,
                             const char *bytes, size_t len, long long expires_ms)
{
    struct redis_string *key_name = storage_module_text_new(store, name, strlen(name));
    struct redis_key *key = redis.key_open(store->ctx, key_name, REDIS_READ | REDIS_WRITE);
    storage_module_write(store, key, key_name, bytes, len, expires_ms);
    redis.key_close(key);
    storage_module_text_free(store, key_name);
}

void storage_module_remove(struct storage_module_store *store, struct redis_key *key,
                           struct redis_string *name)
{
    redis.key_delete(key);
    redis.replicate(store->ctx, "DEL", "s", name);
    store->wrote = true;
}
