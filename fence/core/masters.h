/* What the core learns of masters: handshakes, lost connections, silence, newer views. Rejoins
 * under way are only told. They go on at the end of the step, so that none changes under its own
 * walk. */
#ifndef FENCE_CORE_MASTERS_H
#define FENCE_CORE_MASTERS_H

#include "fence/core/state.h"

/* A handshake with master @i ended, it refused for a view, its connection ended; those in @set are
 * to be given up. */
void fence_core_learn(struct fence_core *core, unsigned i, const struct fence_facts *facts);
void fence_core_learn_view(struct fence_core *core, unsigned i, const struct fence_view *view);
void fence_core_lose(struct fence_core *core, unsigned i, enum fence_reason reason);
void fence_core_give_up(struct fence_core *core, uint32_t set, enum fence_reason reason);

#endif
