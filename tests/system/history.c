#include "tests/system/history.h"

#include "tests/lib/case.h"
#include "tests/system/calls.h"

#include <stdlib.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_token(const void *a, const void *b)
{
    const struct hammer_grant *x = a, *y = b;
    return x->name != y->name ? compare(x->name, y->name)
                              : compare((uint64_t)x->token, (uint64_t)y->token);
}

static int by_asking(const void *a, const void *b)
{
    const struct hammer_grant *x = a, *y = b;
    return compare(x->asked_us, y->asked_us);
}

static int by_answer(const void *a, const void *b)
{
    const struct hammer_grant *x = a, *y = b;
    return compare(x->answered_us, y->answered_us);
}

static struct hammer_grant *sorted(const struct hammer_result *result,
                                   int (*order)(const void *, const void *))
{
    struct hammer_grant *copy = calloc(result->count + 1, sizeof(*copy));
    assert_non_null(copy);
    memcpy(copy, result->grants, result->count * sizeof(*copy));
    qsort(copy, result->count, sizeof(*copy), order);
    return copy;
}

void history_expect_distinct_tokens(const struct hammer_result *result)
{
    struct hammer_grant *grants = sorted(result, by_token);
    for (size_t i = 1; i < result->count; i++)
        if (by_token(&grants[i - 1], &grants[i]) == 0)
            fail_msg("token %lld was granted twice for name %u", (long long)grants[i].token,
                     grants[i].name);
    free(grants);
}

void history_expect_tokens_in_order(const struct hammer_result *result)
{
    struct hammer_grant *asked = sorted(result, by_asking);
    struct hammer_grant *answered = sorted(result, by_answer);
    int64_t highest[HAMMER_NAMES] = {0};
    size_t before = 0;
    for (size_t i = 0; i < result->count; i++) {
        for (; answered[before].answered_us < asked[i].asked_us; before++)
            if (answered[before].token > highest[answered[before].name])
                highest[answered[before].name] = answered[before].token;
        if (asked[i].token <= highest[asked[i].name])
            fail_msg("name %u: token %lld was granted after %lld", asked[i].name,
                     (long long)asked[i].token, (long long)highest[asked[i].name]);
    }
    free(asked);
    free(answered);
}

/* @ret_by_us: how long the longest overlap is. */
static unsigned count_overlaps(const struct hammer_result *result, uint64_t *ret_by_us)
{
    struct hammer_grant *grants = sorted(result, by_answer);
    uint64_t held_till_us[HAMMER_NAMES] = {0};
    unsigned overlaps = 0;
    *ret_by_us = 0;
    for (size_t i = 0; i < result->count; i++) {
        uint64_t *till_us = &held_till_us[grants[i].name];
        const uint64_t by_us =
            grants[i].answered_us < *till_us ? *till_us - grants[i].answered_us : 0;
        overlaps += by_us > 0;
        *ret_by_us = by_us > *ret_by_us ? by_us : *ret_by_us;
        if (grants[i].held_till_us > *till_us)
            *till_us = grants[i].held_till_us;
    }
    free(grants);
    return overlaps;
}

void history_expect_one_holder(const struct hammer_result *result)
{
    uint64_t by_us = 0;
    if (count_overlaps(result, &by_us) > 0)
        fail_msg("a name was granted %llu us before the last holder's lease was over",
                 (unsigned long long)by_us);
}

unsigned history_overlaps(const struct hammer_result *result)
{
    uint64_t by_us = 0;
    return count_overlaps(result, &by_us);
}

int64_t history_lost_updates(uint16_t ledger, const struct hammer_result *result)
{
    int64_t lost = 0;
    for (unsigned name = 0; name < HAMMER_NAMES; name++) {
        char path[HAMMER_PATH_MAX];
        hammer_account_path(name, path);
        lost +=
            result->written[name] - http_integer(call(ledger, "GET", path, NULL, NULL), "balance");
    }
    return lost;
}

uint64_t history_longest_gap_ms(const struct hammer_result *result, uint64_t from_us,
                                uint64_t till_us)
{
    struct hammer_grant *grants = sorted(result, by_answer);
    uint64_t last_us = from_us, longest_us = 0;
    for (size_t i = 0; i <= result->count; i++) {
        uint64_t next_us = i < result->count ? grants[i].answered_us : till_us;
        next_us = next_us > till_us ? till_us : next_us;
        if (next_us > last_us && next_us - last_us > longest_us)
            longest_us = next_us - last_us;
        last_us = next_us > last_us ? next_us : last_us;
    }
    free(grants);
    return longest_us / 1000;
}
