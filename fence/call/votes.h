/* The common part of extend, release and inspect: masters vote in one round
 * (fence/round/quorum_call.h). */
#ifndef FENCE_CALL_VOTES_H
#define FENCE_CALL_VOTES_H

#include "fence/call/rounds.h"

/* The round of @call begins, which asks what a call of @kind asks: the masters in @first are to be
 * asked, those in @spare may be. */
void core_vote_begin(struct fence_core *core, struct call *call, enum fence_call_kind kind,
                     uint32_t first, uint32_t spare);

/* The same with the majority that is best asked first, and returns it. */
uint32_t core_vote_begin_majority(struct fence_core *core, struct call *call, uint32_t *ret_spare);

/* The steps of the round (fence/call/rounds.h). */
struct fence_tally *core_vote_tally(struct call *call);
void core_vote_count(struct fence_core *core, struct call *call, unsigned i,
                     const struct fence_reply *reply);
bool core_vote_wants_more(const struct call *call);
void core_vote_give_up(struct call *call);

/* An answer to @call, with what each master said. The caller completes it before the step ends. */
struct fence_answer *core_vote_answer(struct fence_core *core, const struct call *call, int error);

/* The error of a call that ends with @verdict, and with an answer where that is certain. */
int core_vote_error(const struct call *call, enum fence_verdict verdict);

#endif
