/* A request about locks at a simulated master: the rules of fence/master/requests.h. */
#ifndef TESTS_SIM_MASTERS_REQUESTS_H
#define TESTS_SIM_MASTERS_REQUESTS_H

#include "tests/sim/masters/master.h"

/* Executes @request at @local_us by the master's own clock. @copy: it is one. */
struct sim_reply sim_requests_execute(struct sim_master *master, const struct sim_request *request,
                                      bool copy, uint64_t local_us);

#endif
