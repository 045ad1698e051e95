/* The core: the whole protocol as one state machine.
 *
 *     fence_step(core, event, effects)
 *
 * It is told the time and what happened, and answers with what to do. It knows no socket, no clock
 * and no thread, and allocates nothing in a step. The server, the simulator and the fuzzers drive
 * the same code. Not thread-safe: one core belongs to one loop. */
#ifndef FENCE_CORE_H
#define FENCE_CORE_H

#include "fence/state/event.h"

struct fence_core;

/* Allocates all that the core will ever use. FENCE_EINVAL (a bound of @config), FENCE_ENOMEM. */
FENCE_CHECKED int fence_core_new(const struct fence_config *config, struct fence_core **ret_core);
void fence_core_free(struct fence_core *core);

/* One step. @effects is emptied, then filled; act on them in order. */
void fence_step(struct fence_core *core, const struct fence_event *event,
                struct fence_effects *effects);

/* When the next TICK is due; FENCE_NEVER for none. A tick does a bounded part of what is due, so
 * after it this may still lie in the past: tick again. */
uint64_t fence_core_deadline(const struct fence_core *core);

/* The core's view of the masters; for status pages, and for naming the view in scripts. Valid
 * until the next step. */
const struct fence_fleet *fence_core_fleet(const struct fence_core *core);

/* How many calls are under way, 0 when the service is idle; and how many of them are acquires that
 * may wait. */
unsigned fence_core_calls(const struct fence_core *core);
unsigned fence_core_waiting(const struct fence_core *core);

/* How many clean-ups are not yet acknowledged by all masters that may have to do them. */
unsigned fence_core_cleanups(const struct fence_core *core);

/* Counts of the core since it began; valid as long as the core. */
const struct fence_counts *fence_core_counts(const struct fence_core *core);

/* Asserts the invariants of the whole core. O(calls): for tests, between two steps. */
void fence_core_check(const struct fence_core *core);

#endif
