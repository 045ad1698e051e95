/* The core's news of masters: handshakes, lost connections, silence, newer views. For a rejoin
 * under way the news is only noted. The rejoin acts on the note at the end of the step, so that no
 * rejoin changes while its own code runs. */
#ifndef FENCE_REJOIN_MASTERS_H
#define FENCE_REJOIN_MASTERS_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

/* In this order: a handshake with master @i ended. A probe of master @i found the positions that
 * servers sent to it. Master @i refused a request and answered its view. The connection of master
 * @i ended. The core abandons the masters in @set. */
void core_learn(struct fence_core *core, unsigned i, const struct fence_facts *facts);
void core_hear_positions(struct fence_core *core, unsigned i, const struct fence_positions *heard,
                         int64_t writes);
void core_learn_view(struct fence_core *core, unsigned i, const struct fence_view *view);
void core_lose(struct fence_core *core, unsigned i, enum fence_reason reason);
void core_look_again(struct fence_core *core); /* call it at fence_fleet_telling_ends_us() */
void core_give_up(struct fence_core *core, uint32_t set, enum fence_reason reason);

/* Notes, at the end of a step, whether a member rejoined. The member may have imported locks.
 * Nothing marks these locks at the masters that had them before: they end with the longest
 * lease. */
void core_note_imports(struct fence_core *core);

#endif
