/* Keys beside a lock: which of its grants were broken, and by whom. */
#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/store_functions.h"
#include "storage/redis/module/writing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_MAX = sizeof(STORAGE_BROKEN_KEY) + FENCE_LOCK_ID_MAX + 1 + FENCE_RESOURCE_MAX,
};

static void broken_name(const char *resource, const char *lock_id, char to[static KEY_MAX])
{
    const int len = snprintf(to, KEY_MAX, "%s%s:%s", STORAGE_BROKEN_KEY, lock_id, resource);
    assert(len > 0 && (size_t)len < KEY_MAX);
    (void)len;
}

/* "<token>:<by whom>"; 0 where it is none. */
static int64_t read_note(const char *note, size_t len, char *ret_by)
{
    const char *colon = memchr(note, ':', len);
    uint64_t token = 0;
    if (!colon || !fence_decimal_read(note, (size_t)(colon - note), FENCE_TOKEN_MAX, &token))
        return 0;
    const size_t by_len = len - (size_t)(colon + 1 - note);
    if (by_len > FENCE_OWNER_MAX || memchr(colon + 1, '\0', by_len))
        return 0;
    memcpy(ret_by, colon + 1, by_len);
    ret_by[by_len] = '\0';
    return (int64_t)token;
}

int64_t storage_module_get_broken(void *context, const char *resource, const char *lock_id,
                                  char *ret_by)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char name[KEY_MAX];
    int64_t token = 0;
    if (storage_module_has_failed(store))
        return 0;
    broken_name(resource, lock_id, name);
    struct redis_string *key_name = storage_module_text_new(store, name, strlen(name));
    struct redis_key *key = redis.key_open(store->ctx, key_name, REDIS_READ);
    if (key && redis.key_type(key) == REDIS_KEY_STRING) {
        size_t len = 0;
        const char *note = redis.key_bytes(key, &len, REDIS_READ);
        token = read_note(note, len, ret_by);
    } else if (key) {
        storage_module_fail(store, STORAGE_MODULE_FOREIGN);
    }
    if (key)
        redis.key_close(key);
    storage_module_text_free(store, key_name);
    return token;
}

void storage_module_put_broken(void *context, const struct fence_request *request,
                               uint64_t until_ms)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char name[KEY_MAX];
    char note[FENCE_DECIMAL_MAX + 1 + FENCE_OWNER_MAX + 1];
    if (!storage_module_may_write(store))
        return;
    broken_name(request->resource, request->lock_id, name);
    const int len = snprintf(note, sizeof(note), "%" PRId64 ":%s", request->token, request->owner);
    storage_module_write_at(store, name, note, (size_t)len,
                            storage_module_wall_of(store, until_ms));
}
