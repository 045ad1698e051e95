#include "fence/protocol/owner.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <string.h>

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool fence_key_id_valid(const char *id, size_t len)
{
    if (len < FENCE_KEY_ID_MIN || len > FENCE_KEY_ID_MAX || id[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_key_char(id[i]))
            return false;
    return true;
}

/* The parts of a valid owner; the pointers point into the owner. */
struct parts {
    const char *label;
    size_t label_len;
    uint32_t delay_ms;
    const char *key_id; /* NULL: none */
};

/* Reads the digits of a delay. Each delay has exactly one spelling. */
static bool read_delay_part(const char *digits, size_t len, uint32_t *ret_delay_ms)
{
    uint64_t delay_ms = 0;
    if (len > FENCE_DELAY_DIGITS ||
        !fence_decimal_read(digits, len, FENCE_TTL_CEILING_MS, &delay_ms))
        return false;
    *ret_delay_ms = (uint32_t)delay_ms;
    return delay_ms > 0;
}

static bool take_apart(const char *owner, size_t len, struct parts *ret_parts)
{
    const char *end = owner + len;
    owner += len > 0 && owner[0] == FENCE_WRITER_MARK;
    len = (size_t)(end - owner);
    const char *key_at = memchr(owner, FENCE_OWNER_SEPARATOR, len);
    const char *text_end = key_at != NULL ? key_at : end;
    const char *delay_at = memchr(owner, FENCE_DELAY_SEPARATOR, (size_t)(text_end - owner));
    const char *label_end = delay_at != NULL ? delay_at : text_end;
    *ret_parts = (struct parts){
        .label = owner,
        .label_len = (size_t)(label_end - owner),
        .key_id = key_at != NULL ? key_at + 1 : NULL,
    };
    return fence_label_valid(owner, ret_parts->label_len) &&
           (delay_at == NULL || read_delay_part(delay_at + 1, (size_t)(text_end - delay_at - 1),
                                                &ret_parts->delay_ms)) &&
           (key_at == NULL || fence_key_id_valid(key_at + 1, (size_t)(end - key_at - 1)));
}

bool fence_owner_valid(const char *owner, size_t len)
{
    struct parts parts;
    return take_apart(owner, len, &parts);
}

void fence_owner_join(const char *label, uint32_t delay_ms, const char *key_id,
                      char ret_owner[static FENCE_OWNER_MAX + 1])
{
    size_t len = strlen(label);
    const size_t id_len = strlen(key_id);
    assert(fence_label_valid(label, len) && delay_ms <= FENCE_TTL_CEILING_MS);
    memcpy(ret_owner, label, len + 1);
    if (delay_ms > 0) {
        char digits[FENCE_DECIMAL_MAX];
        const size_t digits_len = fence_decimal(delay_ms, digits);
        ret_owner[len++] = FENCE_DELAY_SEPARATOR;
        memcpy(ret_owner + len, digits, digits_len);
        len += digits_len;
        ret_owner[len] = '\0';
    }
    if (id_len == 0)
        return;
    assert(fence_key_id_valid(key_id, id_len));
    ret_owner[len] = FENCE_OWNER_SEPARATOR;
    memcpy(ret_owner + len + 1, key_id, id_len + 1);
}

void fence_owner_mark_writer(char owner[static FENCE_OWNER_MAX + 1])
{
    const size_t len = strlen(owner);
    assert(len < FENCE_OWNER_MAX && !fence_owner_writes(owner));
    memmove(owner + 1, owner, len + 1);
    owner[0] = FENCE_WRITER_MARK;
}

bool fence_owner_writes(const char *owner)
{
    return owner[0] == FENCE_WRITER_MARK;
}

const char *fence_owner_split(const char *owner, char ret_label[static FENCE_OWNER_MAX + 1])
{
    const size_t len = strlen(owner);
    struct parts parts;
    assert(len <= FENCE_OWNER_MAX);
    if (!take_apart(owner, len, &parts))
        parts = (struct parts){.label = owner, .label_len = len};
    memcpy(ret_label, parts.label, parts.label_len);
    ret_label[parts.label_len] = '\0';
    return parts.key_id != NULL ? parts.key_id : "";
}

uint32_t fence_owner_delay_ms(const char *owner)
{
    struct parts parts;
    if (strchr(owner, FENCE_DELAY_SEPARATOR) == NULL || !take_apart(owner, strlen(owner), &parts))
        return 0;
    return parts.delay_ms;
}
