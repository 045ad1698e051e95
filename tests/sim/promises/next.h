/* W5: a master keeps a released lock for one waiter, for FENCE_NEXT_MS at most. That waiter has the
 * lowest ticket of the waiters that were told that the lock is held. Another waiter does not take
 * the lock in that time. A waiter that takes the lock ends the time. No other caller is held back.
 *
 * The promise is about one master. It is looked at where no clock of a master jumps: what a master
 * knows of the waiters depends on its clock. */
#ifndef TESTS_SIM_PROMISES_NEXT_H
#define TESTS_SIM_PROMISES_NEXT_H

#include "tests/sim/world/message.h"

struct sim_world;

/* Reports whether the lock that @request wants is free at @machine, which is about to execute it.
 */
bool sim_next_is_free(const struct sim_world *world, unsigned machine,
                      const struct sim_lock_request *request);

/* @machine answered @request with @reply. @was_free: sim_next_is_free() before that. */
void sim_next_executed(struct sim_world *world, unsigned machine,
                       const struct sim_lock_request *request, const struct sim_reply *reply,
                       bool was_free);

#endif
