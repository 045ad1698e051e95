/* A survey asks a majority who holds each seat, in one round, and takes nothing. The findings are
 * hints: the attempt for a seat decides. Two kinds of calls make a survey:
 *
 * A call under the client's own lock id, before its first attempt. A client repeats an acquire
 * after an answer was lost, and gets the seat that its lock id has. A grant was on a majority, so a
 * survey that begins after it finds the seat. A request that is repeated while the first one is
 * under way at another server may take a second seat.
 *
 * A call that does not wait, and met another holder. It asks then for the seats alone that no
 * majority has under other lock ids, and is told at once where there are none. */
#ifndef FENCE_CALL_SURVEY_H
#define FENCE_CALL_SURVEY_H

#include "fence/call/rounds.h"

/* Reports whether @call has to survey the seats before an attempt. */
bool core_survey_due(const struct call *call);

/* Begins the survey of @call. The caller gave @call to the round below, and is told when the survey
 * is over. */
void core_survey_begin(struct fence_core *core, struct call *call);

/* The steps of its round (fence/call/rounds.h), but for the conclusion, which is the caller's. */
struct fence_tally *core_survey_tally(struct call *call);
void core_survey_count(struct fence_core *core, struct call *call, unsigned i,
                       const struct fence_reply *reply);
bool core_survey_wants_more(const struct call *call);
void core_survey_ask(struct fence_core *core, struct call *call, uint32_t set, uint32_t active);
void core_survey_give_up(struct call *call);

/* FENCE_EBUSY: the survey goes on. 0: a majority answered. FENCE_ENOQUORUM: none can any more. */
FENCE_CHECKED int core_survey_result(const struct call *call);

#endif
