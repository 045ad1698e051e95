/* The core: the whole protocol as one state machine.
 *
 *     fence_step(core, event, effects)
 *
 * An event tells the core the time and what happened; the effects tell the caller what to do. The
 * core knows no socket, no clock and no thread, and allocates nothing in a step. The server, the
 * simulator and the fuzzers drive the same code. Not thread-safe: one core belongs to one loop. */
#ifndef FENCE_CORE_H
#define FENCE_CORE_H

#include "fence/state/event.h"

struct fence_core;

/* Allocates all memory that the core will ever use. FENCE_EINVAL (a bound of @config),
 * FENCE_ENOMEM. */
FENCE_CHECKED int fence_core_new(const struct fence_config *config, struct fence_core **ret_core);
void fence_core_free(struct fence_core *core);

/* Does one step. Empties @effects, then fills it; act on the effects in order. */
void fence_step(struct fence_core *core, const struct fence_event *event,
                struct fence_effects *effects);

/* Returns when the next TICK is due; FENCE_NEVER: none is. A tick does a bounded part of the due
 * work, so the result may still lie in the past after a tick: tick again. */
uint64_t fence_core_deadline(const struct fence_core *core);

/* Returns the core's view of the masters, for status pages and for the view in scripts. Valid until
 * the next step. */
const struct fence_fleet *fence_core_fleet(const struct fence_core *core);

/* Return the number of calls under way (0: the service is idle), and the number of acquires that
 * may wait among them. */
unsigned fence_core_calls(const struct fence_core *core);
unsigned fence_core_waiting(const struct fence_core *core);

/* Returns the number of clean-ups that some master has not acknowledged. */
unsigned fence_core_cleanups(const struct fence_core *core);

/* Returns the counts of the core since it began; valid as long as the core. */
const struct fence_counts *fence_core_counts(const struct fence_core *core);

/* Asserts the invariants of the whole core. O(calls): for tests, between two steps. */
void fence_core_check(const struct fence_core *core);

#endif
