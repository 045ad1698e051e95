/* The way of a call through a round, whatever the round asks. The round asks the first
 * masters. The round asks a spare master where another master is late, or where the answers do not
 * settle the round. The round counts each answer, and the call concludes. If the fleet has another
 * view by then, the call restarts, or the round asks no more masters. fence/round/round.h says
 * which masters a round asks first, and fence/round/hedge.h when it asks another master. */
#ifndef FENCE_CALL_ROUNDS_H
#define FENCE_CALL_ROUNDS_H

#include "fence/state/state.h"

/* The steps of a kind of round. */
struct core_round_kind {
    /* The tally of the round under way. */
    struct fence_tally *(*tally)(struct call *call);

    /* Master @i refused the view that it was named, and the core has learnt the view of @i. True:
     * the call restarted, or asked @i again. NULL: the refusal is an answer like any other. */
    bool (*view_refused)(struct fence_core *core, struct call *call, unsigned i);

    /* Counts the answer of master @i. */
    void (*count)(struct fence_core *core, struct call *call, unsigned i,
                  const struct fence_reply *reply);

    /* Reports whether the answers of all that were asked cannot settle the round. NULL: never. */
    bool (*wants_more)(const struct call *call);

    /* The view that the round keeps to has ended, and the masters in @set were to be asked. True:
     * the call restarted. False: the round goes on, and asks no more masters. NULL: the round
     * keeps to no view. */
    bool (*view_ended)(struct fence_core *core, struct call *call, uint32_t set);

    /* Asks the spare masters in @set, which may be empty. Only masters in @active may be asked for
     * more than that. NULL: the round asks all masters first. */
    void (*ask)(struct fence_core *core, struct call *call, uint32_t set, uint32_t active);

    /* The round is over: a master that owes an answer counts as timed out. */
    void (*give_up)(struct call *call);

    /* Acts on what is certain by now. */
    void (*conclude)(struct fence_core *core, struct call *call);
};

/* A round of @call begins: its requests get their own serial, and it keeps to the view of
 * now. */
void core_round_new(struct fence_core *core, struct call *call);

/* The masters in @first are asked now; see fence_round_begin(). */
void core_round_begin(struct fence_core *core, struct call *call, uint32_t first, bool hedged,
                      uint64_t timeout_us);

/* Masters were asked another thing in the round of @call: its timer is due once they are late. */
void core_round_asked_again(struct fence_core *core, struct call *call);

/* Master @i replied in the round of @call; or the timer of that round is due. */
void core_round_reply(struct fence_core *core, struct call *call,
                      const struct core_round_kind *kind, unsigned i,
                      const struct fence_reply *reply);
void core_round_timer(struct fence_core *core, struct call *call,
                      const struct core_round_kind *kind);

#endif
