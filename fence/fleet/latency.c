#include "fence/fleet/latency.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>

/* Mean and deviation as in RFC 6298, section 2: an eighth and a quarter of what is new. */
enum {
    MEAN_PART = 8,
    DEVIATION_PART = 4,
    DEVIATIONS = 4,
    MARGIN = 2, /* a hedge costs the masters more than it costs a call to come later */
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void take_sample(struct fence_latency *latency, uint64_t took_us)
{
    if (latency->mean_us == 0) {
        latency->mean_us = took_us;
        latency->deviation_us = took_us / 2;
    } else {
        uint64_t error_us = apart(latency->mean_us, took_us);
        latency->deviation_us += error_us / DEVIATION_PART - latency->deviation_us / DEVIATION_PART;
        latency->mean_us += took_us / MEAN_PART - latency->mean_us / MEAN_PART;
    }
}

/* Unless it was asked before the last measurement: then it went along with that. True: it did not.
 */
static bool measure_answer(struct fence_latency *latency, uint64_t took_us, uint64_t now_us)
{
    if (now_us - took_us < latency->measured_us)
        return false;
    take_sample(latency, took_us);
    latency->measured_us = now_us;
    return true;
}

void fence_latency_answered(struct fence_latency *latency, uint64_t took_us, uint64_t now_us)
{
    const bool asked_after_the_miss = now_us - took_us >= latency->missed_us;
    if (!measure_answer(latency, took_us, now_us) || !asked_after_the_miss)
        return;
    if (!latency->slow)
        latency->misses = 0;
    else if (--latency->misses == 0)
        latency->slow = false;
}

void fence_latency_answered_late(struct fence_latency *latency, uint64_t took_us, uint64_t now_us)
{
    (void)measure_answer(latency, took_us, now_us);
}

void fence_latency_missed(struct fence_latency *latency, uint64_t waited_us, uint64_t now_us)
{
    if (now_us - waited_us < latency->missed_us)
        return; /* asked along with one that missed */
    take_sample(latency, waited_us);
    latency->missed_us = now_us;
    if (latency->slow) {
        latency->misses = FENCE_SLOW_MISSES;
        return;
    }
    if (++latency->misses < FENCE_SLOW_MISSES)
        return;
    latency->slow = true;
    latency->trial_us = now_us;
}

bool fence_latency_begin_trial(struct fence_latency *latency, uint64_t now_us)
{
    const bool unknown = latency->slow || latency->measured_us == 0;
    const uint64_t rest_us = unknown ? FENCE_SLOW_TRIAL_US : FENCE_SPARE_TRIAL_US;
    if (!unknown && now_us - latency->measured_us < rest_us)
        return false;
    const bool first = latency->trial_us == 0;
    if (!first && now_us - latency->trial_us < rest_us)
        return false;
    latency->trial_us = now_us;
    return !first;
}

void fence_latency_end_trial(struct fence_latency *latency, uint64_t took_us, uint64_t hedge_us,
                             uint64_t now_us)
{
    latency->trial_round = 0;
    if (took_us <= hedge_us)
        fence_latency_answered(latency, took_us, now_us);
    else
        fence_latency_answered_late(latency, took_us, now_us);
    if (took_us > hedge_us && latency->slow)
        latency->misses = FENCE_SLOW_MISSES;
}

static uint64_t expected_us(const struct fence_latency *latency)
{
    return MARGIN * (latency->mean_us + DEVIATIONS * latency->deviation_us);
}

/* The majority-th shortest, so that slow masters make no caller wait longer. */
uint64_t fence_latency_hedge_us(const struct fence_latency *each, unsigned n, uint64_t deadline_us)
{
    assert(n > 0 && n <= FENCE_MASTERS_MAX);
    uint64_t least_us = deadline_us * FENCE_HEDGE_MOST_PERCENT / 100;
    for (unsigned i = 0; i < n; i++) {
        unsigned shorter = 0;
        for (unsigned j = 0; j < n; j++)
            shorter += each[j].mean_us > 0 && expected_us(&each[j]) <= expected_us(&each[i]);
        if (each[i].mean_us > 0 && shorter >= fence_majority(n) && expected_us(&each[i]) < least_us)
            least_us = expected_us(&each[i]);
    }
    return least_us > FENCE_HEDGE_LEAST_US ? least_us : FENCE_HEDGE_LEAST_US;
}

uint32_t fence_latency_slow(const struct fence_latency *each, unsigned n)
{
    uint32_t slow = 0;
    for (unsigned i = 0; i < n; i++)
        slow |= (uint32_t)each[i].slow << i;
    return fence_set_count(slow) < fence_blocking(n) ? slow : 0;
}
