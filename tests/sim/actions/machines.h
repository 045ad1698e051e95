/* Parts of what is written of machines (machines.c, rejoins.c). */
#ifndef TESTS_SIM_ACTIONS_MACHINES_H
#define TESTS_SIM_ACTIONS_MACHINES_H

#include "tests/sim/actions/actions.h"
#include "tests/sim/masters/master.h"

/* Reports whether the model has @lock, too: it is under a lock id of a client. */
static inline bool sim_actions_is_shown(const struct sim_lock *lock)
{
    return lock->present && lock->lock < SIM_CALLS_MAX;
}

/* An action that names nothing but the machine. */
void sim_actions_write_plain(struct sim_actions *actions, const char *word,
                             const struct sim_shown *shown);

/* The machine has done a step of a rejoin; it was restamped. */
void sim_actions_stepped(struct sim_world *world, unsigned machine,
                         const struct sim_request *request, const struct sim_reply *reply);
void sim_actions_restamped(struct sim_world *world, unsigned machine);

#endif
