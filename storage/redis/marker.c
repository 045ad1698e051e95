#include "storage/redis/marker.h"

#include "fence/protocol/view.h"
#include "storage/redis/moved_fleet.h"
#include "storage/redis/positions.h"
#include "storage/redis/reply_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[STORAGE_MARKER_FIELDS] = {
    [STORAGE_MARKER_FLEET] = "fleet",
    [STORAGE_MARKER_MEMBER] = "member",
    [STORAGE_MARKER_RUN] = "run",
    [STORAGE_MARKER_TTL] = "max_ttl_ms",
    [STORAGE_MARKER_DURABLE] = "durable",
    [STORAGE_MARKER_STATE] = "state",
    [STORAGE_MARKER_VIEW] = "view",
    [STORAGE_MARKER_LINEAGE] = "lineage",
    [STORAGE_MARKER_NEXT] = "next",
    [STORAGE_MARKER_PROGRESS] = "progress",
    [STORAGE_MARKER_INIT] = "init",
    [STORAGE_MARKER_SETS] = "sets",
    [STORAGE_MARKER_UNSWEPT] = "unswept",
    [STORAGE_MARKER_BYTES] = "bytes",
    [STORAGE_MARKER_INTACT] = "intact",
    [STORAGE_MARKER_DOUBT] = "doubt",
    [STORAGE_MARKER_READERS] = "readers",
    [STORAGE_MARKER_EXTENSIONS] = "max_extensions",
    [STORAGE_MARKER_CLOSED] = "closed",
    [STORAGE_MARKER_ANSWERS] = "answers",
    [STORAGE_MARKER_FLOOR] = "floor",
    [STORAGE_MARKER_NAMES] = "names",
    [STORAGE_MARKER_WRITES] = "writes",
    [STORAGE_MARKER_POSITIONS] = "positions",
    [STORAGE_MARKER_PREDECESSORS] = "predecessors",
};

const char *storage_marker_field_name(enum storage_marker_field field)
{
    assert(field < STORAGE_MARKER_FIELDS);
    return field_names[field];
}

static bool marker_text(const redisReply *field, char *to, size_t size)
{
    return field->type == REDIS_REPLY_STRING && field->len > 0 &&
           storage_reply_text_plain(field->str, field->len) &&
           storage_reply_text_copy(to, size, field->str, field->len);
}

static bool marker_number(const redisReply *field, uint32_t max, uint32_t *ret_number)
{
    uint64_t number = 0;
    if (!storage_reply_text_number(field, max, &number) || number < 1)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/* Absent where it does not matter: 0 then. */
static bool marker_count(const redisReply *field, int64_t max, int64_t *ret_count)
{
    uint64_t count = 0;
    if (field->type == REDIS_REPLY_NIL)
        return true;
    if (!storage_reply_text_number(field, (uint64_t)max, &count))
        return false;
    *ret_count = (int64_t)count;
    return true;
}

/* An older pawld wrote no lineage: it is then different from any. */
static bool marker_lineage(const redisReply *field, struct fence_facts *facts)
{
    return field->type == REDIS_REPLY_NIL ||
           marker_text(field, facts->marked_lineage, sizeof(facts->marked_lineage));
}

/* One of two words. */
static bool marker_word(const redisReply *field, const char *yes, const char *no, bool *ret_is)
{
    if (field->type != REDIS_REPLY_STRING)
        return false;
    *ret_is = strcmp(field->str, yes) == 0;
    return *ret_is || strcmp(field->str, no) == 0;
}

static bool marker_init(const redisReply *field, struct fence_facts *facts)
{
    facts->initialising = field->type != REDIS_REPLY_NIL;
    return !facts->initialising || marker_word(field, "floor", "new", &facts->issued);
}

/* The calls that the marker notes, compared with those until now. */
static void read_marked_calls(const redisReply *field, struct storage_reading *reading)
{
    const char *marked = field->type == REDIS_REPLY_STRING ? field->str : "";
    const char *reset = strchr(marked, ':');
    const char *reset_now = strchr(reading->config_calls, ':');
    const char *roles = reset ? strrchr(marked, ':') : NULL;
    size_t reset_len = reset ? strcspn(reset + 1, ":") + 1 : 0;
    reading->settled = strcmp(marked, reading->config_calls) == 0;
    reading->noted = reset && reset_now;
    reading->reset_since = reading->noted && (strncmp(reset, reset_now, reset_len) != 0 ||
                                              reset_now[reset_len] != ':');
    reading->noted_role_changes = roles && roles > reset ? strtoull(roles + 1, NULL, 10) : 0;
}

/* "<count>@<lineage>", as storage/redis/lua/lineage_check.lua makes it. */
static void read_marked_answers(const redisReply *field, struct storage_reading *reading)
{
    const char *marked = field->type == REDIS_REPLY_STRING ? field->str : "";
    const char *lineage = strchr(marked, '@');
    reading->answers_noted = lineage && strcmp(lineage + 1, reading->facts.marked_lineage) == 0;
    reading->marked_answers = strtoull(marked, NULL, 10);
}

/* The view tells how many members its fleet has. */
static bool marker_view(const redisReply *field, unsigned n, struct fence_facts *facts)
{
    if (field->type != REDIS_REPLY_STRING)
        return false;
    if (fence_view_parse(field->str, field->len, n, &facts->view) == 0)
        return true;
    for (unsigned members = 1; members <= FENCE_MASTERS_MAX; members++)
        if (fence_view_parse(field->str, field->len, members, &facts->view) == 0) {
            facts->other_members = members;
            return true;
        }
    return false;
}

static bool marker_extensions(const redisReply *field, struct fence_facts *facts)
{
    return field->type == REDIS_REPLY_NIL ||
           marker_number(field, FENCE_EXTENSIONS_CEILING, &facts->extensions_max);
}

static bool marker_readers(const redisReply *field, struct fence_facts *facts)
{
    return field->type == REDIS_REPLY_NIL ||
           marker_number(field, FENCE_READERS_MAX, &facts->readers);
}

/* A number that counters have. Absent where it does not matter. */
static bool is_counter(const redisReply *field)
{
    int64_t unused = 0;
    return marker_count(field, FENCE_TOKEN_MAX, &unused);
}

/* False: the field is not as Pawl writes it. */
static bool read_marker_field(const redisReply *field, enum storage_marker_field i, unsigned n,
                              struct fence_facts *facts)
{
    switch (i) {
    case STORAGE_MARKER_FLEET:
        return marker_text(field, facts->fleet_id, sizeof(facts->fleet_id));
    case STORAGE_MARKER_MEMBER:
        return marker_number(field, FENCE_MASTERS_MAX, &facts->member);
    case STORAGE_MARKER_RUN:
        return marker_text(field, facts->marked_server_id, sizeof(facts->marked_server_id));
    case STORAGE_MARKER_TTL:
        return marker_number(field, FENCE_TTL_CEILING_MS, &facts->ttl_max_ms);
    case STORAGE_MARKER_DURABLE:
        return marker_word(field, "yes", "no", &facts->marked_durable);
    case STORAGE_MARKER_STATE:
        return marker_word(field, "active", "joining", &facts->marked_active);
    case STORAGE_MARKER_VIEW:
        return marker_view(field, n, facts);
    case STORAGE_MARKER_LINEAGE:
        return marker_lineage(field, facts);
    case STORAGE_MARKER_NEXT:
        return marker_count(field, FENCE_TOKEN_MAX, &facts->next);
    case STORAGE_MARKER_PROGRESS:
        return marker_count(field, FENCE_TOKEN_MAX, &facts->progress);
    case STORAGE_MARKER_INIT:
        return marker_init(field, facts);
    case STORAGE_MARKER_READERS:
        return marker_readers(field, facts);
    case STORAGE_MARKER_EXTENSIONS:
        return marker_extensions(field, facts);
    case STORAGE_MARKER_BYTES:
    case STORAGE_MARKER_FLOOR:
    case STORAGE_MARKER_NAMES:
        return is_counter(field);
    default:
        return true; /* any text is fine there, or is written again */
    }
}

static void note_malformed(const redisReply *field, enum storage_marker_field i,
                           struct fence_facts *facts)
{
    const bool absent = field->type != REDIS_REPLY_STRING;
    const size_t len = absent ? 0 : field->len;
    snprintf(facts->malformed, sizeof(facts->malformed), "%s", field_names[i]);
    facts->malformed_len = (uint32_t)len;
    if (len > 0)
        memcpy(facts->malformed_bytes, field->str,
               len < sizeof(facts->malformed_bytes) ? len : sizeof(facts->malformed_bytes));
}

/* The view is read first: so it is known even if another field is malformed. */
static bool read_marker_fields(redisReply *const *field, unsigned n, struct fence_facts *facts)
{
    if (!marker_view(field[STORAGE_MARKER_VIEW], n, facts))
        note_malformed(field[STORAGE_MARKER_VIEW], STORAGE_MARKER_VIEW, facts);
    for (enum storage_marker_field i = 0; i < STORAGE_MARKER_FIELDS; i++)
        if (!read_marker_field(field[i], i, n, facts) && facts->malformed[0] == '\0')
            note_malformed(field[i], i, facts);
    return facts->malformed[0] == '\0';
}

static bool is_blank(redisReply *const *field)
{
    for (unsigned i = 0; i < STORAGE_MARKER_CLOSED; i++)
        if (field[i]->type != REDIS_REPLY_NIL)
            return false;
    return true;
}

int storage_marker_read(const redisReply *reply, unsigned n, struct storage_reading *reading)
{
    struct fence_facts *facts = &reading->facts;
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != STORAGE_MARKER_FIELDS)
        return FENCE_EIO;
    redisReply *const *field = reply->element;
    if (!storage_closed_read(field[STORAGE_MARKER_CLOSED], facts))
        note_malformed(field[STORAGE_MARKER_CLOSED], STORAGE_MARKER_CLOSED, facts);
    if (!storage_predecessors_read(field[STORAGE_MARKER_PREDECESSORS], facts))
        note_malformed(field[STORAGE_MARKER_PREDECESSORS], STORAGE_MARKER_PREDECESSORS, facts);
    if (is_blank(field) || !read_marker_fields(field, n, facts))
        return 0;
    read_marked_calls(field[STORAGE_MARKER_SETS], reading);
    reading->unswept = field[STORAGE_MARKER_UNSWEPT]->type == REDIS_REPLY_STRING;
    if (field[STORAGE_MARKER_BYTES]->type == REDIS_REPLY_STRING)
        reading->marked_bytes = strtoull(field[STORAGE_MARKER_BYTES]->str, NULL, 10);
    read_marked_answers(field[STORAGE_MARKER_ANSWERS], reading);
    storage_positions_read(field[STORAGE_MARKER_WRITES], field[STORAGE_MARKER_POSITIONS], n, facts);
    reading->marked_intact = field[STORAGE_MARKER_INTACT]->type == REDIS_REPLY_STRING &&
                             strcmp(field[STORAGE_MARKER_INTACT]->str, "yes") == 0;
    reading->doubted = field[STORAGE_MARKER_DOUBT]->type == REDIS_REPLY_STRING;
    assert(facts->fleet_id[0] != '\0' && facts->member >= 1 && facts->ttl_max_ms > 0);
    facts->marked = true;
    return 0;
}
