#include "tests/chaos/history.h"

#include "tests/lib/case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[HISTORY_KINDS] = {
    [HISTORY_ACQUIRE] = "acquire", [HISTORY_EXTEND] = "extend", [HISTORY_LEAVE] = "leave",
    [HISTORY_RELEASE] = "release", [HISTORY_CLAIM] = "claim",   [HISTORY_WRITE] = "write",
    [HISTORY_COUNT] = "count",
};

static const char *const ask_names[HISTORY_ASKS] = {
    [HISTORY_PLAIN] = "plain",
    [HISTORY_OWN] = "own",
    [HISTORY_RETRY] = "retry",
    [HISTORY_TOLD] = "told",
};

/* ---- lines ----------------------------------------------------------------------------------- */

void history_format(const struct history_call *call, char ret_line[static HISTORY_LINE_MAX])
{
    snprintf(ret_line, HISTORY_LINE_MAX,
             "%s %u %u %u %s %u %d %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRIu64 "\n",
             kind_names[call->kind], call->name, call->client, call->turn, ask_names[call->ask],
             call->names, (int)call->held_by, call->sent_us, call->answered_us, call->status,
             call->token, call->till_us);
}

/* Which of @count @names @text is; @count: none. */
static unsigned find_name(const char *text, const char *const *names, unsigned count)
{
    unsigned at = 0;
    while (at < count && strcmp(text, names[at]) != 0)
        at++;
    return at;
}

static bool parse(const char *line, struct history_call *ret_call)
{
    char kind[16], ask[16];
    int held_by;
    struct history_call call = {.name = 0};
    /* NOLINTNEXTLINE(cert-err34-c): we wrote it, and a wrong number is a wrong finding at worst */
    if (sscanf(line, "%15s %u %u %u %15s %u %d %" SCNu64 " %" SCNu64 " %d %" SCNd64 " %" SCNu64,
               kind, &call.name, &call.client, &call.turn, ask, &call.names, &held_by,
               &call.sent_us, &call.answered_us, &call.status, &call.token, &call.till_us) != 12)
        return false;
    call.kind = (enum history_kind)find_name(kind, kind_names, HISTORY_KINDS);
    call.ask = (enum history_ask)find_name(ask, ask_names, HISTORY_ASKS);
    if (held_by < 0 || held_by >= HISTORY_HELD_BY)
        return false;
    call.held_by = (enum history_held_by)held_by;
    if (call.kind == HISTORY_KINDS || call.ask == HISTORY_ASKS || call.name >= HISTORY_NAMES_MAX)
        return false;
    *ret_call = call;
    return true;
}

void history_add(struct history *history, const struct history_call *call)
{
    if (history->count == history->size) {
        history->size = history->size ? history->size * 2 : 1024;
        history->calls = realloc(history->calls, history->size * sizeof(history->calls[0]));
        assert_non_null(history->calls);
    }
    history->calls[history->count++] = *call;
}

size_t history_read(struct history *history, const char *path)
{
    size_t unreadable = 0;
    char line[HISTORY_LINE_MAX];
    struct history_call call;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        if (!strchr(line, '\n'))
            break;
        if (parse(line, &call))
            history_add(history, &call);
        else
            unreadable++;
    }
    if (file)
        fclose(file);
    return unreadable;
}

void history_fini(struct history *history)
{
    free(history->calls);
    *history = (struct history){0};
}

bool history_is_grant(const struct history_call *call)
{
    return (call->kind == HISTORY_ACQUIRE && (call->status == 201 || call->status == 200)) ||
           (call->kind == HISTORY_EXTEND && call->status == 201);
}

bool history_is_new_grant(const struct history_call *call)
{
    return history_is_grant(call) && call->kind == HISTORY_ACQUIRE && call->ask != HISTORY_TOLD;
}
