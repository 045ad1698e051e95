/* Rules for a history. */
#include "tests/chaos/findings.h"
#include "tests/lib/case.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    TOLD_MAX = 20, /* for all findings; the rest is only counted */
};

/* ---- findings -------------------------------------------------------------------------------- */

size_t history_violations(const struct history_findings *findings)
{
    return findings->twice + findings->disorder + findings->overlaps + findings->shut_out +
           findings->fell + findings->values_twice + findings->values_fell;
}

void findings_add(struct history_findings *findings, size_t *count, const char *what,
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

struct history_call *findings_sorted(const struct history *history,
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

/* Those of one lock together: what one client in one turn wants of one name. */
static int by_lock(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    if (x->name != y->name)
        return compare(x->name, y->name);
    return x->client != y->client ? compare(x->client, y->client) : compare(x->turn, y->turn);
}

static bool same_lock(const struct history_call *a, const struct history_call *b)
{
    return by_lock(a, b) == 0;
}

/* The same token of two locks shows in neighbours. */
static int by_token(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    if (x->name != y->name)
        return compare(x->name, y->name);
    return x->token != y->token ? compare((uint64_t)x->token, (uint64_t)y->token) : by_lock(a, b);
}

int findings_by_sending(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    return compare(x->sent_us, y->sent_us);
}

int findings_by_answer(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    return compare(x->answered_us, y->answered_us);
}

/* ---- P1 -------------------------------------------------------------------------------------- */

static void check_distinct(const struct history *history, struct history_findings *findings)
{
    size_t count;
    struct history_call *grants = findings_sorted(history, history_is_grant, by_token, &count);
    for (size_t i = 1; i < count; i++)
        if (grants[i - 1].name == grants[i].name && grants[i - 1].token == grants[i].token &&
            !same_lock(&grants[i - 1], &grants[i]))
            findings_add(findings, &findings->twice, "P1: one token was granted twice",
                         &grants[i - 1], &grants[i]);
    free(grants);
}

static void check_rising(const struct history *history, struct history_findings *findings)
{
    size_t count, before = 0;
    struct history_call *sent =
        findings_sorted(history, history_is_grant, findings_by_sending, &count);
    struct history_call *answered =
        findings_sorted(history, history_is_grant, findings_by_answer, &count);
    const struct history_call *highest[HISTORY_NAMES_MAX] = {NULL};
    for (size_t i = 0; i < count; i++) {
        for (; answered[before].answered_us < sent[i].sent_us; before++) {
            const struct history_call **at = &highest[answered[before].name];
            if (!*at || answered[before].token > (*at)->token)
                *at = &answered[before];
        }
        const struct history_call *known = highest[sent[i].name];
        if (known && sent[i].token < (same_lock(known, &sent[i]) ? known->token : known->token + 1))
            findings_add(findings, &findings->disorder, "P1: a later grant has too low a token",
                         known, &sent[i]);
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
    return call->kind == HISTORY_ACQUIRE || call->kind == HISTORY_LEAVE ||
           (call->kind == HISTORY_EXTEND && (call->status == 200 || call->status == 201));
}

/* In the order in which the client made them. */
static int by_lock_and_sending(const void *a, const void *b)
{
    return same_lock(a, b) ? findings_by_sending(a, b) : by_lock(a, b);
}

/* The ends of the calls for the lock of @calls[@begin]. */
static size_t end_of_lock(const struct history_call *calls, size_t begin, size_t count)
{
    size_t end = begin + 1;
    while (end < count && same_lock(&calls[begin], &calls[end]))
        end++;
    return end;
}

static bool touched(const struct history_call *lease, uint64_t asked_us,
                    const struct history_window *windows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (asked_us <= windows[i].till_us && windows[i].from_us <= lease->till_us)
            return true;
    return false;
}

/* Makes of the calls for one lock, @calls[0 .. @count - 1], what its holder knew: it held from an
 * answer on, to the end of that lease or until it left. Returns how many leases these are; they
 * stand first in @calls. */
static size_t keep_leases(struct history_call *calls, size_t count,
                          const struct history_window *windows, size_t windows_count)
{
    size_t kept = 0;
    const uint64_t asked_us = calls[0].sent_us;
    uint64_t left_us = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (calls[i].kind == HISTORY_LEAVE && calls[i].sent_us < left_us)
            left_us = calls[i].sent_us;
    for (size_t i = 0; i < count; i++) {
        struct history_call lease = calls[i]; /* or none, and then it ends before it began */
        if (lease.till_us > left_us)
            lease.till_us = left_us;
        if (lease.answered_us < lease.till_us && !touched(&lease, asked_us, windows, windows_count))
            calls[kept++] = lease;
    }
    return kept;
}

static void check_alone(const struct history *leases, struct history_findings *findings)
{
    const struct history_call *last[HISTORY_NAMES_MAX] = {
        NULL}; /* the call whose lease ends last */
    for (size_t i = 0; i < leases->count; i++) {
        const struct history_call *lease = &leases->calls[i];
        const struct history_call **at = &last[lease->name];
        if (*at && !same_lock(*at, lease) && lease->answered_us < (*at)->till_us)
            findings_add(findings, &findings->overlaps, "P2: granted while another held it", *at,
                         lease);
        if (!*at || lease->till_us > (*at)->till_us)
            *at = lease;
    }
}

void history_check_exclusion(const struct history *history, const struct history_window *windows,
                             size_t count, struct history_findings *findings)
{
    size_t calls_count, end;
    struct history leases = {0};
    struct history_call *calls =
        findings_sorted(history, concerns_leases, by_lock_and_sending, &calls_count);
    for (size_t begin = 0; begin < calls_count; begin = end) {
        end = end_of_lock(calls, begin, calls_count);
        const size_t kept = keep_leases(&calls[begin], end - begin, windows, count);
        for (size_t i = 0; i < kept; i++)
            history_add(&leases, &calls[begin + i]);
    }
    free(calls);
    if (leases.count > 0)
        qsort(leases.calls, leases.count, sizeof(leases.calls[0]), findings_by_answer);
    check_alone(&leases, findings);
    findings->leases += leases.count;
    history_fini(&leases);
}

/* ---- asking again ---------------------------------------------------------------------------- */

static bool is_shut_out(const struct history_call *call, const struct history_times *times)
{
    if (call->held_by != HISTORY_BY_NOBODY)
        return call->held_by == HISTORY_BY_ITSELF;
    for (size_t i = 0; i < times->tombstones_count; i++)
        if (call->sent_us <= times->tombstones[i].till_us &&
            times->tombstones[i].from_us <= call->answered_us)
            return false;
    return true;
}

/* The calls for one lock, in the order in which the client made them. */
static void check_asks(const struct history_call *calls, size_t count,
                       const struct history_times *times, struct history_findings *findings)
{
    const struct history_call *told = &calls[0]; /* which lease ends last */
    for (size_t i = 1; i < count; i++) {
        const struct history_call *call = &calls[i];
        if (is_shut_out(call, times) && call->answered_us < told->till_us &&
            !touched(told, calls[0].sent_us, times->clocks, times->clocks_count))
            findings_add(findings, &findings->shut_out, "refused for the sake of its own lock",
                         told, call);
        if (call->till_us > told->till_us)
            told = call;
    }
}

void history_check_asking(const struct history *history, const struct history_times *times,
                          struct history_findings *findings)
{
    size_t calls_count, end;
    struct history_call *calls =
        findings_sorted(history, concerns_leases, by_lock_and_sending, &calls_count);
    for (size_t begin = 0; begin < calls_count; begin = end) {
        end = end_of_lock(calls, begin, calls_count);
        check_asks(&calls[begin], end - begin, times, findings);
    }
    free(calls);
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
        sum += (size_t)llabs(lost[name]);
    return sum;
}
