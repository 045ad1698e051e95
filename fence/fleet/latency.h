/* How long masters take to answer. From that follows when another master is asked as well (a hedge:
 * J. Dean and L. A. Barroso, "The Tail at Scale", 2013), and which masters are slow.
 *
 * A master that does not answer before the hedge has missed. After a few misses in a row the master
 * is slow: calls do not ask it first, but some calls ask it in addition, as a test. A few answers
 * in time end the slow state. Masters that calls do not ask first are tested, too, less often: so a
 * master that was slow from the start is found.
 *
 * At most one measurement is under way (RFC 7323, appendix G, is about more of them). Hundreds of
 * calls go to a master together, and are answered together. As so many measurements they would make
 * the deviation vanish, and the next batch that is a little larger would be hedged as a whole. */
#ifndef FENCE_FLEET_LATENCY_H
#define FENCE_FLEET_LATENCY_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* For one master. Times are microseconds. All zero: nothing is known. */
struct fence_latency {
    uint64_t mean_us;
    uint64_t deviation_us;
    uint64_t measured_us; /* when the last answer was: what was asked before tells nothing new, */
    uint64_t missed_us;   /* and the same of misses */
    unsigned misses;      /* in a row; of a slow master: answers in time that it still owes */
    bool slow;
    uint64_t trial_us;    /* when it was last tried, or found to be untried, */
    uint64_t trial_round; /* and in which round; 0: that was answered */
};

/* The master answered @took_us after it was asked, before the hedge. For a batch that is late in
 * part, what comes in time does not undo the miss. */
void fence_latency_answered(struct fence_latency *latency, uint64_t took_us, uint64_t now_us);

/* The master did not answer before the hedge, which came @waited_us after it was asked. So it takes
 * at least as long: under load hedges come later. */
void fence_latency_missed(struct fence_latency *latency, uint64_t waited_us, uint64_t now_us);

/* The master answered after the hedge, or where there was none. */
void fence_latency_answered_late(struct fence_latency *latency, uint64_t took_us, uint64_t now_us);

/* Reports whether a master that is not asked first is to be tried now; it then counts as tried. */
bool fence_latency_begin_trial(struct fence_latency *latency, uint64_t now_us);

/* The master answered what it was tried with, after @took_us; calls are hedged after @hedge_us. */
void fence_latency_end_trial(struct fence_latency *latency, uint64_t took_us, uint64_t hedge_us,
                             uint64_t now_us);

/* When a call is hedged, after it was asked: well beyond what the quickest masters that make a
 * majority take. @each has @n elements, one a master; @deadline_us is when a silent one counts as
 * gone. */
uint64_t fence_latency_hedge_us(const struct fence_latency *each, unsigned n, uint64_t deadline_us);

/* The set of slow masters. Empty where so many are slow that a majority is not: then the load is to
 * blame. */
uint32_t fence_latency_slow(const struct fence_latency *each, unsigned n);

#endif
