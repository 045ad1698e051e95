/* The scripts that read and write a master's marker: who may ask it what, and how it is taken back.
 * Each is wholly done or not at all. */
#ifndef TESTS_SIM_MASTERS_MARKER_H
#define TESTS_SIM_MASTERS_MARKER_H

#include "tests/sim/masters/master.h"

/* Whether @master votes under the view that @request names: if so 0, after it has learnt what the
 * view knows better; else FENCE_REPLY_STALE, or FENCE_REPLY_REFUSED. */
int sim_marker_check_view(struct sim_master *master, const struct sim_request *request);

/* A server tells it positions, in a handshake or a probe. */
void sim_marker_hear(struct sim_marker *marker, const struct sim_request *request);

struct sim_reply sim_marker_rejoin(struct sim_master *master, const struct sim_request *request,
                                   uint64_t local_us);
struct sim_reply sim_marker_restamp(struct sim_master *master, const struct sim_request *request);

#endif
