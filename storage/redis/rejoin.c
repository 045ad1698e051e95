#include "storage/redis/rejoin.h"

#include "fence/fleet/fleet.h"
#include "fence/protocol/lease.h"
#include "storage/redis/batch.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/admit.lua.h"
#include "storage/redis/lua/clear.lua.h"
#include "storage/redis/lua/close.lua.h"
#include "storage/redis/lua/install.lua.h"
#include "storage/redis/lua/leases.lua.h"
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/mark.lua.h"
#include "storage/redis/lua/read.lua.h"
#include "storage/redis/lua/record.lua.h"
#include "storage/redis/lua/survey.lua.h"
#include "storage/redis/lua/view.lua.h"
#include "storage/redis/reply_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_MAX = 24, /* characters of one, with its end */
};

/* ---- commands -------------------------------------------------------------------------------- */

struct number {
    char text[NUMBER_MAX];
};

static struct number number(int64_t value)
{
    struct number written;
    snprintf(written.text, sizeof(written.text), "%" PRId64, value);
    return written;
}

/* "" for what is absent. */
static struct number number_or_none(int64_t value)
{
    return value != 0 ? number(value) : (struct number){""};
}

static const char *mark_name(enum fence_mark mark)
{
    static const char *const names[] = {
        [FENCE_MARK_REJOIN] = "", [FENCE_MARK_NEW] = "new", [FENCE_MARK_FLOOR] = "floor"};
    return names[mark];
}

static const char *state_name(const struct fence_facts *seen)
{
    if (!seen->marked)
        return "";
    return seen->marked_active ? "active" : "joining";
}

/* "<length>:<first bytes>" of the field that cannot be read. A malformed marker is marked only
 * while that field is as it was seen: a mark writes it again. */
static size_t format_malformed(const struct fence_facts *seen,
                               char ret_text[static NUMBER_MAX + FENCE_FIELD_BYTES_MAX])
{
    const size_t bytes =
        seen->malformed_len < FENCE_FIELD_BYTES_MAX ? seen->malformed_len : FENCE_FIELD_BYTES_MAX;
    const int head = snprintf(ret_text, NUMBER_MAX, "%u:", seen->malformed_len);
    memcpy(ret_text + head, seen->malformed_bytes, bytes);
    return (size_t)head + bytes;
}

/* The arguments of mark.lua: its ARGV, in this order. */
enum mark_argument {
    MARK_SEEN_FLEET, /* the marker as it was judged; "" for what is absent */
    MARK_SEEN_MEMBER,
    MARK_SEEN_RUN,
    MARK_SEEN_LINEAGE,
    MARK_SEEN_STATE,
    MARK_SEEN_NEXT,
    MARK_SEEN_VIEW,
    MARK_FLEET, /* the marker that is to stand there */
    MARK_MEMBER,
    MARK_RUN,
    MARK_TTL,
    MARK_DURABLE,
    MARK_VIEW,
    MARK_INCARNATION,
    MARK_INIT,
    MARK_NOTE,
    MARK_KEEPS,
    MARK_KEPT_LINEAGE,
    MARK_EXTENSIONS,
    MARK_MALFORMED_FIELD,
    MARK_MALFORMED_BYTES,
    MARK_READERS,
    MARK_PREDECESSORS,
    MARK_ARGUMENTS, /* how many there are */
};

enum {
    MARK_COMMAND = 4, /* EVAL, the script, how many keys, the key */
};

/* The arguments of a mark, with what their texts point to. */
struct mark {
    const char *text[MARK_ARGUMENTS];
    size_t len[MARK_ARGUMENTS];
    struct number seen_member, seen_next, member, ttl_max_ms, incarnation, extensions_max, readers;
    char seen_view[FENCE_VIEW_TEXT_MAX];
    char view[FENCE_VIEW_TEXT_MAX];
    char predecessors[FENCE_PREDECESSORS_TEXT_MAX];
    char malformed[NUMBER_MAX + FENCE_FIELD_BYTES_MAX];
};

static void tell_seen(struct mark *mark, const struct fence_facts *seen, unsigned n)
{
    mark->seen_member = number_or_none(seen->member);
    mark->seen_next = number_or_none(seen->next);
    mark->seen_view[0] = '\0';
    mark->malformed[0] = '\0'; /* format_mark() writes it, unterminated */
    if (seen->marked)
        fence_view_format(&seen->view, seen->other_members ? seen->other_members : n,
                          mark->seen_view);
    mark->text[MARK_SEEN_FLEET] = seen->fleet_id;
    mark->text[MARK_SEEN_MEMBER] = mark->seen_member.text;
    mark->text[MARK_SEEN_RUN] = seen->marked_server_id;
    mark->text[MARK_SEEN_LINEAGE] = seen->marked_lineage;
    mark->text[MARK_SEEN_STATE] = state_name(seen);
    mark->text[MARK_SEEN_NEXT] = mark->seen_next.text;
    mark->text[MARK_SEEN_VIEW] = mark->seen_view;
    mark->text[MARK_MALFORMED_FIELD] = seen->malformed;
    mark->text[MARK_MALFORMED_BYTES] = mark->malformed;
}

/* The member does not forget its own, where the others know none of them. */
static void tell_predecessors(struct mark *mark, const struct fence_rejoin_request *request)
{
    struct fence_predecessors all = request->seen->predecessors;
    if (request->predecessors)
        fence_predecessors_merge(&all, request->predecessors);
    fence_predecessors_format(&all, mark->predecessors);
    mark->text[MARK_PREDECESSORS] = mark->predecessors;
}

static void tell_wanted(struct mark *mark, const struct fence_rejoin_request *request, unsigned n)
{
    mark->member = number(request->member + 1);
    mark->ttl_max_ms = number(request->ttl_max_ms);
    mark->incarnation = number(request->incarnation);
    mark->readers = number(request->readers);
    mark->extensions_max = number(request->extensions_max);
    fence_view_format(request->view, n, mark->view);
    mark->text[MARK_FLEET] = request->fleet_id;
    mark->text[MARK_MEMBER] = mark->member.text;
    mark->text[MARK_RUN] = request->seen->server_id;
    mark->text[MARK_TTL] = mark->ttl_max_ms.text;
    mark->text[MARK_DURABLE] = request->seen->durable ? "yes" : "no";
    mark->text[MARK_VIEW] = mark->view;
    mark->text[MARK_INCARNATION] = mark->incarnation.text;
    mark->text[MARK_INIT] = mark_name(request->mark);
    mark->text[MARK_NOTE] = STORAGE_FLEET_NOTE;
    mark->text[MARK_KEEPS] = request->keeps ? "yes" : "no";
    mark->text[MARK_KEPT_LINEAGE] = request->seen->lineage;
    mark->text[MARK_READERS] = mark->readers.text;
    mark->text[MARK_EXTENSIONS] = mark->extensions_max.text;
    tell_predecessors(mark, request);
}

static int format_mark(const struct fence_rejoin_request *request, unsigned n, char **ret_command)
{
    char script[sizeof(storage_redis_lua_lineage_check) + sizeof(storage_redis_lua_mark)];
    const char *argv[MARK_COMMAND + MARK_ARGUMENTS] = {"EVAL", script, "1", STORAGE_FLEET_KEY};
    size_t lens[MARK_COMMAND + MARK_ARGUMENTS];
    struct mark mark = {.text = {NULL}};
    assert(request->member < n);
    tell_seen(&mark, request->seen, n);
    tell_wanted(&mark, request, n);
    for (int i = 0; i < MARK_ARGUMENTS; i++) {
        assert(mark.text[i]); /* each argument was told */
        mark.len[i] = strlen(mark.text[i]);
    }
    mark.len[MARK_KEPT_LINEAGE] = strcspn(request->seen->lineage, STORAGE_LINEAGE_RESET);
    mark.len[MARK_MALFORMED_BYTES] = format_malformed(request->seen, mark.malformed);

    (void)snprintf(script, sizeof(script), "%s%s", storage_redis_lua_lineage_check,
                   storage_redis_lua_mark);
    for (int i = 0; i < MARK_COMMAND; i++)
        lens[i] = strlen(argv[i]);
    memcpy(argv + MARK_COMMAND, mark.text, sizeof(mark.text));
    memcpy(lens + MARK_COMMAND, mark.len, sizeof(mark.len));
    return (int)redisFormatCommandArgv(ret_command, MARK_COMMAND + MARK_ARGUMENTS, argv, lens);
}

static int format_clear(const struct fence_rejoin_request *request, char **ret_command)
{
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %s %s %d %u",
                              storage_redis_lua_lineage_check, storage_redis_lua_clear,
                              number(request->incarnation).text,
                              number((int64_t)request->cursor).text, STORAGE_LOCK_KEY "*",
                              STORAGE_CLEAR_AT_A_TIME, (unsigned)request->steps);
}

static int format_record(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                         char **ret_command)
{
    assert(to < n);
    char view[FENCE_VIEW_TEXT_MAX];
    fence_view_format(request->view, n, view);
    return redisFormatCommand(ret_command, "EVAL %s%s%s 1 " STORAGE_FLEET_KEY " %s %s %u",
                              storage_redis_lua_lineage_check, storage_redis_lua_view,
                              storage_redis_lua_record, view, request->fleet_id, to + 1);
}

static int format_read(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                       char **ret_command)
{
    bool counters = request->part == FENCE_REJOIN_COUNTERS;
    assert(to < n && request->member < n);
    char view[FENCE_VIEW_TEXT_MAX];
    char cursor[NUMBER_MAX];
    fence_view_format(request->view, n, view);
    snprintf(cursor, sizeof(cursor), "%" PRIu64, request->cursor);
    return redisFormatCommand(
        ret_command, "EVAL %s%s%s 1 " STORAGE_FLEET_KEY " %s %s %u %u %s %s %s %d",
        storage_redis_lua_lineage_check, storage_redis_lua_view, storage_redis_lua_read, view,
        request->fleet_id, to + 1, request->member + 1, number(request->incarnation).text,
        counters ? "counters" : "locks", cursor,
        counters ? STORAGE_COUNTERS_AT_A_TIME : STORAGE_LOCKS_AT_A_TIME);
}

static int format_install(const struct fence_rejoin_request *request, unsigned n,
                          char **ret_command)
{
    assert(request->page && request->source < n);
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %u %u %b %u",
                              storage_redis_lua_lineage_check, storage_redis_lua_install,
                              number(request->incarnation).text, 1U << request->source,
                              fence_majority(n), request->page->bytes, request->page->len,
                              (unsigned)request->steps);
}

static int format_admit(const struct fence_rejoin_request *request, unsigned n, char **ret_command)
{
    assert(request->member < n);
    char view[FENCE_VIEW_TEXT_MAX];
    fence_view_format(request->view, n, view);
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %u %s %u %s",
                              storage_redis_lua_lineage_check, storage_redis_lua_admit,
                              number(request->incarnation).text, request->member + 1, view,
                              (unsigned)request->steps, number(request->floor).text);
}

static int format_survey(const struct fence_rejoin_request *request, char **ret_command)
{
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %s",
                              storage_redis_lua_lineage_check, storage_redis_lua_survey,
                              number(request->incarnation).text, request->keeps ? "yes" : "no");
}

static int format_leases(const struct fence_rejoin_request *request, char **ret_command)
{
    char cursor[NUMBER_MAX];
    snprintf(cursor, sizeof(cursor), "%" PRIu64, request->cursor);
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %s %s %d",
                              storage_redis_lua_lineage_check, storage_redis_lua_leases,
                              number(request->incarnation).text, cursor, STORAGE_LOCK_KEY "*",
                              STORAGE_CLEAR_AT_A_TIME);
}

static int format_close(const struct fence_rejoin_request *request, char **ret_command)
{
    return redisFormatCommand(ret_command, "EVAL %s 1 " STORAGE_FLEET_KEY " %s %s %s %s",
                              storage_redis_lua_close, number(request->incarnation).text,
                              number(request->floor).text, request->fleet_id, STORAGE_CLOSED_NOTE);
}

static int format_step(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                       char **ret_command)
{
    switch (request->step) {
    case FENCE_REJOIN_MARK:
        return format_mark(request, n, ret_command);
    case FENCE_REJOIN_CLEAR:
        return format_clear(request, ret_command);
    case FENCE_REJOIN_RECORD:
        return format_record(request, to, n, ret_command);
    case FENCE_REJOIN_READ:
        return format_read(request, to, n, ret_command);
    case FENCE_REJOIN_INSTALL:
        return format_install(request, n, ret_command);
    case FENCE_REJOIN_ADMIT:
        return format_admit(request, n, ret_command);
    case FENCE_REJOIN_SURVEY:
        return format_survey(request, ret_command);
    case FENCE_REJOIN_LEASES:
        return format_leases(request, ret_command);
    case FENCE_REJOIN_CLOSE:
        return format_close(request, ret_command);
    }
    return -1;
}

int storage_rejoin_command(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                           char **ret_command, size_t *ret_len)
{
    assert(n >= 1 && n <= FENCE_MASTERS_MAX && to < n);
    char *command = NULL;
    int len = format_step(request, to, n, &command);
    if (len < 0)
        return FENCE_ENOMEM;
    *ret_command = command;
    *ret_len = (size_t)len;
    return 0;
}

/* ---- replies --------------------------------------------------------------------------------- */

static enum fence_rejoin_outcome read_cleared(const redisReply *reply, uint64_t *ret_cursor)
{
    if (reply->type == REDIS_REPLY_NIL)
        return FENCE_REJOIN_CHANGED;
    return storage_reply_text_number(reply, UINT64_MAX, ret_cursor) ? FENCE_REJOIN_DONE
                                                                    : FENCE_REJOIN_REFUSED;
}

static enum fence_rejoin_outcome read_highest_counter(const redisReply *reply, int64_t *ret_highest)
{
    uint64_t highest = 0;
    if (reply->type == REDIS_REPLY_NIL)
        return FENCE_REJOIN_CHANGED;
    if (!storage_reply_text_number(reply, FENCE_TOKEN_MAX, &highest))
        return FENCE_REJOIN_REFUSED;
    *ret_highest = (int64_t)highest;
    return FENCE_REJOIN_DONE;
}

static enum fence_rejoin_outcome read_leases(const redisReply *reply,
                                             struct fence_rejoin_reply *read)
{
    uint64_t left_ms = 0;
    if (reply->type == REDIS_REPLY_NIL)
        return FENCE_REJOIN_CHANGED;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !storage_reply_text_number(reply->element[1], FENCE_TTL_CEILING_MS, &left_ms) ||
        !storage_reply_text_number(reply->element[0], UINT64_MAX, &read->cursor))
        return FENCE_REJOIN_REFUSED;
    read->left_ms = (uint32_t)left_ms;
    return FENCE_REJOIN_DONE;
}

static enum fence_rejoin_outcome read_page(const redisReply *reply, struct fence_rejoin_reply *read)
{
    if (reply->type == REDIS_REPLY_NIL)
        return FENCE_REJOIN_CHANGED;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_STRING ||
        !storage_reply_text_number(reply->element[0], UINT64_MAX, &read->cursor))
        return FENCE_REJOIN_REFUSED;
    read->page.bytes = reply->element[1]->str;
    read->page.len = reply->element[1]->len;
    return FENCE_REJOIN_DONE;
}

static enum fence_rejoin_outcome read_done(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_INTEGER)
        return FENCE_REJOIN_REFUSED;
    return reply->integer == 1 ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED;
}

bool storage_view_refused(const redisReply *reply, unsigned n, struct fence_view *ret_view)
{
    static const char sign[] = "PAWLVIEW ";
    enum {
        SIGN_LEN = sizeof(sign) - 1,
    };
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, sign, SIGN_LEN) == 0 &&
           fence_view_parse(reply->str + SIGN_LEN, reply->len - SIGN_LEN, n, ret_view) == 0;
}

struct fence_rejoin_reply storage_rejoin_reply(enum fence_rejoin_step step, const redisReply *reply,
                                               unsigned n, struct fence_view *view)
{
    struct fence_rejoin_reply read = {.outcome = FENCE_REJOIN_LOST};
    const char *unused;
    if (!reply || storage_reply_changed(reply, &unused))
        return read;
    if (step == FENCE_REJOIN_CLEAR) {
        read.outcome = read_cleared(reply, &read.cursor);
    } else if (step == FENCE_REJOIN_READ) {
        read.outcome = read_page(reply, &read);
    } else if (step == FENCE_REJOIN_LEASES) {
        read.outcome = read_leases(reply, &read);
    } else if (step == FENCE_REJOIN_SURVEY) {
        read.outcome = read_highest_counter(reply, &read.highest);
    } else if (step == FENCE_REJOIN_RECORD && storage_view_refused(reply, n, view)) {
        read.outcome = FENCE_REJOIN_CHANGED;
        read.view = view;
    } else if (step == FENCE_REJOIN_RECORD && reply->type == REDIS_REPLY_INTEGER &&
               reply->integer > 0) {
        read.outcome = FENCE_REJOIN_DONE;
        read.writes = reply->integer;
    } else {
        read.outcome = read_done(reply);
    }
    return read;
}
