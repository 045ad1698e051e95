#include "tests/fuzz/redis_host_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct redis_string *host_string_new(struct redis_ctx *ctx, const char *bytes, size_t len)
{
    struct redis_string *string = malloc(sizeof(*string));
    (void)ctx;
    assert(string);
    string->len = len;
    string->bytes = malloc(len ? len : 1);
    assert(string->bytes);
    memcpy(string->bytes, bytes, len);
    return string;
}

void host_string_free(struct redis_ctx *ctx, struct redis_string *string)
{
    (void)ctx;
    free(string->bytes);
    free(string);
}

const char *host_string_bytes(const struct redis_string *string, size_t *ret_len)
{
    *ret_len = string->len;
    return string->bytes;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool is_named(const struct host_entry *entry, const char *name, size_t len)
{
    return entry->name && entry->name->len == len && memcmp(entry->name->bytes, name, len) == 0;
}

struct host_entry *host_find(struct host_table *table, const char *name, size_t len)
{
    for (unsigned i = 0; i < table->used; i++)
        if (is_named(&table->entries[i], name, len))
            return &table->entries[i];
    return NULL;
}

static struct host_entry *add(struct host_table *table)
{
    for (unsigned i = 0; i < table->used; i++)
        if (!table->entries[i].name)
            return &table->entries[i];
    assert(table->used < ENTRIES_MAX);
    return &table->entries[table->used++];
}

void host_drop(struct host_entry *entry)
{
    host_string_free(NULL, entry->name);
    host_string_free(NULL, entry->value);
    *entry = (struct host_entry){0};
}

struct host_entry *host_put(struct host_table *table, const char *name, size_t len,
                            const char *value, size_t value_len)
{
    struct host_entry *entry = host_find(table, name, len);
    if (entry) {
        host_string_free(NULL, entry->value);
    } else {
        entry = add(table);
        entry->name = host_string_new(NULL, name, len);
    }
    entry->value = host_string_new(NULL, value, value_len);
    entry->expires_ms = REDIS_NO_EXPIRY;
    return entry;
}

void host_empty(struct host_table *table)
{
    for (unsigned i = 0; i < table->used; i++)
        if (table->entries[i].name)
            host_drop(&table->entries[i]);
    table->used = 0;
}

long long host_wall_ms(void)
{
    return 1700000000000 + (long long)(host.now_us / 1000);
}

void host_tell_changed(struct redis_string *name, int type, const char *event)
{
    for (unsigned i = 0; i < host.changed_count; i++)
        host.changed[i](&(struct redis_ctx){0}, type, event, name);
}

struct host_entry *host_live(const char *name, size_t len)
{
    struct host_entry *entry = host_find(&host.keys, name, len);
    if (!entry || entry->expires_ms == REDIS_NO_EXPIRY || entry->expires_ms > host_wall_ms())
        return entry;
    host_tell_changed(entry->name, REDIS_KEY_EXPIRED, "expired");
    host_drop(entry);
    return NULL;
}
