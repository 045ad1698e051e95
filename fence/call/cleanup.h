/* Clean-ups of failed attempts. Each is sent, kept until acknowledged, and sent again where needed.
 */
#ifndef FENCE_CALL_CLEANUP_H
#define FENCE_CALL_CLEANUP_H

#include "fence/state/state.h"

/* @taken is undone: now on active masters, and on others when they are back. */
void core_undo(struct fence_core *core, const struct fence_taken *taken);

/* Master @i replied to a clean-up; and the next clean-up that is to be sent again goes out. */
void core_undo_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                     enum fence_reply_kind kind);
void core_undo_again(struct fence_core *core);

#endif
