/* What storage/redis/lua/locks.lua and seldom.lua do to the locks of a master, as data. */
#ifndef TESTS_SIM_MASTERS_LOCKS_H
#define TESTS_SIM_MASTERS_LOCKS_H

#include "tests/sim/masters/master.h"

/* Executes @request, whose view stands, at @local_us by the master's own clock. @copy: it is one.
 */
struct sim_reply sim_locks_execute(struct sim_master *master,
                                   const struct sim_lock_request *request, bool copy,
                                   uint64_t local_us);

#endif
