/* The answer of a master to a listing: a step of a scan over its locks, and whose they are.
 *
 * The locks stand in a table of buckets, in another order in each process. A step gives whole
 * buckets. The table is resized now and then; the cursor counts with its bits reversed, so that
 * nothing is missed by that, though some may be given again (as storage/redis/ finds it). */
#ifndef TESTS_SIM_MASTERS_SCAN_H
#define TESTS_SIM_MASTERS_SCAN_H

#include "tests/sim/world/message.h"

struct sim_master;

enum {
    SIM_TABLE_BITS_MAX = 2, /* bits of the number of a bucket */
};

/* A step of @request over the table of @master, which has 2 to the power of @bits buckets now. */
struct sim_scan_reply sim_scan_step(const struct sim_master *master, unsigned bits,
                                    const struct sim_scan_request *request, uint64_t now_us);

/* Under whose ids the locks of @request stand. */
struct sim_scan_reply sim_scan_holders(const struct sim_master *master,
                                       const struct sim_scan_request *request, uint64_t now_us);

#endif
