#include "storage/redis/module/value.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <string.h>

enum {
    ATTEMPT_DIGITS = 16,
};

static const char any_attempt = '*';

bool storage_module_attempt_read(const char *digits, size_t len, uint64_t *ret_attempt)
{
    assert(digits && ret_attempt);
    uint64_t attempt = 0;
    if (len != ATTEMPT_DIGITS)
        return false;
    for (size_t i = 0; i < len; i++) {
        const char digit = digits[i];
        if (digit >= '0' && digit <= '9')
            attempt = attempt << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            attempt = attempt << 4 | (uint64_t)(digit - 'a' + 10);
        else
            return false;
    }
    *ret_attempt = attempt;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads up to the mark @end; moves *@at behind it. */
static bool read_part(const char **at, const char *limit, char end, const char **ret_text,
                      size_t *ret_len)
{
    assert(*at <= limit);
    const char *found = memchr(*at, end, (size_t)(limit - *at));
    if (!found)
        return false;
    *ret_text = *at;
    *ret_len = (size_t)(found - *at);
    *at = found + 1;
    return true;
}

static bool read_number_up_to(const char **at, const char *limit, char end, uint64_t max,
                              uint64_t *ret_number)
{
    assert(max > 0);
    const char *text = NULL;
    size_t len = 0;
    return read_part(at, limit, end, &text, &len) && fence_decimal_read(text, len, max, ret_number);
}

/* "<lock id>.<attempt>", or a tombstone. */
static bool read_tag(const char *tag, size_t len, struct fence_stored_lock *lock)
{
    if (len == 1 && tag[0] == FENCE_TOMBSTONE[0]) {
        memcpy(lock->lock_id, FENCE_TOMBSTONE, sizeof(FENCE_TOMBSTONE));
        lock->adopted = true;
        return true;
    }
    const char *dot = memchr(tag, '.', len);
    if (!dot || !fence_lock_id_valid(tag, (size_t)(dot - tag)))
        return false;
    memcpy(lock->lock_id, tag, (size_t)(dot - tag));
    lock->lock_id[dot - tag] = '\0';
    const size_t attempt_len = len - (size_t)(dot + 1 - tag);
    lock->adopted = attempt_len == 1 && dot[1] == any_attempt;
    return lock->adopted || storage_module_attempt_read(dot + 1, attempt_len, &lock->attempt);
}

/* The set of masters that had an imported lock; nothing of a lock that was not imported. */
static bool read_from(const char *text, size_t len, struct fence_stored_lock *lock)
{
    uint64_t from = 0;
    lock->imported = len > 0;
    if (len == 0)
        return true;
    if (!fence_decimal_read(text, len, (UINT32_C(1) << FENCE_MASTERS_MAX) - 1, &from))
        return false;
    lock->from = (uint32_t)from;
    return true;
}

bool storage_module_value_read(const char *value, size_t len, struct fence_stored_lock *ret_lock)
{
    const char *at = value;
    const char *limit = value + len;
    const char *tag = NULL;
    const char *from = NULL;
    size_t tag_len = 0;
    size_t from_len = 0;
    uint64_t number = 0;
    uint64_t extensions = 0;
    struct fence_stored_lock lock = {.present = true};
    if (!read_part(&at, limit, ':', &tag, &tag_len) || !read_tag(tag, tag_len, &lock) ||
        !read_number_up_to(&at, limit, ':', FENCE_TOKEN_MAX, &number) ||
        !read_number_up_to(&at, limit, ':', UINT32_MAX, &extensions) ||
        !read_part(&at, limit, ':', &from, &from_len) || !read_from(from, from_len, &lock))
        return false;
    const size_t owner_len = (size_t)(limit - at);
    if (owner_len > FENCE_OWNER_MAX || memchr(at, '\0', owner_len))
        return false;
    lock.number = (int64_t)number;
    lock.extensions = (uint32_t)extensions;
    memcpy(lock.owner, at, owner_len);
    *ret_lock = lock;
    return true;
}

/* Digits with zeros before them: install.lua writes numbers of one length. */
static bool read_padded(const char **at, const char *limit, char end, uint64_t max,
                        uint64_t *ret_number)
{
    const char *text = NULL;
    size_t len = 0;
    if (!read_part(at, limit, end, &text, &len))
        return false;
    for (; len > 1 && *text == '0'; len--)
        text++;
    return fence_decimal_read(text, len, max, ret_number);
}

bool storage_module_value_read_imported(const char *value, size_t len,
                                        struct fence_stored_lock *ret_lock)
{
    const char *at = value + 1;
    const char *limit = value + len;
    uint64_t expires_ms = 0;
    uint64_t from = 0;
    if (len == 0 || (value[0] != STORAGE_MODULE_IMPORTED && value[0] != STORAGE_MODULE_LEASED) ||
        !read_padded(&at, limit, STORAGE_MODULE_IMPORTED, INT64_MAX, &expires_ms) ||
        !read_padded(&at, limit, STORAGE_MODULE_IMPORTED, (UINT32_C(1) << FENCE_MASTERS_MAX) - 1,
                     &from) ||
        !storage_module_value_read(at, (size_t)(limit - at), ret_lock) || ret_lock->imported)
        return false;
    ret_lock->expires_ms = expires_ms;
    ret_lock->imported = true;
    ret_lock->from = (uint32_t)from;
    return true;
}

size_t storage_module_value_read_lease(const char *value, size_t len, uint64_t *ret_lease_ms)
{
    const char *at = value + 1;
    size_t head = 1;
    if (len == 0 || value[0] != STORAGE_MODULE_LEASED)
        return 0;
    while (head < len && value[head] >= '0' && value[head] <= '9')
        head++;
    if (head == len ||
        (value[head] != STORAGE_MODULE_LEASED && value[head] != STORAGE_MODULE_IMPORTED) ||
        !read_padded(&at, value + len, value[head], INT64_MAX, ret_lease_ms))
        return 0;
    if (*ret_lease_ms > STORAGE_MODULE_LEASE_MAX_MS)
        *ret_lease_ms = STORAGE_MODULE_LEASE_MAX_MS;
    return head;
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t write_attempt(uint64_t attempt, char *to)
{
    for (unsigned i = 0; i < ATTEMPT_DIGITS; i++)
        to[i] = "0123456789abcdef"[attempt >> (4 * (ATTEMPT_DIGITS - 1 - i)) & 15];
    return ATTEMPT_DIGITS;
}

static size_t write_number(uint64_t number, char *to)
{
    const size_t len = fence_decimal(number, to);
    to[len] = ':';
    return len + 1;
}

size_t storage_module_value_write(const struct fence_stored_lock *lock,
                                  char ret_value[static STORAGE_MODULE_VALUE_MAX])
{
    size_t len = strlen(lock->lock_id);
    const size_t owner_len = strlen(lock->owner);
    assert(len > 0 && len <= FENCE_LOCK_ID_MAX && owner_len <= FENCE_OWNER_MAX);
    assert(lock->number >= 0 && lock->number <= FENCE_TOKEN_MAX);
    _Static_assert(FENCE_LOCK_ID_MAX + ATTEMPT_DIGITS + 3 * (FENCE_DECIMAL_MAX + 1) +
                           FENCE_OWNER_MAX + 3 <=
                       STORAGE_MODULE_VALUE_MAX,
                   "the longest lock fits");
    memcpy(ret_value, lock->lock_id, len);
    if (strcmp(lock->lock_id, FENCE_TOMBSTONE) != 0) {
        ret_value[len++] = '.';
        if (lock->adopted)
            ret_value[len++] = any_attempt;
        else
            len += write_attempt(lock->attempt, ret_value + len);
    }
    ret_value[len++] = ':';
    len += write_number((uint64_t)lock->number, ret_value + len);
    len += write_number(lock->extensions, ret_value + len);
    if (lock->imported)
        len += write_number(lock->from, ret_value + len);
    else
        ret_value[len++] = ':';
    memcpy(ret_value + len, lock->owner, owner_len);
    return len + owner_len;
}

size_t storage_module_value_write_lease(uint64_t lease_ms,
                                        char ret_head[static STORAGE_MODULE_HEAD_MAX])
{
    size_t len = 1;
    ret_head[0] = STORAGE_MODULE_LEASED;
    len += fence_decimal(lease_ms, ret_head + len);
    ret_head[len] = STORAGE_MODULE_LEASED;
    return len + 1;
}
