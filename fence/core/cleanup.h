/* Clean-ups of attempts that came to nothing: told, remembered until acknowledged, told again. */
#ifndef FENCE_CORE_CLEANUP_H
#define FENCE_CORE_CLEANUP_H

#include "fence/core/state.h"

/* Has @taken undone: now where a master is active, else when it is back. */
void fence_core_undo(struct fence_core *core, const struct fence_taken *taken);

/* Master @i replied to a clean-up; the next of those to be told again. */
void fence_core_undo_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                           enum fence_reply_kind kind);
void fence_core_undo_again(struct fence_core *core);

#endif
