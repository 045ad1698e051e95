#include "storage/redis_rejoin.h"

#include "fence/fleet.h"
#include "storage/lua/admit.lua.h"
#include "storage/lua/claim.lua.h"
#include "storage/lua/record.lua.h"
#include "storage/lua/view.lua.h"
#include "storage/lua/wipe.lua.h"
#include "storage/redis_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_MAX = 24,                                   /* characters of one, with a space */
    NUMBERS_SIZE = (1 + 2 * FENCE_SLOTS) * NUMBER_MAX, /* the floor, slots and counters */
    STATE_MAX = 8,
};

/* ---- commands -------------------------------------------------------------------------------- */

static void format_nonce(uint64_t nonce, char ret_text[static STORAGE_NONCE_LEN + 1])
{
    ret_text[0] = '\0';
    if (nonce != 0)
        snprintf(ret_text, STORAGE_NONCE_LEN + 1, STORAGE_NONCE_FORMAT, nonce);
}

static int format_claim(const struct fence_rejoin_request *request, unsigned n, char **ret_command)
{
    const struct fence_facts *seen = request->seen;
    char member[NUMBER_MAX] = "";
    char seen_nonce[STORAGE_NONCE_LEN + 1] = "";
    char seen_view[FENCE_VIEW_TEXT_MAX] = "";
    char nonce[STORAGE_NONCE_LEN + 1];
    char view[FENCE_VIEW_TEXT_MAX];
    char incarnation[NUMBER_MAX];
    const char *state = "";
    snprintf(incarnation, sizeof(incarnation), "%" PRId64, request->incarnation);
    format_nonce(request->nonce, nonce);
    fence_view_format(request->view, n, view);
    if (seen->marked) {
        snprintf(member, sizeof(member), "%u", seen->member);
        format_nonce(seen->nonce, seen_nonce);
        fence_view_format(&seen->view, n, seen_view);
        state = seen->marked_active ? "active" : "joining";
    }
    return redisFormatCommand(
        ret_command,
        "EVAL %s 1 " STORAGE_FLEET_KEY " %s %s %s %s %s %s %s %s %s %u %s %u %s "
        "%s %s %s %s",
        storage_lua_claim, seen->fleet_id, member, seen->marked_run_id, state, seen_nonce,
        seen_view, nonce, request->keep_locks ? "keep" : "join", request->fleet_id,
        request->member + 1, seen->run_id, request->ttl_max_ms, seen->durable ? "yes" : "no", view,
        STORAGE_FLEET_NOTE, incarnation);
}

static int format_wipe(const struct fence_rejoin_request *request, char **ret_command)
{
    char nonce[STORAGE_NONCE_LEN + 1];
    char cursor[NUMBER_MAX];
    format_nonce(request->nonce, nonce);
    snprintf(cursor, sizeof(cursor), "%" PRIu64, request->cursor);
    return redisFormatCommand(ret_command, "EVAL %s 1 " STORAGE_FLEET_KEY " %s %s %s %d",
                              storage_lua_wipe, nonce, cursor, STORAGE_LOCK_KEY "*",
                              STORAGE_WIPE_AT_A_TIME);
}

static int format_record(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                         char **ret_command)
{
    char view[FENCE_VIEW_TEXT_MAX];
    fence_view_format(request->view, n, view);
    return redisFormatCommand(ret_command, "EVAL %s%s 1 " STORAGE_FLEET_KEY " %s %s %u %u %d",
                              storage_lua_view, storage_lua_record, view, request->fleet_id, to + 1,
                              (unsigned)request->cursor, STORAGE_READ_AT_A_TIME);
}

/* As admit.lua reads them. Slots that were never counted in are left out. */
static void format_counters(const struct fence_counters *counters, char *to)
{
    to += sprintf(to, "%" PRId64, counters->floor);
    for (unsigned slot = 0; slot < FENCE_SLOTS; slot++)
        if (counters->slot[slot] > 0)
            to += sprintf(to, " %u %" PRId64, slot, counters->slot[slot]);
}

static int format_admit(const struct fence_rejoin_request *request, unsigned n, char **ret_command)
{
    char nonce[STORAGE_NONCE_LEN + 1];
    char view[FENCE_VIEW_TEXT_MAX];
    char *numbers = malloc(NUMBERS_SIZE);
    if (!numbers)
        return -1;
    format_nonce(request->nonce, nonce);
    fence_view_format(request->view, n, view);
    format_counters(request->counters, numbers);
    int len = redisFormatCommand(
        ret_command, "EVAL %s 1 " STORAGE_FLEET_KEY " %s %u %s %s %s %u %s", storage_lua_admit,
        nonce, request->member + 1, view, request->seen->run_id,
        request->seen->durable ? "yes" : "no", (unsigned)request->wiped, numbers);
    free(numbers);
    return len;
}

static int format_step(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                       char **ret_command)
{
    switch (request->step) {
    case FENCE_REJOIN_CLAIM:
        return format_claim(request, n, ret_command);
    case FENCE_REJOIN_WIPE:
        return format_wipe(request, ret_command);
    case FENCE_REJOIN_RECORD:
        return format_record(request, to, n, ret_command);
    case FENCE_REJOIN_ADMIT:
        return format_admit(request, n, ret_command);
    }
    return -1;
}

int storage_rejoin_command(const struct fence_rejoin_request *request, unsigned to, unsigned n,
                           char **ret_command, size_t *ret_len)
{
    char *command = NULL;
    int len = format_step(request, to, n, &command);
    if (len < 0)
        return FENCE_ENOMEM;
    *ret_command = command;
    *ret_len = (size_t)len;
    return 0;
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool read_number(const char **text, int64_t max, int64_t *ret_number)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    long long number = strtoll(*text, &end, 10);
    if (number < 0 || number > max || (*end != ' ' && *end != '\0'))
        return false;
    *ret_number = number;
    *text = *end == ' ' ? end + 1 : end;
    return true;
}

static bool read_counters(const redisReply *reply, struct fence_counters *counters,
                          uint64_t *ret_cursor)
{
    if (reply->type != REDIS_REPLY_STRING || strlen(reply->str) != reply->len)
        return false;
    const char *text = reply->str;
    int64_t cursor = 0;
    memset(counters, 0, sizeof(*counters));
    if (!read_number(&text, FENCE_SLOTS - 1, &cursor) ||
        !read_number(&text, FENCE_TOKEN_MAX, &counters->floor))
        return false;
    while (*text != '\0') {
        int64_t slot = 0;
        if (!read_number(&text, FENCE_SLOTS - 1, &slot) ||
            !read_number(&text, FENCE_TOKEN_MAX, &counters->slot[slot]))
            return false;
    }
    *ret_cursor = (uint64_t)cursor;
    return true;
}

static enum fence_rejoin_outcome read_wipe(const redisReply *reply, uint64_t *ret_cursor)
{
    if (reply->type == REDIS_REPLY_NIL)
        return FENCE_REJOIN_CHANGED;
    if (reply->type != REDIS_REPLY_STRING)
        return FENCE_REJOIN_LOST;
    *ret_cursor = strtoull(reply->str, NULL, 10);
    return FENCE_REJOIN_DONE;
}

static enum fence_rejoin_outcome read_integer(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_INTEGER)
        return FENCE_REJOIN_LOST;
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
                                               unsigned n, struct fence_counters *counters,
                                               struct fence_view *view)
{
    struct fence_rejoin_reply read = {.outcome = FENCE_REJOIN_LOST};
    if (!reply)
        return read;
    if (step == FENCE_REJOIN_WIPE) {
        read.outcome = read_wipe(reply, &read.cursor);
    } else if (step != FENCE_REJOIN_RECORD) {
        read.outcome = read_integer(reply);
    } else if (storage_view_refused(reply, n, view)) {
        read.outcome = FENCE_REJOIN_CHANGED;
        read.view = view;
    } else if (read_counters(reply, counters, &read.cursor)) {
        read.outcome = FENCE_REJOIN_DONE;
        read.counters = counters;
    }
    return read;
}
