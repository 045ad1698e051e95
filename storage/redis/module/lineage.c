#include "storage/redis/module/lineage.h"

#include "storage/redis/keys.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLS_MAX = 128,   /* bytes of config_calls() */
    LINEAGE_MAX = 128, /* bytes of a lineage */
    ANSWERS_MAX = LINEAGE_MAX + 32,
    SECTIONS_MAX = 128 * 1024, /* bytes of INFO that are read; commandstats may have 30 KB */
};

/* ---- INFO ------------------------------------------------------------------------------------ */

/* The sections of INFO that were asked for, terminated. */
struct info {
    char text[SECTIONS_MAX];
};

/* False: INFO did not answer. */
static bool take_info(struct redis_reply *reply, struct info *ret_info)
{
    size_t len = 0;
    const char *text = reply && redis.reply_type(reply) == REDIS_REPLY_IS_STRING
                           ? redis.reply_bytes(reply, &len)
                           : NULL;
    const bool fits = text && len < sizeof(ret_info->text);
    if (fits)
        memcpy(ret_info->text, text, len);
    ret_info->text[fits ? len : 0] = '\0';
    if (reply)
        redis.reply_free(reply);
    return fits;
}

/* The text behind @name in @info; NULL: @name is not there. */
static const char *after(const char *info, const char *name)
{
    const char *found = strstr(info, name);
    return found ? found + strlen(name) : NULL;
}

static size_t hex_len(const char *text)
{
    size_t len = 0;
    while (isxdigit((unsigned char)text[len]))
        len++;
    return len;
}

/* "<replication id>:<keys evicted so far>" */
static void write_lineage(const char *info, char ret_lineage[static LINEAGE_MAX])
{
    const char *id = after(info, "\nmaster_replid:");
    const char *evicted = after(info, "\nevicted_keys:");
    snprintf(ret_lineage, LINEAGE_MAX, "%.*s:%.*s", id ? (int)hex_len(id) : 0, id ? id : "",
             evicted ? (int)hex_len(evicted) : 0, evicted ? evicted : "");
}

static unsigned long long count_after(const char *info, const char *command)
{
    const char *found = after(info, command);
    return found ? strtoull(found, NULL, 10) : 0;
}

/* "<calls of CONFIG SET>:<the last CONFIG RESETSTAT>:<calls that change its role>" */
static void write_config_calls(const char *info, char ret_calls[static CALLS_MAX])
{
    const char *reset = after(info, "cmdstat_config|resetstat:");
    size_t reset_len = reset ? strcspn(reset, ",") : 0;
    if (reset)
        reset_len += 1 + strcspn(reset + reset_len + 1, ",");
    const unsigned long long roles = count_after(info, "cmdstat_replicaof:calls=") +
                                     count_after(info, "cmdstat_slaveof:calls=") +
                                     count_after(info, "cmdstat_failover:calls=");
    snprintf(ret_calls, CALLS_MAX, "%llu:%.*s:%llu", count_after(info, "cmdstat_config|set:calls="),
             (int)reset_len, reset ? reset : "", roles);
}

static bool is_rewriting(const char *info)
{
    return !strstr(info, "aof_rewrite_in_progress:0") || !strstr(info, "aof_rewrite_scheduled:0");
}

/* ---- statistics ------------------------------------------------------------------------------ */

static bool equals(struct storage_module_bytes bytes, const char *text)
{
    return bytes.at && bytes.len == strlen(text) && memcmp(bytes.at, text, bytes.len) == 0;
}

/* "<answers>@<lineage>" */
static bool notes(struct storage_module_bytes noted, const char *digits, size_t len,
                  const char *lineage)
{
    char text[ANSWERS_MAX];
    snprintf(text, sizeof(text), "%.*s@%s", (int)len, digits, lineage);
    return equals(noted, text);
}

static size_t digits_of(const char *text, size_t most)
{
    size_t len = 0;
    while (len < most && isdigit((unsigned char)text[len]))
        len++;
    return len;
}

/* Reports whether CONFIG RESETSTAT was called since the marker was written: evictions are counted
 * from 0 again. */
static bool was_reset(const char *info, const char *lineage,
                      const struct storage_module_noted *noted)
{
    const char *now = after(info, "\nerrorstat_PAWLSTATS:count=");
    const size_t now_len = now ? digits_of(now, SECTIONS_MAX) : 0;
    if (now_len > 0 && notes(noted->answers, now, now_len, lineage))
        return false;
    const char *answers = noted->answers.at;
    const size_t answers_len = answers ? digits_of(answers, noted->answers.len) : 0;
    if (answers_len > 0 && notes(noted->answers, answers, answers_len, lineage) &&
        !strstr(info, "\nerrorstat_ERRORSTATS_"))
        return (now_len > 0 ? strtoull(now, NULL, 10) : 0) < strtoull(answers, NULL, 10);
    char *end = NULL;
    char bytes[32] = "";
    if (noted->bytes.at && noted->bytes.len < sizeof(bytes))
        memcpy(bytes, noted->bytes.at, noted->bytes.len);
    const unsigned long long marked = strtoull(noted->bytes.at ? bytes : "0", &end, 10);
    const bool is_number = !noted->bytes.at || (end != bytes && *end == '\0');
    return !is_number || count_after(info, "\ntotal_net_input_bytes:") < marked;
}

/* ---- refusing ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static bool forgot(char *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int len = snprintf(to, STORAGE_MODULE_WHY_MAX, "PAWLFORGOT ");
    vsnprintf(to + len, STORAGE_MODULE_WHY_MAX - (size_t)len, format, args);
    va_end(args);
    return true;
}

/* ---- another replication id ------------------------------------------------------------------ */

/* The text from the first ':' on. NULL: there is none. */
static const char *from_colon(const char *text, size_t len)
{
    return text ? memchr(text, ':', len) : NULL;
}

static bool same_from_colon(struct storage_module_bytes noted, const char *now)
{
    const char *was = from_colon(noted.at, noted.len);
    const char *is = from_colon(now, strlen(now));
    const size_t len = was ? noted.len - (size_t)(was - noted.at) : 0;
    return was && is && len == strlen(is) && memcmp(was, is, len) == 0;
}

/* Reports whether this process is the one that the marker names. */
static bool is_run_of_marker(struct redis_ctx *ctx, const char *server)
{
    const char *run = after(server, "\nrun_id:");
    size_t len = 0;
    struct redis_reply *reply = redis.call(ctx, "HGET", "cc", STORAGE_FLEET_KEY, "run");
    const char *marked = reply && redis.reply_type(reply) == REDIS_REPLY_IS_STRING
                             ? redis.reply_bytes(reply, &len)
                             : NULL;
    const bool same =
        run && marked && hex_len(run) == len && len > 0 && memcmp(run, marked, len) == 0;
    if (reply)
        redis.reply_free(reply);
    return same;
}

/* Reports whether the calls of the roles, and the last reset of the statistics, are those of the
 * marker. */
static bool has_same_calls(struct redis_ctx *ctx, const struct storage_module_noted *noted)
{
    static struct info info;
    char calls[CALLS_MAX];
    if (!take_info(redis.call(ctx, "INFO", "cc", "server", "commandstats"), &info))
        return false;
    write_config_calls(info.text, calls);
    return is_run_of_marker(ctx, info.text) && same_from_colon(noted->sets, calls);
}

/* Reports whether the answers of note_process_counts.lua show for sure that no statistics were
 * reset. */
static bool counts_all(const char *info, const struct storage_module_noted *noted)
{
    const char *now = after(info, "\nerrorstat_PAWLSTATS:count=");
    const size_t len = now ? digits_of(now, SECTIONS_MAX) : 0;
    char lineage[LINEAGE_MAX];
    snprintf(lineage, sizeof(lineage), "%.*s", (int)noted->lineage.len, noted->lineage.at);
    return len > 0 && notes(noted->answers, now, len, lineage);
}

/* has_only_another_id() of the script: a first replica, or a freed backlog, and no promotion. */
static bool has_only_another_id(struct redis_ctx *ctx, const char *info, const char *now,
                                const struct storage_module_noted *noted)
{
    return same_from_colon(noted->lineage, now) && strstr(info, "\nsecond_repl_offset:-1") &&
           counts_all(info, noted) && has_same_calls(ctx, noted);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A file that is rewritten after CONFIG SET may have been switched on just now. */
static bool may_be_incomplete(struct redis_ctx *ctx, const char *info,
                              const struct storage_module_noted *noted)
{
    static struct info stats;
    char calls[CALLS_MAX];
    if (!is_rewriting(info))
        return false;
    if (!take_info(redis.call(ctx, "INFO", "c", "commandstats"), &stats))
        return true;
    write_config_calls(stats.text, calls);
    return !equals(noted->sets, calls);
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_string(struct redis_reply *reply, const char *text)
{
    size_t len = 0;
    const char *bytes = reply && redis.reply_type(reply) == REDIS_REPLY_IS_STRING
                            ? redis.reply_bytes(reply, &len)
                            : NULL;
    return bytes && len == strlen(text) && memcmp(bytes, text, len) == 0;
}

/* Names and values come in turn. */
static bool has_setting(struct redis_reply *settings, const char *name, const char *value)
{
    const size_t len = redis.reply_len(settings);
    for (size_t i = 0; i + 1 < len; i += 2)
        if (is_string(redis.reply_element(settings, i), name))
            return is_string(redis.reply_element(settings, i + 1), value);
    return false;
}

/* The settings that INFO does not tell. A script cannot ask for them: pawld asks behind its call.
 */
static bool keeps_every_write(struct redis_ctx *ctx)
{
    struct redis_reply *settings = redis.call(ctx, "CONFIG", "cccc", "GET", "appendonly",
                                              "appendfsync", "no-appendfsync-on-rewrite");
    const bool keeps = settings && redis.reply_type(settings) == REDIS_REPLY_IS_ARRAY &&
                       has_setting(settings, "appendonly", "yes") &&
                       has_setting(settings, "appendfsync", "always") &&
                       has_setting(settings, "no-appendfsync-on-rewrite", "no");
    if (settings)
        redis.reply_free(settings);
    return keeps;
}

bool storage_module_has_strayed(struct redis_ctx *ctx, const struct storage_module_noted *noted,
                                char ret_why[static STORAGE_MODULE_WHY_MAX])
{
    static struct info info;
    char now[LINEAGE_MAX];
    struct redis_reply *reply =
        noted->durable
            ? redis.call(ctx, "INFO", "cccc", "replication", "stats", "errorstats", "persistence")
            : redis.call(ctx, "INFO", "ccc", "replication", "stats", "errorstats");
    if (!take_info(reply, &info))
        return forgot(ret_why, "It did not answer INFO.");
    write_lineage(info.text, now);
    if (!strstr(info.text, "\nrole:master"))
        return forgot(ret_why, "It is a replica.");
    const bool same = equals(noted->lineage, now);
    if (!same && !has_only_another_id(ctx, info.text, now, noted))
        return forgot(ret_why, "It was a replica, restarted, or evicted keys: %s is not %.*s", now,
                      noted->lineage.at ? (int)noted->lineage.len : (int)strlen("false"),
                      noted->lineage.at ? noted->lineage.at : "false");
    if (same && was_reset(info.text, now, noted))
        return forgot(ret_why, "Its statistics were reset, so evictions may be hidden.");
    if (!noted->durable)
        return false;
    if (!strstr(info.text, "aof_enabled:1"))
        return forgot(ret_why, "Its marker says durable, and appendonly is off.");
    if (may_be_incomplete(ctx, info.text, noted))
        return forgot(ret_why, "Its append-only file is rewritten after CONFIG SET, and may not be "
                               "complete yet.");
    if (!keeps_every_write(ctx))
        return forgot(ret_why, "Its persistence changed.");
    return false;
}
