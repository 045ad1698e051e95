/* Writers: acquires of all seats of a name (fence/protocol/seat.h). Such a call is an acquire of
 * the gate first, in the queue of the gate. Once it has the gate it leaves that queue, and is an
 * acquire of several: of all seats. Meanwhile the next writer of this server waits for the gate.
 *
 * The gate is extended while its writer waits for readers that came before, by requests that no
 * call answers to: exclusion does not rest on it. A writer that fails releases it. One that is
 * granted keeps it, and extends and releases it with the seats. */
#ifndef FENCE_CALL_WRITER_GATE_H
#define FENCE_CALL_WRITER_GATE_H

#include "fence/state/state.h"

/* The attempt of @call for the gate is WON. It asks for the seats from here on: its next attempt is
 * the caller's to begin. False: too many groups are under way, and nothing was done. */
FENCE_CHECKED bool core_gate_pass(struct fence_core *core, struct call *call);

/* Extends the gate of @call, which has it, unless that was done a moment ago. */
void core_gate_extend(struct fence_core *core, struct call *call);

/* Releases the gate of the name that @resource begins with, if @lock_id has it. */
void core_gate_release(struct fence_core *core, const char *resource, const char *lock_id);

/* The token of a writer: the greatest of those of its seats. */
int64_t core_gate_token(const struct fence_group *seats);

#endif
