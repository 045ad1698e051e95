#include "tests/chaos/history.h"

#include "tests/lib/case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOLD_MAX = 20, /* of all findings; the rest is only counted */
};

static const char *const kind_names[HISTORY_KINDS] = {
    [HISTORY_ACQUIRE] = "acquire", [HISTORY_EXTEND] = "extend", [HISTORY_LEAVE] = "leave",
    [HISTORY_RELEASE] = "release", [HISTORY_CLAIM] = "claim",   [HISTORY_WRITE] = "write",
};

/* ---- lines ----------------------------------------------------------------------------------- */

void history_format(const struct history_call *call, char ret_line[static HISTORY_LINE_MAX])
{
    snprintf(ret_line, HISTORY_LINE_MAX,
             "%s %u %u %" PRIu64 " %" PRIu64 " %d %" PRId64 " %" PRIu64 "\n",
             kind_names[call->kind], call->name, call->client, call->sent_us, call->answered_us,
             call->status, call->token, call->till_us);
}

static bool parse_kind(const char *text, enum history_kind *ret_kind)
{
    for (enum history_kind kind = 0; kind < HISTORY_KINDS; kind++) {
        if (strcmp(text, kind_names[kind]) == 0) {
            *ret_kind = kind;
            return true;
        }
    }
    return false;
}

static bool parse(const char *line, struct history_call *ret_call)
{
    char kind[16];
    struct history_call call = {.name = 0};
    /* NOLINTNEXTLINE(cert-err34-c): we wrote it, and a wrong number is a wrong finding at worst */
    if (sscanf(line, "%15s %u %u %" SCNu64 " %" SCNu64 " %d %" SCNd64 " %" SCNu64, kind, &call.name,
               &call.client, &call.sent_us, &call.answered_us, &call.status, &call.token,
               &call.till_us) != 8 ||
        !parse_kind(kind, &call.kind) || call.name >= HISTORY_NAMES_MAX)
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
    return call->kind == HISTORY_ACQUIRE && call->status == 201;
}

/* ---- findings -------------------------------------------------------------------------------- */

size_t history_violations(const struct history_findings *findings)
{
    return findings->twice + findings->disorder + findings->overlaps + findings->fell;
}

/* One more of @count, with the two calls that show it. */
static void find(struct history_findings *findings, size_t *count, const char *what,
                 const struct history_call *earlier, const struct history_call *later)
{
    char first[HISTORY_LINE_MAX], second[HISTORY_LINE_MAX];
    ++*count;
    if (!findings->told || history_violations(findings) > TOLD_MAX)
        return;
    history_format(earlier, first);
    history_format(later, second);
    fprintf(findings->told, "%s:\n    %s    %s", what, first, second);
}

/* Copies the calls that @wanted accepts, sorted; the caller frees them. */
static struct history_call *sorted(const struct history *history,
                                   bool (*wanted)(const struct history_call *),
                                   int (*order)(const void *, const void *), size_t *ret_count)
{
    size_t count = 0;
    struct history_call *copy = calloc(history->count + 1, sizeof(*copy));
    assert_non_null(copy);
    for (size_t i = 0; i < history->count; i++)
        if (wanted(&history->calls[i]))
            copy[count++] = history->calls[i];
    qsort(copy, count, sizeof(*copy), order);
    *ret_count = count;
    return copy;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_token(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    return x->name != y->name ? compare(x->name, y->name)
                              : compare((uint64_t)x->token, (uint64_t)y->token);
}

static int by_sending(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    return compare(x->sent_us, y->sent_us);
}

static int by_answer(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    return compare(x->answered_us, y->answered_us);
}

/* ---- P1 -------------------------------------------------------------------------------------- */

static void check_distinct(const struct history *history, struct history_findings *findings)
{
    size_t count;
    struct history_call *grants = sorted(history, history_is_grant, by_token, &count);
    for (size_t i = 1; i < count; i++)
        if (by_token(&grants[i - 1], &grants[i]) == 0)
            find(findings, &findings->twice, "P1: one token was granted twice", &grants[i - 1],
                 &grants[i]);
    free(grants);
}

static void check_rising(const struct history *history, struct history_findings *findings)
{
    size_t count, before = 0;
    struct history_call *sent = sorted(history, history_is_grant, by_sending, &count);
    struct history_call *answered = sorted(history, history_is_grant, by_answer, &count);
    const struct history_call *highest[HISTORY_NAMES_MAX] = {NULL};
    for (size_t i = 0; i < count; i++) {
        for (; answered[before].answered_us < sent[i].sent_us; before++) {
            const struct history_call **at = &highest[answered[before].name];
            if (!*at || answered[before].token > (*at)->token)
                *at = &answered[before];
        }
        const struct history_call *known = highest[sent[i].name];
        if (known && sent[i].token <= known->token)
            find(findings, &findings->disorder, "P1: a later grant has a token no higher", known,
                 &sent[i]);
    }
    free(sent);
    free(answered);
}

void history_check_order(const struct history *history, struct history_findings *findings)
{
    check_distinct(history, findings);
    check_rising(history, findings);
}

/* ---- P2 -------------------------------------------------------------------------------------- */

static bool concerns_leases(const struct history_call *call)
{
    return history_is_grant(call) || call->kind == HISTORY_LEAVE ||
           (call->kind == HISTORY_EXTEND && call->status == 200);
}

/* The calls under one grant together, in the order in which the client made them. */
static int by_grant(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    const int token = by_token(a, b);
    if (token != 0)
        return token;
    return x->client != y->client ? compare(x->client, y->client) : by_sending(a, b);
}

static bool touched(const struct history_call *lease, uint64_t granted_us,
                    const struct history_window *windows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (granted_us <= windows[i].till_us && windows[i].from_us <= lease->till_us)
            return true;
    return false;
}

/* Makes of the calls under one grant, @calls[0 .. @count - 1], what its holder knew: it held from
 * an answer on, to the end of that lease or until it left. Returns how many leases
 * these are; they stand first in @calls. */
static size_t keep_leases(struct history_call *calls, size_t count,
                          const struct history_window *windows, size_t windows_count)
{
    size_t kept = 0;
    const uint64_t granted_us = calls[0].sent_us;
    uint64_t left_us = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (calls[i].kind == HISTORY_LEAVE && calls[i].sent_us < left_us)
            left_us = calls[i].sent_us;
    for (size_t i = 0; i < count; i++) {
        struct history_call lease = calls[i];
        if (lease.kind == HISTORY_LEAVE)
            continue;
        if (lease.till_us > left_us)
            lease.till_us = left_us;
        if (lease.answered_us < lease.till_us &&
            !touched(&lease, granted_us, windows, windows_count))
            calls[kept++] = lease;
    }
    return kept;
}

static void check_alone(const struct history *leases, struct history_findings *findings)
{
    const struct history_call *last[HISTORY_NAMES_MAX] = {NULL}; /* whose lease ends last */
    for (size_t i = 0; i < leases->count; i++) {
        const struct history_call *lease = &leases->calls[i];
        const struct history_call **at = &last[lease->name];
        if (*at && (*at)->token != lease->token && lease->answered_us < (*at)->till_us)
            find(findings, &findings->overlaps, "P2: granted while another held it", *at, lease);
        if (!*at || lease->till_us > (*at)->till_us)
            *at = lease;
    }
}

void history_check_exclusion(const struct history *history, const struct history_window *windows,
                             size_t count, struct history_findings *findings)
{
    size_t calls_count, end;
    struct history leases = {0};
    struct history_call *calls = sorted(history, concerns_leases, by_grant, &calls_count);
    for (size_t begin = 0; begin < calls_count; begin = end) {
        const struct history_call *first = &calls[begin];
        for (end = begin + 1; end < calls_count; end++)
            if (by_token(first, &calls[end]) != 0 || first->client != calls[end].client)
                break;
        const size_t kept = keep_leases(&calls[begin], end - begin, windows, count);
        for (size_t i = 0; i < kept; i++)
            history_add(&leases, &calls[begin + i]);
    }
    free(calls);
    if (leases.count > 0)
        qsort(leases.calls, leases.count, sizeof(leases.calls[0]), by_answer);
    check_alone(&leases, findings);
    findings->leases += leases.count;
    history_fini(&leases);
}

/* ---- P4 and the sum -------------------------------------------------------------------------- */

void history_check_fencing(const struct history_entry *entries, size_t count,
                           struct history_findings *findings)
{
    int64_t highest[HISTORY_NAMES_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct history_entry *entry = &entries[i];
        if (entry->token >= highest[entry->name]) {
            highest[entry->name] = entry->token;
            continue;
        }
        findings->fell++;
        if (findings->told && history_violations(findings) <= TOLD_MAX)
            fprintf(findings->told,
                    "P4: name %u: token %" PRId64 " was accepted after %" PRId64 "\n", entry->name,
                    entry->token, highest[entry->name]);
    }
}

size_t history_lost_updates(const struct history_entry *entries, size_t count)
{
    int64_t lost[HISTORY_NAMES_MAX] = {0};
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].version > 0)
            lost[entries[i].name] = entries[i].version - entries[i].balance;
    for (unsigned name = 0; name < HISTORY_NAMES_MAX; name++)
        sum += (size_t)lost[name];
    return sum;
}
