#include "storage/redis/module/marker.h"

#include "fence/master/marker.h"
#include "fence/protocol/decimal.h"
#include "storage/redis/keys.h"
#include "storage/redis/module/lineage_cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_MAX = 40, /* bytes of a field, in the text about it */
};

enum field {
    STATE,
    VIEW,
    FLEET,
    MEMBER,
    LINEAGE,
    DURABLE,
    SETS,
    BYTES,
    FLOOR,
    ANSWERS,
    LEASES,
    LONGEST,
    FIELDS,
};

static struct redis_string *names[FIELDS];

void storage_module_marker_init(struct redis_ctx *ctx)
{
    static const char *const texts[FIELDS] = {
        [STATE] = "state",     [VIEW] = "view",       [FLEET] = "fleet",   [MEMBER] = "member",
        [LINEAGE] = "lineage", [DURABLE] = "durable", [SETS] = "sets",     [BYTES] = "bytes",
        [FLOOR] = "floor",     [ANSWERS] = "answers", [LEASES] = "leases", [LONGEST] = "max_ttl_ms",
    };
    (void)ctx;
    for (int i = 0; i < FIELDS; i++)
        names[i] = redis.string_new(NULL, texts[i], strlen(texts[i]));
}

void storage_module_marker_fini(void)
{
    for (int i = 0; i < FIELDS; i++) {
        if (names[i])
            redis.string_free(NULL, names[i]);
        names[i] = NULL;
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

struct fields {
    struct redis_string *value[FIELDS];
    struct storage_module_bytes field[FIELDS];
};

static void read_fields(struct redis_key *fleet, struct fields *ret_fields)
{
    *ret_fields = (struct fields){0};
    struct redis_string **value = ret_fields->value;
    if (redis.key_type(fleet) != REDIS_KEY_HASH)
        return;
    redis.hash_get(fleet, REDIS_HASH_STRINGS, names[0], &value[0], names[1], &value[1], names[2],
                   &value[2], names[3], &value[3], names[4], &value[4], names[5], &value[5],
                   names[6], &value[6], names[7], &value[7], names[8], &value[8], names[9],
                   &value[9], names[10], &value[10], names[11], &value[11], NULL);
    for (int i = 0; i < FIELDS; i++)
        if (value[i])
            ret_fields->field[i].at = redis.string_bytes(value[i], &ret_fields->field[i].len);
}

static void free_fields(struct fields *fields)
{
    for (int i = 0; i < FIELDS; i++)
        if (fields->value[i])
            redis.string_free(NULL, fields->value[i]);
}

static bool field_is(struct storage_module_bytes field, const char *text)
{
    return field.at && field.len == strlen(text) && memcmp(field.at, text, field.len) == 0;
}

static bool is_same_field(struct storage_module_bytes field, struct storage_module_bytes other)
{
    return field.at && field.len == other.len && memcmp(field.at, other.at, field.len) == 0;
}

/* False where it does not fit: no field is so long. */
static bool copy_field_to(char *to, size_t size, struct storage_module_bytes field)
{
    const bool fits = field.at && field.len < size && !memchr(field.at, '\0', field.len);
    if (fits)
        memcpy(to, field.at, field.len);
    to[fits ? field.len : 0] = '\0';
    return fits;
}

/* ---- what stands in the way ------------------------------------------------------------------ */

/* Returns false, for its callers to return. */
__attribute__((format(printf, 2, 3))) static bool refuse_sender(char *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to, STORAGE_MODULE_WHY_MAX, format, args);
    va_end(args);
    return false;
}

/* Lua prints "false" for a field that is not there. */
static int shown_len(struct storage_module_bytes field)
{
    const size_t len = field.at ? field.len : strlen("false");
    return (int)(len < SHOWN_MAX ? len : SHOWN_MAX);
}

static const char *shown(struct storage_module_bytes field)
{
    return field.at ? field.at : "false";
}

static unsigned members_in(struct storage_module_bytes view)
{
    unsigned members = 1;
    for (size_t i = 0; i < view.len; i++)
        members += view.at[i] == ',';
    return members;
}

/* Fills in @turn. A part of a marker that cannot be read, as somebody changed is left zero. */
static bool read_marker(const struct fields *fields, const struct storage_module_terms *terms,
                        struct fence_turn *turn, struct fence_view *ret_named)
{
    const struct storage_module_bytes *field = fields->field;
    struct fence_stored_marker *marker = &turn->marker;
    uint64_t member = 0;
    uint64_t floor = 0;
    uint64_t longest = 0;
    turn->members = members_in(terms->view);
    marker->present = true;
    marker->active = field_is(field[STATE], "active");
    marker->durable = field_is(field[DURABLE], "yes");
    if (fence_decimal_read(terms->member.at, terms->member.len, turn->members, &member) &&
        member > 0)
        turn->me = (unsigned)member - 1;
    if (is_same_field(field[MEMBER], terms->member))
        marker->member = turn->me + 1;
    if (field[FLOOR].at &&
        !fence_decimal_read(field[FLOOR].at, field[FLOOR].len, FENCE_TOKEN_MAX, &floor))
        floor = FENCE_TOKEN_MAX; /* no number is above it */
    marker->floor = (int64_t)floor;
    if (!fence_decimal_read(field[LONGEST].at, field[LONGEST].len, FENCE_TTL_CEILING_MS, &longest))
        longest = FENCE_TTL_CEILING_MS;
    marker->ttl_max_ms = (uint32_t)longest;
    (void)copy_field_to(marker->fleet_id, sizeof(marker->fleet_id), field[FLEET]);
    return turn->members <= FENCE_MASTERS_MAX && member > 0 &&
           fence_view_parse(terms->view.at, terms->view.len, turn->members, ret_named) == 0;
}

/* Reports whether the fields are such as Pawl writes. */
static bool is_readable(const struct storage_module_bytes field[static FIELDS])
{
    bool floor = true;
    for (size_t i = 0; field[FLOOR].at && i < field[FLOOR].len; i++)
        floor = floor && field[FLOOR].at[i] >= '0' && field[FLOOR].at[i] <= '9';
    return field[VIEW].at && (field_is(field[DURABLE], "yes") || field_is(field[DURABLE], "no")) &&
           floor && !(field[FLOOR].at && field[FLOOR].len == 0);
}

static bool judge(struct redis_ctx *ctx, const struct storage_module_bytes field[static FIELDS],
                  const struct storage_module_terms *terms, const struct fence_view *named,
                  struct fence_turn *turn, char ret_why[static STORAGE_MODULE_WHY_MAX])
{
    struct storage_module_noted noted = {
        .lineage = field[LINEAGE],
        .sets = field[SETS],
        .bytes = field[BYTES],
        .answers = field[ANSWERS],
        .durable = turn->marker.durable,
    };
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    if (!copy_field_to(fleet_id, sizeof(fleet_id), terms->fleet_id) || fleet_id[0] == '\0')
        return refuse_sender(ret_why, "ERR that is no fleet");
    const bool has_view =
        fence_view_parse(field[VIEW].at, field[VIEW].len, turn->members, &turn->marker.view) == 0;
    noted.incarnation = turn->marker.view.incarnation[turn->me];
    const bool strayed = storage_module_lineage_cache_check(ctx, &noted, turn->now_ms, ret_why);
    turn->lineage = strayed ? "another" : turn->marker.lineage;
    const enum fence_refusal refusal = fence_master_check(turn, fleet_id, named);
    if (refusal == FENCE_REFUSAL_GONE)
        return refuse_sender(ret_why,
                             "PAWLGONE Its marker is gone, or was changed: state %.*s, member %.*s",
                             shown_len(field[STATE]), shown(field[STATE]), shown_len(field[MEMBER]),
                             shown(field[MEMBER]));
    if (refusal == FENCE_REFUSAL_FORGOT)
        return false;
    if (!has_view)
        return refuse_sender(ret_why, "PAWLGONE The view of its marker was changed by hand");
    if (refusal == FENCE_REFUSAL_STALE)
        return refuse_sender(ret_why, "PAWLVIEW %.*s", (int)field[VIEW].len, field[VIEW].at);
    return true;
}

bool storage_module_marker_allows(struct redis_ctx *ctx, struct redis_key *fleet,
                                  const struct storage_module_terms *terms, struct fence_turn *turn,
                                  bool *ret_leases_told,
                                  char ret_why[static STORAGE_MODULE_WHY_MAX])
{
    struct fields fields;
    struct fence_view named;
    bool allowed = false;
    read_fields(fleet, &fields);
    *ret_leases_told = field_is(fields.field[LEASES], STORAGE_MODULE_MONOTONIC);
    if (!is_readable(fields.field))
        refuse_sender(ret_why, "PAWLGONE Its marker was changed by hand, and cannot be read");
    else if (!read_marker(&fields, terms, turn, &named))
        refuse_sender(ret_why, "ERR the view, or the member, is none");
    else
        allowed = judge(ctx, fields.field, terms, &named, turn, ret_why);
    free_fields(&fields);
    return allowed;
}
