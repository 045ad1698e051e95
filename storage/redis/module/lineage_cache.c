#include "storage/redis/module/lineage_cache.h"

#include <stdio.h>
#include <string.h>

enum {
    FIELD_MAX =
        128, /* bytes of a field of the marker that is kept; a longer one is read each time */
    KEPT_FIELDS = 4,
};

struct kept_field {
    bool there;
    size_t len;
    char bytes[FIELD_MAX];
};

/* The verdict that this server may act, and the fields of the marker that it was read with. A
 * refusal is never kept. */
static struct {
    bool stands;
    uint64_t read_ms;
    bool durable;
    struct kept_field fields[KEPT_FIELDS];
} kept;

static uint64_t evictions; /* since the module was loaded, ... */
static struct {
    int64_t incarnation;
    uint64_t evictions;
} admitted; /* ... and when a call first found this incarnation */

void storage_module_lineage_cache_clear(void)
{
    kept.stands = false;
}

void storage_module_lineage_cache_evicted(void)
{
    evictions++;
    kept.stands = false;
}

static bool is_same_as_kept(const struct kept_field *kept_field, struct storage_module_bytes field)
{
    return kept_field->there == (field.at != NULL) && kept_field->len == field.len &&
           memcmp(kept_field->bytes, field.at ? field.at : "", field.len) == 0;
}

static bool keep_field(struct kept_field *kept_field, struct storage_module_bytes field)
{
    if (field.len > FIELD_MAX)
        return false;
    kept_field->there = field.at != NULL;
    kept_field->len = field.len;
    if (field.at)
        memcpy(kept_field->bytes, field.at, field.len);
    return true;
}

static bool still_stands(const struct storage_module_noted *noted, uint64_t now_ms)
{
    return kept.stands && now_ms >= kept.read_ms &&
           now_ms - kept.read_ms < STORAGE_MODULE_LINEAGE_CACHE_MS &&
           kept.durable == noted->durable && is_same_as_kept(&kept.fields[0], noted->lineage) &&
           is_same_as_kept(&kept.fields[1], noted->sets) &&
           is_same_as_kept(&kept.fields[2], noted->bytes) &&
           is_same_as_kept(&kept.fields[3], noted->answers);
}

static void keep_verdict(const struct storage_module_noted *noted, uint64_t now_ms)
{
    kept.read_ms = now_ms;
    kept.durable = noted->durable;
    kept.stands =
        keep_field(&kept.fields[0], noted->lineage) && keep_field(&kept.fields[1], noted->sets) &&
        keep_field(&kept.fields[2], noted->bytes) && keep_field(&kept.fields[3], noted->answers);
}

/* The lineage tells evictions that Redis still counts. This function tells evictions that a reset
 * hid.
 */
static bool has_evicted(const struct storage_module_noted *noted)
{
    if (admitted.incarnation != noted->incarnation) {
        admitted.incarnation = noted->incarnation;
        admitted.evictions = evictions;
    }
    return admitted.evictions != evictions;
}

bool storage_module_lineage_cache_check(struct redis_ctx *ctx,
                                        const struct storage_module_noted *noted, uint64_t now_ms,
                                        char ret_why[static STORAGE_MODULE_WHY_MAX])
{
    if (still_stands(noted, now_ms))
        return false;
    kept.stands = false;
    if (storage_module_has_strayed(ctx, noted, ret_why))
        return true;
    if (has_evicted(noted)) {
        snprintf(ret_why, STORAGE_MODULE_WHY_MAX,
                 "PAWLFORGOT It evicted keys, and its statistics were reset.");
        return true;
    }
    keep_verdict(noted, now_ms);
    return false;
}
