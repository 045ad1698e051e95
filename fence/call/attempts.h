/* The attempts of a call: what masters are sent, first and later, and when. The consequences of a
 * finished attempt are those of its caller's. */
#ifndef FENCE_CALL_ATTEMPTS_H
#define FENCE_CALL_ATTEMPTS_H

#include "fence/state/state.h"

/* The state of an acquire of several; NULL: @call is of one. */
struct core_group_call *core_group_of(const struct fence_core *core, const struct call *call);

/* Begins an attempt of @call, and asks. It has FAILED where too few can be asked. */
void core_attempt_begin(struct fence_core *core, struct call *call);

/* The steps of its round (fence/call/rounds.h), but for the conclusion, which is the caller's: the
 * attempt may be WON or FAILED then. */
struct fence_tally *core_attempt_tally(struct call *call);
void core_attempt_count(struct fence_core *core, struct call *call, unsigned i,
                        const struct fence_reply *reply);
bool core_attempt_wants_more(const struct call *call);
bool core_attempt_view_ended(struct fence_core *core, struct call *call, uint32_t set);
void core_attempt_ask(struct fence_core *core, struct call *call, uint32_t set, uint32_t active);
void core_attempt_give_up(struct call *call);

/* The members of a struct core_round_kind whose round is an attempt. */
#define CORE_ATTEMPT_STEPS                                                                         \
    .tally = core_attempt_tally, .count = core_attempt_count,                                      \
    .wants_more = core_attempt_wants_more, .view_ended = core_attempt_view_ended,                  \
    .ask = core_attempt_ask, .give_up = core_attempt_give_up

/* The lease that a grant may count on. */
uint32_t core_attempt_lease_ms(const struct call *call);

/* It is WON, and its grant is given: keeps what was learnt, and frees masters that do not count. */
void core_attempt_settle(struct fence_core *core, const struct call *call);

/* Undoes what it may hold, also where no answer came. The request names the attempt, so it
 * cannot undo what a later attempt was granted. */
void core_attempt_undo(struct fence_core *core, const struct call *call);

#endif
