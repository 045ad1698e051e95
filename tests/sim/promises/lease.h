/* P2 at its root: a grant's validity lies within the leases that the masters gave. If no clock
 * and no master is ever out of order, a majority must have the lock until the end of it. */
#ifndef TESTS_SIM_PROMISES_LEASE_H
#define TESTS_SIM_PROMISES_LEASE_H

#include <stdint.h>

struct sim_world;
struct sim_call;

/* @call, an acquire or an extension, is answered: if granted, valid until @until_us, true time. */
void sim_lease_check(struct sim_world *world, const struct sim_call *call, uint64_t until_us);

#endif
