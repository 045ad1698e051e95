#include "storage/redis/keys.h"
#include "tests/fuzz/redis_host.h"
#include "tests/fuzz/redis_host_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct redis_key {
    struct host_entry *entry; /* NULL: none is there */
    struct redis_string *name;
    bool is_fleet;
    int mode;
};

static bool has_fleet(void)
{
    for (unsigned i = 0; i < host.fields.used; i++)
        if (host.fields.entries[i].name)
            return true;
    return false;
}

struct redis_key *host_key_open(struct redis_ctx *ctx, struct redis_string *name, int mode)
{
    const bool is_fleet = name->len == strlen(STORAGE_FLEET_KEY) &&
                          memcmp(name->bytes, STORAGE_FLEET_KEY, name->len) == 0;
    struct host_entry *entry = is_fleet ? NULL : host_live(name->bytes, name->len);
    (void)ctx;
    if (!(mode & REDIS_WRITE) && !entry && !(is_fleet && has_fleet()))
        return NULL;
    struct redis_key *key = malloc(sizeof(*key));
    assert(key);
    *key = (struct redis_key){entry, name, is_fleet, mode};
    host.open++;
    return key;
}

void host_key_close(struct redis_key *key)
{
    assert(host.open > 0);
    host.open--;
    free(key);
}

int host_key_type(struct redis_key *key)
{
    if (!key || (key->is_fleet ? !has_fleet() : !key->entry))
        return REDIS_KEY_EMPTY;
    return key->is_fleet ? REDIS_KEY_HASH : REDIS_KEY_STRING;
}

size_t host_key_len(struct redis_key *key)
{
    return key->entry ? key->entry->value->len : 0;
}

static void note_write(const struct redis_key *key)
{
    assert(key->mode & REDIS_WRITE);
    host.writes++;
}

int host_key_delete(struct redis_key *key)
{
    note_write(key);
    if (key->entry)
        host_drop(key->entry);
    key->entry = NULL;
    return REDIS_OK;
}

char *host_key_bytes(struct redis_key *key, size_t *ret_len, int mode)
{
    assert(key->entry && (key->mode & mode) == mode);
    *ret_len = key->entry->value->len;
    return key->entry->value->bytes;
}

int host_key_set(struct redis_key *key, struct redis_string *value)
{
    note_write(key);
    key->entry = host_put(&host.keys, key->name->bytes, key->name->len, value->bytes, value->len);
    return REDIS_OK;
}

int host_key_resize(struct redis_key *key, size_t len)
{
    struct redis_string *value = key->entry->value;
    note_write(key);
    char *bytes = calloc(1, len ? len : 1);
    assert(bytes);
    memcpy(bytes, value->bytes, len < value->len ? len : value->len);
    free(value->bytes);
    value->bytes = bytes;
    value->len = len;
    return REDIS_OK;
}

long long host_key_expiry(struct redis_key *key)
{
    return key->entry ? key->entry->expires_ms : REDIS_NO_EXPIRY;
}

/* An expiry in the past removes a lock whose lease has ended. Each call may do that. */
int host_key_set_expiry(struct redis_key *key, long long expires_ms)
{
    if (expires_ms > host_wall_ms())
        note_write(key);
    if (key->entry)
        key->entry->expires_ms = expires_ms;
    return REDIS_OK;
}

/* ---- the fleet hash -------------------------------------------------------------------------- */

/* The next name of the arguments, which a NULL ends. */
static bool next_field(int flags, va_list *args, struct redis_host_text *ret_name)
{
    if (flags & REDIS_HASH_TEXTS) {
        const char *text = va_arg(*args, const char *);
        *ret_name = (struct redis_host_text){text, text ? strlen(text) : 0};
        return text != NULL;
    }
    const struct redis_string *string = va_arg(*args, const struct redis_string *);
    if (string)
        *ret_name = (struct redis_host_text){string->bytes, string->len};
    return string != NULL;
}

int host_hash_get(struct redis_key *key, int flags, ...)
{
    struct redis_host_text name;
    va_list args;
    assert(key->is_fleet);
    va_start(args, flags);
    while (next_field(flags, &args, &name)) {
        struct redis_string **value = va_arg(args, struct redis_string **);
        const struct host_entry *found = host_find(&host.fields, name.at, name.len);
        *value = found ? host_string_new(NULL, found->value->bytes, found->value->len) : NULL;
    }
    va_end(args);
    return REDIS_OK;
}

int host_hash_set(struct redis_key *key, int flags, ...)
{
    struct redis_host_text name;
    va_list args;
    assert(key->is_fleet);
    va_start(args, flags);
    while (next_field(flags, &args, &name)) {
        const struct redis_string *value = va_arg(args, const struct redis_string *);
        struct host_entry *found = host_find(&host.fields, name.at, name.len);
        note_write(key);
        if (value != REDIS_FIELD_REMOVED)
            host_put(&host.fields, name.at, name.len, value->bytes, value->len);
        else if (found)
            host_drop(found);
    }
    va_end(args);
    return REDIS_OK;
}
