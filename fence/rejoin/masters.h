/* The core's news of masters: handshakes, lost connections, silence, newer views. Rejoins
 * under way only get a note. They act on it at the end of the step, so that no rejoin changes while
 * its own code runs. */
#ifndef FENCE_REJOIN_MASTERS_H
#define FENCE_REJOIN_MASTERS_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

/* In this order: a handshake with master @i ended. A probe found the positions that it was told. It
 * refused a request and told its view. Its connection ended. The masters in @set are abandoned. */
void core_learn(struct fence_core *core, unsigned i, const struct fence_facts *facts);
void core_hear_positions(struct fence_core *core, unsigned i, const struct fence_positions *heard,
                         int64_t writes);
void core_learn_view(struct fence_core *core, unsigned i, const struct fence_view *view);
void core_lose(struct fence_core *core, unsigned i, enum fence_reason reason);
void core_look_again(struct fence_core *core); /* at fence_fleet_telling_ends_us() */
void core_give_up(struct fence_core *core, uint32_t set, enum fence_reason reason);

/* Notes, at the end of a step, whether a member rejoined. It may have imported locks, which
 * nothing marks at the masters that had them before: they end with the longest lease. */
void core_note_imports(struct fence_core *core);

#endif
