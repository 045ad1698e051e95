/* Fields of the fleet hash: counters, and the position. */
#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/store_functions.h"
#include "storage/redis/module/writing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    FIELD_MAX = sizeof(STORAGE_COUNTER_FIELD) + FENCE_RESOURCE_MAX,
};

static const char names_field[] = "names";
static const char writes_field[] = "writes";

/* The value of a field, to be freed; NULL: it is not there. */
static struct redis_string *field_of(const struct storage_module_store *store, const char *field)
{
    struct redis_string *value = NULL;
    if (redis.key_type(store->fleet) == REDIS_KEY_HASH)
        redis.hash_get(store->fleet, REDIS_HASH_TEXTS, field, &value, NULL);
    return value;
}

void storage_module_set_field(struct storage_module_store *store, const char *field,
                              const char *value, size_t len)
{
    struct redis_string *text = storage_module_text_new(store, value, len);
    redis.hash_set(store->fleet, REDIS_HASH_TEXTS, field, text, NULL);
    redis.replicate(store->ctx, "HSET", "scs", store->fleet_at, field, text);
    store->wrote = true;
    storage_module_text_free(store, text);
}

static void set_number_field(struct storage_module_store *store, const char *field, int64_t number)
{
    char digits[1 + FENCE_DECIMAL_MAX];
    const uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t len = number < 0;
    digits[0] = '-';
    len += fence_decimal(magnitude, digits + len);
    storage_module_set_field(store, field, digits, len);
}

/* A counter above every token counts as used up. */
static bool read_counter(const char *text, size_t len, int64_t *ret_number)
{
    const bool negative = len > 0 && text[0] == '-';
    uint64_t number = 0;
    if (!fence_decimal_read(text + negative, len - negative, INT64_MAX, &number))
        return false;
    *ret_number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* 0 where the field is not there. False: it is no number. */
static bool get_number(const struct storage_module_store *store, const char *field, bool *ret_there,
                       int64_t *ret_number)
{
    struct redis_string *value = field_of(store, field);
    *ret_there = value != NULL;
    *ret_number = 0;
    if (!value)
        return true;
    size_t len = 0;
    const char *text = redis.string_bytes(value, &len);
    const bool read = read_counter(text, len, ret_number);
    redis.string_free(NULL, value);
    return read;
}

static void slot_field(uint16_t slot, char to[static FENCE_DECIMAL_MAX + 1])
{
    to[fence_decimal(slot, to)] = '\0';
}

/* Reports whether this master gave the number with which one lock is confirmed. Its counter is not
 * below it, and Lua does not check. */
static bool gave_number(const struct storage_module_store *store)
{
    const struct fence_stored_lock *lock = &store->found.lock;
    return store->request->letter == 'C' && !lock->adopted && !lock->imported &&
           lock->number == store->request->request.token;
}

/* Lua counts first, and then checks the number. So this refuses a take if memory is out. */
int64_t storage_module_get_counter(void *context, uint16_t slot)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char field[FENCE_DECIMAL_MAX + 1];
    bool there = false;
    int64_t number = 0;
    if (storage_module_has_failed(store) ||
        (store->request->request.kind == FENCE_REQUEST_TAKE && !storage_module_may_write(store)))
        return 0;
    if (gave_number(store))
        return FENCE_TOKEN_MAX;
    slot_field(slot, field);
    if (!get_number(store, field, &there, &number))
        storage_module_fail(store, store->request->request.kind == FENCE_REQUEST_CONFIRM
                                       ? STORAGE_MODULE_ODD
                                       : STORAGE_MODULE_MISCOUNTED);
    return number;
}

void storage_module_put_counter(void *context, uint16_t slot, int64_t number)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char field[FENCE_DECIMAL_MAX + 1];
    if (!storage_module_may_write(store))
        return;
    slot_field(slot, field);
    set_number_field(store, field, number);
}

static void name_field(const char *name, char to[static FIELD_MAX])
{
    const int len = snprintf(to, FIELD_MAX, "%s%s", STORAGE_COUNTER_FIELD, name);
    assert(len > 0 && (size_t)len < FIELD_MAX);
    (void)len;
}

int64_t storage_module_get_named(void *context, const char *name)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char field[FIELD_MAX];
    bool there = false;
    int64_t number = 0;
    if (storage_module_has_failed(store))
        return 0;
    name_field(name, field);
    if (!get_number(store, field, &there, &number) || number < 0)
        storage_module_fail(store, STORAGE_MODULE_MISCOUNTED);
    store->names_one_more = !there;
    return number;
}

uint64_t storage_module_get_names(void *context)
{
    struct storage_module_store *store = storage_module_store_of(context);
    bool there = false;
    int64_t number = 0;
    if (storage_module_has_failed(store))
        return 0;
    if (!get_number(store, names_field, &there, &number))
        storage_module_fail(store, STORAGE_MODULE_ODD);
    return number > 0 ? (uint64_t)number : 0;
}

void storage_module_put_named(void *context, const char *name, int64_t number)
{
    struct storage_module_store *store = storage_module_store_of(context);
    char field[FIELD_MAX];
    bool there = false;
    int64_t names = 0;
    if (!storage_module_may_write(store))
        return;
    if (store->names_one_more && !get_number(store, names_field, &there, &names)) {
        storage_module_fail(store, STORAGE_MODULE_MISCOUNTED);
        return;
    }
    if (store->names_one_more)
        set_number_field(store, names_field, names + 1);
    name_field(name, field);
    set_number_field(store, field, number);
}

long long storage_module_position(const struct storage_module_store *store)
{
    bool there = false;
    int64_t number = 0;
    return get_number(store, writes_field, &there, &number) ? number : 0;
}

/* If somebody wrote the field by hand, the count begins again, and servers treat this master as one
 * that lost writes. */
long long storage_module_count_write(struct storage_module_store *store)
{
    const long long position = storage_module_position(store) + 1;
    set_number_field(store, writes_field, position);
    return position;
}
