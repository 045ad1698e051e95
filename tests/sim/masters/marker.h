/* A step of a rejoin and a restamp at a simulated master: the rules of fence/master/marker.h. A
 * file has no positions and no doubts: those rules are here. */
#ifndef TESTS_SIM_MASTERS_MARKER_H
#define TESTS_SIM_MASTERS_MARKER_H

#include "tests/sim/masters/master.h"

/* A server tells it positions, in a handshake or a probe. */
void sim_marker_hear(struct sim_marker *marker, const struct sim_request *request);

struct sim_reply sim_marker_rejoin(struct sim_master *master, const struct sim_request *request,
                                   uint64_t local_us);
struct sim_reply sim_marker_restamp(struct sim_master *master, const struct sim_request *request,
                                    uint64_t local_us);

#endif
