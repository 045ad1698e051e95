/* Promises about names that stay closed.
 *
 *   K1  no other caller is granted a lock in its delay, which follows the validity of its last
 * holder. Nor for as long as its holder keeps it closed, where the release was answered. Both where
 * no clock and no master is out of order. A release, or a break, opens a lock with a delay; K2  a
 * release that keeps nothing leaves no lock on a master that did it; K3  a release that keeps a
 * lock closed never lengthens it. */
#ifndef TESTS_SIM_PROMISES_CLOSED_H
#define TESTS_SIM_PROMISES_CLOSED_H

#include "tests/sim/masters/master.h"
#include "tests/sim/world/message.h"

struct sim_check;
struct sim_call;
struct sim_world;

/* For one resource. */
struct sim_closed {
    uint32_t lock;     /* to whom it is closed not, */
    uint64_t until_us; /* true time; 0: it is open */
};

/* The delay of a lock, and how long its release keeps it closed. Each is the same for all calls
 * with that lock id, and 0 for most, and where the world has no such locks. */
uint32_t sim_closed_delay_ms(const struct sim_world *world, uint32_t lock);
uint32_t sim_closed_keep_ms(const struct sim_world *world, uint32_t lock);

/* @call was granted, or extended, and is valid until @until_us. */
void sim_closed_granted(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                        uint64_t until_us);

/* The holder of @lock is about to send the release @call. */
void sim_closed_leaves(struct sim_check *check, struct sim_call *call, uint64_t now_us);

/* The release @call was answered: the lock was held until then. */
void sim_closed_left(struct sim_check *check, const struct sim_call *call);

/* Somebody is about to ask for a break. */
void sim_closed_opens(struct sim_check *check, uint32_t resource);

/* @machine did @request. @before: its lock until then. */
void sim_closed_executed(struct sim_world *world, unsigned machine,
                         const struct sim_lock_request *request, const struct sim_reply *reply,
                         const struct sim_lock *before);

#endif
