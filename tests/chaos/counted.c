/* Rules for the values of named counters. */
#include "tests/chaos/findings.h"

#include <stdlib.h>

static bool is_told(const struct history_call *call)
{
    return call->kind == HISTORY_COUNT && call->status == 200;
}

static bool took_values(const struct history_call *call)
{
    return is_told(call) && call->names > 0;
}

static int64_t first_of(const struct history_call *call)
{
    return call->token - (int64_t)call->names + 1;
}

static int by_value(const void *a, const void *b)
{
    const struct history_call *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static void check_apart(const struct history *history, struct history_findings *findings)
{
    size_t count;
    struct history_call *calls = findings_sorted(history, took_values, by_value, &count);
    for (size_t i = 1; i < count; i++)
        if (calls[i - 1].name == calls[i].name && first_of(&calls[i]) <= calls[i - 1].token)
            findings_add(findings, &findings->values_twice, "a value was given twice",
                         &calls[i - 1], &calls[i]);
    free(calls);
}

/* A reading is told at least what was told before, and a call that counts gets more. */
static void check_later(const struct history *history, struct history_findings *findings)
{
    size_t count, before = 0;
    const struct history_call *highest[HISTORY_NAMES_MAX] = {NULL};
    struct history_call *sent = findings_sorted(history, is_told, findings_by_sending, &count);
    struct history_call *answered = findings_sorted(history, is_told, findings_by_answer, &count);
    for (size_t i = 0; i < count; i++) {
        for (; answered[before].answered_us < sent[i].sent_us; before++) {
            const struct history_call **at = &highest[answered[before].name];
            if (!*at || answered[before].token > (*at)->token)
                *at = &answered[before];
        }
        const struct history_call *known = highest[sent[i].name];
        int64_t least = sent[i].names > 0 ? first_of(&sent[i]) - 1 : sent[i].token;
        if (known && least < known->token)
            findings_add(findings, &findings->values_fell, "a later call was told less", known,
                         &sent[i]);
    }
    free(sent);
    free(answered);
}

void history_check_counters(const struct history *history, struct history_findings *findings)
{
    check_apart(history, findings);
    check_later(history, findings);
}
