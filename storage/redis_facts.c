#include "storage/redis_facts.h"

#include "fence/view.h"
#include "storage/redis_keys.h"
#include "storage/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARKER_FIELDS = 10,
    TIME_DIGITS_MAX = 11, /* of its seconds */
};

int storage_question_args(enum storage_question question,
                          const char *ret_args[static STORAGE_QUESTION_ARGS])
{
    static const char *const questions[STORAGE_QUESTIONS][STORAGE_QUESTION_ARGS] = {
        [STORAGE_ASK_INFO] = {"INFO"},
        [STORAGE_ASK_CONFIG] = {"CONFIG", "GET", "append*", "no-appendfsync-on-rewrite"},
        [STORAGE_ASK_MARKER] = {"HMGET", STORAGE_FLEET_KEY, "fleet", "member", "run", "max_ttl_ms",
                                "durable", "state", "view", "nonce", "next", "progress"},
    };
    int n = 0;
    for (; n < STORAGE_QUESTION_ARGS && questions[question][n]; n++)
        ret_args[n] = questions[question][n];
    return n;
}

/* ---- INFO ------------------------------------------------------------------------------------ */

/* The value of @field in INFO's "field:value\r\n" lines. NULL if it is not there. */
static const char *info_field(const char *info, const char *field, size_t *ret_len)
{
    size_t len = strlen(field);
    for (const char *line = info; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, field, len) != 0 || line[len] != ':')
            continue;
        *ret_len = strcspn(line + len + 1, "\r\n");
        return line + len + 1;
    }
    return NULL;
}

static bool info_is(const char *info, const char *field, const char *value)
{
    size_t len = 0;
    const char *found = info_field(info, field, &len);
    return found && len == strlen(value) && memcmp(found, value, len) == 0;
}

/* 0 where it is not there, or no number. */
static uint64_t info_number(const char *info, const char *field)
{
    size_t len = 0;
    const char *found = info_field(info, field, &len);
    return found ? strtoull(found, NULL, 10) : 0;
}

/* Locks have a TTL, so that even the "volatile" policies drop them. */
static bool may_evict(const char *info)
{
    return info_number(info, "maxmemory") > 0 && !info_is(info, "maxmemory_policy", "noeviction");
}

/* It refuses what needs more memory, and no more than that: locks are released, and looked at. */
static bool is_full(const char *info)
{
    uint64_t max = info_number(info, "maxmemory");
    return max > 0 && info_is(info, "maxmemory_policy", "noeviction") &&
           info_number(info, "used_memory") >= max;
}

/* "major.minor.patch" as major x 10000 + minor x 100 + patch. */
static bool read_version(const char *text, uint32_t *ret_version)
{
    uint32_t version = 0;
    for (int part = 0; part < 3; part++) {
        char *end = NULL;
        unsigned long number = strtoul(text, &end, 10);
        if (end == text || number > 99 || (part < 2 && *end != '.'))
            return false;
        version = version * 100 + (uint32_t)number;
        text = end + 1;
    }
    *ret_version = version;
    return true;
}

static int read_info(const redisReply *reply, struct fence_facts *facts)
{
    if (reply->type != REDIS_REPLY_STRING)
        return FENCE_EIO;
    size_t len = 0;
    const char *run_id = info_field(reply->str, "run_id", &len);
    if (!run_id || !storage_text_copy(facts->run_id, sizeof(facts->run_id), run_id, len))
        return FENCE_EIO;
    const char *version = info_field(reply->str, "redis_version", &len);
    if (!version || !read_version(version, &facts->version))
        return FENCE_EIO;
    facts->replica = info_is(reply->str, "role", "slave");
    facts->promoted = !info_is(reply->str, "second_repl_offset", "-1");
    facts->cluster = info_is(reply->str, "cluster_enabled", "1");
    facts->replicas = (uint32_t)info_number(reply->str, "connected_slaves");
    facts->evicts = may_evict(reply->str);
    facts->full = is_full(reply->str);
    return 0;
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

static const char *config_value(const redisReply *reply, const char *name)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (reply->element[i]->str && strcmp(reply->element[i]->str, name) == 0)
            return reply->element[i + 1]->str ? reply->element[i + 1]->str : "";
    return "";
}

/* A Redis that keeps CONFIG to itself cannot be verified durable. */
static void read_config(const redisReply *reply, struct fence_facts *facts)
{
    const char *persistence = "unknown";
    facts->durable = false;
    if (reply->type == REDIS_REPLY_ARRAY) {
        bool aof = strcmp(config_value(reply, "appendonly"), "yes") == 0;
        persistence = aof ? config_value(reply, "appendfsync") : "none";
        facts->durable = aof && strcmp(persistence, "always") == 0 &&
                         strcmp(config_value(reply, "no-appendfsync-on-rewrite"), "no") == 0;
    }
    snprintf(facts->persistence, sizeof(facts->persistence), "%s", persistence);
}

/* ---- the marker ------------------------------------------------------------------------------ */

static bool marker_text(const redisReply *field, char *to, size_t size)
{
    return field->type == REDIS_REPLY_STRING && field->len > 0 &&
           storage_text_copy(to, size, field->str, field->len);
}

static bool marker_number(const redisReply *field, uint32_t max, uint32_t *ret_number)
{
    if (field->type != REDIS_REPLY_STRING || field->len < 1 || field->len > 10 ||
        strspn(field->str, "0123456789") != field->len)
        return false;
    unsigned long number = strtoul(field->str, NULL, 10);
    if (number < 1 || number > max)
        return false;
    *ret_number = (uint32_t)number;
    return true;
}

/* Hex digits; absent while nobody takes the master back. */
static bool marker_nonce(const redisReply *field, uint64_t *ret_nonce)
{
    char *end = NULL;
    if (field->type == REDIS_REPLY_NIL)
        return true;
    if (field->type != REDIS_REPLY_STRING || field->len != STORAGE_NONCE_LEN)
        return false;
    *ret_nonce = strtoull(field->str, &end, 16);
    return *end == '\0';
}

/* Absent where it does not matter: 0 then. */
static bool marker_count(const redisReply *field, int64_t max, int64_t *ret_count)
{
    char *end = NULL;
    if (field->type == REDIS_REPLY_NIL)
        return true;
    if (field->type != REDIS_REPLY_STRING || field->len < 1 || field->len > 16)
        return false;
    *ret_count = strtoll(field->str, &end, 10);
    return *end == '\0' && *ret_count >= 0 && *ret_count <= max;
}

static int read_marker(const redisReply *reply, unsigned n, struct fence_facts *facts)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != MARKER_FIELDS)
        return FENCE_EIO;
    redisReply *const *field = reply->element;
    bool blank = true;
    for (size_t i = 0; i < reply->elements; i++)
        blank = blank && field[i]->type == REDIS_REPLY_NIL;
    if (blank)
        return 0;
    char state[16];
    char durable[8];
    if (!marker_text(field[0], facts->fleet_id, sizeof(facts->fleet_id)) ||
        !marker_number(field[1], FENCE_MASTERS_MAX, &facts->member) ||
        !marker_text(field[2], facts->marked_run_id, sizeof(facts->marked_run_id)) ||
        !marker_number(field[3], FENCE_TTL_CEILING_MS, &facts->ttl_max_ms) ||
        !marker_text(field[4], durable, sizeof(durable)) ||
        !marker_text(field[5], state, sizeof(state)) || field[6]->type != REDIS_REPLY_STRING ||
        fence_view_parse(field[6]->str, field[6]->len, n, &facts->view) != 0 ||
        !marker_nonce(field[7], &facts->nonce) ||
        !marker_count(field[8], FENCE_INCARNATION_MAX, &facts->next) ||
        !marker_count(field[9], INT64_MAX, &facts->progress))
        return FENCE_EINVAL;
    facts->marked_durable = strcmp(durable, "yes") == 0;
    facts->marked_active = strcmp(state, "active") == 0;
    facts->marked = true;
    return 0;
}

/* ---- TIME ------------------------------------------------------------------------------------ */

static bool time_part(const redisReply *part, size_t digits_max, uint64_t *ret_number)
{
    if (part->type != REDIS_REPLY_STRING || part->len < 1 || part->len > digits_max ||
        strspn(part->str, "0123456789") != part->len)
        return false;
    *ret_number = strtoull(part->str, NULL, 10);
    return true;
}

uint64_t storage_facts_time_us(const redisReply *reply)
{
    uint64_t seconds = 0;
    uint64_t us = 0;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !time_part(reply->element[0], TIME_DIGITS_MAX, &seconds) ||
        !time_part(reply->element[1], 6, &us))
        return 0;
    return seconds * 1000000 + us;
}

int storage_facts_read(enum storage_question question, const redisReply *reply, unsigned n,
                       struct fence_facts *facts)
{
    switch (question) {
    case STORAGE_ASK_INFO:
        return read_info(reply, facts);
    case STORAGE_ASK_CONFIG:
        read_config(reply, facts);
        return 0;
    default:
        return read_marker(reply, n, facts);
    }
}
