/* Which masters a call asks first, and when it asks others as well.
 *
 * A majority is all that a lock needs, so a majority is asked: the first of the active masters, or
 * those from the slot of the resource on. All servers so ask the same ones, and their counters stay
 * in step. Others are asked where one is slow, silent or refuses, or where the answers do not
 * settle it.
 *
 * This is as safe as asking all. A master that is not asked is one whose request was lost, and a
 * master that is asked later is one whose request was late. */
#ifndef FENCE_CORE_HEDGE_H
#define FENCE_CORE_HEDGE_H

#include "fence/core/state.h"

/* The masters that a call about @slot asks first. The other active ones are *@ret_spare. */
uint32_t core_hedge_first(const struct fence_core *core, uint16_t slot, uint32_t *ret_spare);

/* The masters in @spare that are to be tried now, beside those asked first. */
uint32_t core_hedge_tries(struct fence_core *core, uint32_t spare);

/* The round of @call asks @first now, and ends after @timeout_us. Where @hedged, its timer is due
 * before that, too: when those that have not answered are late. */
void core_hedge_begin(struct fence_core *core, struct call *call, uint32_t first, bool hedged,
                      uint64_t timeout_us);

/* The masters in @tries are tried in @round; and master @i answered a request of @round, which may
 * be over by now. */
void core_hedge_try(struct fence_core *core, uint32_t tries, uint64_t round);
void core_hedge_tried(struct fence_core *core, unsigned i, uint64_t round,
                      enum fence_reply_kind kind);

/* Master @i answered in the round of @call what it was asked first, or by a hedge, with a reply of
 * @kind. */
void core_hedge_answered(struct fence_core *core, const struct call *call, unsigned i,
                         enum fence_reply_kind kind);

/* Others were asked in the round of @call: its timer is due once they are late. */
void core_hedge_again(struct fence_core *core, const struct call *call);

/* The timer of @call is due. True: its round is over. False: those of @tally that owe an answer are
 * late. As many others are to be asked, which are *@ret_set. They are active; @tally drops those
 * that are not. */
bool core_hedge_timer(struct fence_core *core, struct call *call, struct fence_tally *tally,
                      uint32_t *ret_set);

#endif
