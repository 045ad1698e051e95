/* Taking masters back: what the replies to the steps of a rejoin lead to, and time. */
#ifndef FENCE_CORE_REJOIN_H
#define FENCE_CORE_REJOIN_H

#include "fence/core/state.h"

/* Master @i replied. */
void fence_core_rejoin_reply(struct fence_core *core, unsigned i,
                             const struct fence_rejoin_reply *reply);

/* When the next tick is due; time went by. */
uint64_t fence_core_rejoin_deadline(const struct fence_core *core);
void fence_core_rejoin_tick(struct fence_core *core);

/* At the end of each step: where masters are back, they may be read on. */
void fence_core_rejoin_go_on(struct fence_core *core);

#endif
