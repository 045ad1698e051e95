/* When a round asks another master, since one is late: the hedge. And what the round learns about
 * masters that are late: how long each takes to answer (fence/fleet/latency.h), and whether a slow
 * one may be asked first again, which a trial shows. */
#ifndef FENCE_ROUND_HEDGE_H
#define FENCE_ROUND_HEDGE_H

#include "fence/round/round.h"

/* The masters in @first are asked now, and the round ends after @timeout_us. Returns when its timer
 * is due: where @hedged, once the masters that have not answered are late. */
FENCE_CHECKED uint64_t fence_round_begin(struct fence_round *round,
                                         const struct fence_round_masters *masters, uint32_t first,
                                         bool hedged, uint64_t timeout_us);

/* When the timer of the round is due, if the masters that are asked now may be late, too. */
uint64_t fence_round_hedge_us(const struct fence_round *round,
                              const struct fence_round_masters *masters);

/* The timer is due, and the round is not over: the masters that owe @tally an answer are late. The
 * tally drops inactive masters. Returns the set of spare masters to ask now, as many as are late,
 * and *@ret_due_us: when the timer is due next. */
uint32_t fence_round_hedge(struct fence_round *round, const struct fence_round_masters *masters,
                           struct fence_tally *tally, uint16_t slot, uint64_t *ret_due_us);

/* Master @i answered what it was asked first, or by a hedge, with a reply of @kind. */
void fence_round_answered(const struct fence_round *round,
                          const struct fence_round_masters *masters, unsigned i,
                          enum fence_reply_kind kind);

/* The masters in @spare that are to be tried now, beside those asked first; and master @i answered
 * a request of the round @serial, which may be over by now, with a reply of @kind. */
uint32_t fence_round_begin_trials(const struct fence_round_masters *masters, uint32_t spare,
                                  uint64_t serial);
void fence_round_end_trial(const struct fence_round_masters *masters, unsigned i, uint64_t serial,
                           enum fence_reply_kind kind);

#endif
