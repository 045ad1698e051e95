/* Rejoins: the reactions to replies and to the passing of time. */
#ifndef FENCE_REJOIN_REJOIN_H
#define FENCE_REJOIN_REJOIN_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

/* Handles a reply of master @i. */
void core_rejoin_reply(struct fence_core *core, unsigned i, const struct fence_rejoin_reply *reply);

/* When the next tick is due; and the tick. */
uint64_t core_rejoin_deadline(const struct fence_core *core);
void core_rejoin_tick(struct fence_core *core);

/* Ends a step: imports go on reading from masters that are back. */
void core_rejoin_go_on(struct fence_core *core);

#endif
