/* What read.lua and install.lua do: pages of one master's counters and locks, merged into another.
 * What is imported only stands in the way, but where so many had it that it proves something. */
#ifndef TESTS_SIM_MASTERS_IMPORT_H
#define TESTS_SIM_MASTERS_IMPORT_H

#include "tests/sim/masters/master.h"

/* A page of @master for the READ @rejoin, and where to go on. */
void sim_import_read(const struct sim_master *master, const struct sim_rejoin_request *rejoin,
                     uint64_t local_us, struct sim_reply *reply);

/* Merges @page, which master @source wrote. Commutative and idempotent. */
void sim_import_merge(struct sim_master *master, const struct sim_page *page, unsigned source,
                      uint64_t local_us);

/* @master is about to be admitted. */
void sim_import_end(struct sim_master *master);

/* Whether @lock proves something here: it is native, or so many masters had it. */
bool sim_import_counts(const struct sim_master *master, const struct sim_lock *lock);

#endif
