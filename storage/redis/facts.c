#include "storage/redis/facts.h"

#include "storage/redis/keys.h"
#include "storage/redis/marker.h"
#include "storage/redis/reply_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(STORAGE_QUESTION_ARGS == 2 + STORAGE_MARKER_FIELDS,
               "HMGET and the hash stand before the fields");

int storage_question_args(enum storage_question question,
                          const char *ret_args[static STORAGE_QUESTION_ARGS])
{
    static const char *const questions[STORAGE_QUESTIONS][STORAGE_QUESTION_ARGS] = {
        [STORAGE_ASK_INFO] = {"INFO", "all"},
        [STORAGE_ASK_CONFIG] = {"CONFIG", "GET", "append*", "no-appendfsync-on-rewrite"},
        [STORAGE_ASK_MARKER] = {"HMGET", STORAGE_FLEET_KEY},
    };
    int n = 0;
    assert(question < STORAGE_QUESTIONS);
    for (; n < STORAGE_QUESTION_ARGS && questions[question][n]; n++)
        ret_args[n] = questions[question][n];
    for (int i = 0; question == STORAGE_ASK_MARKER && i < STORAGE_MARKER_FIELDS; i++)
        ret_args[n++] = storage_marker_field_name((enum storage_marker_field)i);
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
    assert(field && value);
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

/* Reports whether the server refuses only commands that need more memory. Locks can still be
 * released and read. */
static bool is_full(const char *info)
{
    uint64_t max = info_number(info, "maxmemory");
    return max > 0 && info_is(info, "maxmemory_policy", "noeviction") &&
           info_number(info, "used_memory") >= max;
}

/* "major.minor.patch" as major x 10000 + minor x 100 + patch. */
static bool read_version(const char *text, uint32_t *ret_version)
{
    assert(text && ret_version);
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

/* Copies the value of @field, for people. False where it is not there, too long, or not plain. */
static bool copy_field(const char *info, const char *field, char to[static FENCE_SERVER_MAX + 1])
{
    size_t len = 0;
    const char *value = info_field(info, field, &len);
    return value && storage_reply_text_plain(value, len) &&
           storage_reply_text_copy(to, FENCE_SERVER_MAX + 1, value, len);
}

/* The text before the first "_version": "redis", unless a fork has put its own before that. */
static bool copy_first_name(const char *info, char to[static FENCE_SERVER_MAX + 1])
{
    const char *end = strstr(info, "_version:");
    const char *name = end;
    while (name && name > info && name[-1] != '\n')
        name--;
    return name && storage_reply_text_plain(name, (size_t)(end - name)) &&
           storage_reply_text_copy(to, FENCE_SERVER_MAX + 1, name, (size_t)(end - name));
}

/* A server that stands for a Redis names itself, and has its own version beside that. */
static void read_server(const char *info, struct fence_facts *facts)
{
    char field[FENCE_SERVER_MAX + sizeof("_version")];
    if (!copy_field(info, "server_name", facts->server) && !copy_first_name(info, facts->server))
        strcpy(facts->server, "redis");
    snprintf(field, sizeof(field), "%s_version", facts->server);
    if (!copy_field(info, field, facts->version) &&
        !copy_field(info, "redis_version", facts->version))
        facts->version[0] = '\0';
}

/* Counts since the process started, or since CONFIG RESETSTAT: "@field:@name=NUMBER". */
static uint64_t info_counted(const char *info, const char *field, const char *name)
{
    size_t len = 0;
    const char *found = info_field(info, field, &len);
    return found && strncmp(found, name, strlen(name)) == 0 && found[strlen(name)] == '='
               ? strtoull(found + strlen(name) + 1, NULL, 10)
               : 0;
}

static uint64_t info_calls(const char *info, const char *command)
{
    return info_counted(info, command, "calls");
}

/* As storage/redis/lua/lineage_check.lua makes it. */
static bool read_lineage(const char *info, struct storage_reading *reading)
{
    char *to = reading->facts.lineage;
    size_t len = 0;
    const char *id = info_field(info, "master_replid", &len);
    reading->evicted = info_number(info, "evicted_keys");
    if (!id || len > FENCE_ID_HEX_LEN || !storage_reply_text_plain(id, len))
        return false;
    int written = snprintf(to, sizeof(reading->facts.lineage), "%.*s:%" PRIu64, (int)len, id,
                           reading->evicted);
    return written > 0 && (size_t)written < sizeof(reading->facts.lineage);
}

static void read_config_calls(const char *info, struct storage_reading *reading)
{
    size_t len = 0;
    const char *reset = info_field(info, "cmdstat_config|resetstat", &len);
    size_t of_usec = reset ? strcspn(reset, ",") + 1 : 0;
    of_usec += reset ? strcspn(reset + of_usec, ",") : 0;
    snprintf(reading->config_calls, sizeof(reading->config_calls), "%" PRIu64 ":%.*s:%" PRIu64,
             info_calls(info, "cmdstat_config|set"), (int)(of_usec < len ? of_usec : len),
             reset ? reset : "", reading->role_changes);
}

static void read_history(const char *info, struct storage_reading *reading)
{
    reading->promoted = !info_is(info, "second_repl_offset", "-1");
    reading->role_changes = info_calls(info, "cmdstat_replicaof") +
                            info_calls(info, "cmdstat_slaveof") +
                            info_calls(info, "cmdstat_failover");
    reading->reset = info_calls(info, "cmdstat_config|resetstat") > 0;
    read_config_calls(info, reading);
    reading->bytes = info_number(info, "total_net_input_bytes");
    reading->answers = info_counted(info, "errorstat_PAWLSTATS", "count");
    reading->counts_errors = strstr(info, "# Errorstats") != NULL;
    reading->errors_uncounted = strstr(info, "\nerrorstat_ERRORSTATS_") != NULL;
    reading->rewriting = !info_is(info, "aof_rewrite_in_progress", "0") ||
                         !info_is(info, "aof_rewrite_scheduled", "0");
    reading->appends = info_is(info, "aof_enabled", "1");
    reading->rewrites = info_number(info, "aof_rewrites");
    reading->config_sets = info_calls(info, "cmdstat_config|set");
}

static int read_info(const redisReply *reply, struct storage_reading *reading)
{
    struct fence_facts *facts = &reading->facts;
    if (reply->type != REDIS_REPLY_STRING)
        return FENCE_EIO;
    if (info_number(reply->str, "loading") != 0)
        return FENCE_EBUSY; /* it reports appendonly as off until it has read its file */
    size_t len = 0;
    const char *run_id = info_field(reply->str, "run_id", &len);
    if (!run_id || !storage_reply_text_plain(run_id, len) ||
        !storage_reply_text_copy(facts->server_id, sizeof(facts->server_id), run_id, len))
        return FENCE_EIO;
    const char *version = info_field(reply->str, "redis_version", &len);
    if (!version || !read_version(version, &reading->server.version))
        return FENCE_EIO;
    if (!read_lineage(reply->str, reading))
        return FENCE_EIO;
    read_server(reply->str, facts);
    read_history(reply->str, reading);
    facts->replica = info_is(reply->str, "role", "slave");
    reading->server.cluster = info_is(reply->str, "cluster_enabled", "1");
    facts->replicas = (uint32_t)info_number(reply->str, "connected_slaves");
    reading->server.evicts = may_evict(reply->str);
    facts->unfit = storage_redis_unfit(&reading->server, facts->replica);
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

static bool is_durable(const redisReply *reply)
{
    return strcmp(config_value(reply, "appendonly"), "yes") == 0 &&
           strcmp(config_value(reply, "appendfsync"), "always") == 0 &&
           strcmp(config_value(reply, "no-appendfsync-on-rewrite"), "no") == 0;
}

/* A Redis that refuses CONFIG cannot be verified as durable. */
static void read_config(const redisReply *reply, struct storage_reading *reading)
{
    const char *persistence = "unknown";
    reading->configured = false;
    if (reply->type == REDIS_REPLY_ARRAY) {
        bool aof = strcmp(config_value(reply, "appendonly"), "yes") == 0;
        const char *fsync = config_value(reply, "appendfsync");
        persistence = !aof                                             ? "none"
                      : storage_reply_text_plain(fsync, strlen(fsync)) ? fsync
                                                                       : "unknown";
        reading->configured = is_durable(reply);
    }
    snprintf(reading->facts.persistence, sizeof(reading->facts.persistence), "%s", persistence);
}

const char *storage_durable_command(size_t *ret_len)
{
    static const char command[] = "*5\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$10\r\nappendonly\r\n"
                                  "$11\r\nappendfsync\r\n$25\r\nno-appendfsync-on-rewrite\r\n";
    *ret_len = sizeof(command) - 1;
    return command;
}

bool storage_durable_reply(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && is_durable(reply);
}

/* ---- what follows from them ------------------------------------------------------------------ */

/* Returns the number of evicted keys in the marker; UINT64_MAX: the marker has none. */
static uint64_t marked_evicted(const struct fence_facts *facts)
{
    const char *colon = strchr(facts->marked_lineage, ':');
    return colon ? strtoull(colon + 1, NULL, 10) : UINT64_MAX;
}

/* Reports whether the file is complete. A file that is being rewritten after CONFIG SET may have
 * just been switched on: it is complete only after the rewrite. */
static bool has_complete_file(const struct storage_reading *reading)
{
    bool never_set = reading->config_sets == 0 && !reading->reset;
    bool not_set_since = reading->facts.marked && reading->settled && !reading->reset_since;
    return !reading->rewriting || never_set || not_set_since;
}

/* Reports whether the disk has all data. A file that was switched on after the start lacks the
 * first data of the process. */
static bool kept_by_its_disk(const struct storage_reading *reading)
{
    const struct fence_facts *facts = &reading->facts;
    bool switched_on = (reading->rewrites > 0 && reading->config_sets > 0) || reading->reset;
    return facts->marked_durable && reading->appends && !reading->promoted &&
           reading->role_changes == 0 && reading->evicted == 0 && !switched_on;
}

static bool has_replication_id_of_marker(const struct fence_facts *facts)
{
    size_t len = strcspn(facts->lineage, ":");
    return strncmp(facts->lineage, facts->marked_lineage, len + 1) == 0;
}

/* has_only_another_id() of storage/redis/lua/lineage_check.lua, of a process that did not restart.
 */
static bool id_alone_changed(const struct storage_reading *reading)
{
    const struct fence_facts *facts = &reading->facts;
    return facts->marked && !facts->replica && !has_replication_id_of_marker(facts) &&
           reading->evicted == marked_evicted(facts) && !reading->promoted &&
           reading->answers_noted && reading->answers == reading->marked_answers &&
           reading->noted && !reading->reset_since &&
           reading->role_changes == reading->noted_role_changes;
}

/* Such a master descends from its marker: a call finds the lineage of the marker. */
static void note_other_id(struct storage_reading *reading, bool restarted)
{
    reading->has_other_id = !restarted && id_alone_changed(reading);
    if (reading->has_other_id)
        memcpy(reading->facts.lineage, reading->facts.marked_lineage,
               sizeof(reading->facts.lineage));
}

/* Reports whether the process kept its data in memory. A first replica, or a freed backlog, changes
 * only the replication id. So if the id changed, or the statistics were reset, nothing may have
 * happened; if both changed, something may have. */
static bool kept_in_memory(const struct storage_reading *reading)
{
    const struct fence_facts *facts = &reading->facts;
    if (reading->reset_since)
        return has_replication_id_of_marker(facts) && reading->evicted == 0 &&
               !reading->server.evicts && reading->config_sets == 0;
    if (!reading->noted && reading->reset)
        return false;
    uint64_t marked = marked_evicted(facts);
    return !reading->promoted && reading->role_changes == reading->noted_role_changes &&
           (marked == reading->evicted || marked == UINT64_MAX);
}

/* As storage/redis/lua/lineage_check.lua does. */
static bool counts_fell(const struct storage_reading *reading)
{
    if (reading->answers_noted && reading->answers == reading->marked_answers)
        return false;
    if (reading->answers_noted && !reading->errors_uncounted)
        return reading->answers < reading->marked_answers;
    return reading->bytes < reading->marked_bytes;
}

/* Earlier evictions are no longer counted: this is another lineage. */
static void note_reset(struct storage_reading *reading, bool restarted)
{
    char *lineage = reading->facts.lineage;
    size_t len = strlen(lineage);
    reading->reset_since = reading->reset_since && !restarted;
    if (reading->reset_since && len < FENCE_LINEAGE_MAX)
        memcpy(lineage + len, STORAGE_LINEAGE_RESET, sizeof(STORAGE_LINEAGE_RESET));
}

static void conclude_facts(struct storage_reading *reading)
{
    struct fence_facts *facts = &reading->facts;
    bool restarted = strcmp(facts->server_id, facts->marked_server_id) != 0;
    reading->reset_since = reading->reset_since || counts_fell(reading);
    if (facts->marked)
        note_reset(reading, restarted);
    note_other_id(reading, restarted);
    facts->durable = reading->configured && has_complete_file(reading);
    bool kept = restarted                                            ? kept_by_its_disk(reading)
                : strcmp(facts->lineage, facts->marked_lineage) == 0 ? true
                                                                     : kept_in_memory(reading);
    reading->lost = facts->marked && !kept;
    facts->intact = facts->marked && kept && (facts->durable || !restarted) && !reading->doubted &&
                    (facts->marked_active || reading->marked_intact);
    assert(facts->marked || (!facts->intact && !reading->lost));
    storage_redis_find(facts, &reading->server);
}

void storage_redis_note_full(struct storage_reading *reading, bool full)
{
    reading->facts.full = full;
    storage_redis_find(&reading->facts, &reading->server);
}

#define TIME_SECONDS_MAX UINT64_C(99999999999) /* some 3,000 years */

/* ---- TIME ------------------------------------------------------------------------------------ */

uint64_t storage_facts_time_us(const redisReply *reply)
{
    uint64_t seconds = 0;
    uint64_t us = 0;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !storage_reply_text_number(reply->element[0], TIME_SECONDS_MAX, &seconds) ||
        !storage_reply_text_number(reply->element[1], 999999, &us))
        return 0;
    return seconds * 1000000 + us;
}

int storage_facts_read(enum storage_question question, const redisReply *reply, unsigned n,
                       struct storage_reading *reading)
{
    int error = 0;
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    switch (question) {
    case STORAGE_ASK_INFO:
        return read_info(reply, reading);
    case STORAGE_ASK_CONFIG:
        read_config(reply, reading);
        return 0;
    default:
        error = storage_marker_read(reply, n, reading);
        if (!error)
            conclude_facts(reading);
        return error;
    }
}
