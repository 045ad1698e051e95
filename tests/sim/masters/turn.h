/* A turn of a simulated master: the rules of fence/master, over what its memory has. Resources,
 * lock ids, runs and lineages are numbers in its memory, and names for the rules. */
#ifndef TESTS_SIM_MASTERS_TURN_H
#define TESTS_SIM_MASTERS_TURN_H

#include "fence/master/store.h"
#include "tests/sim/masters/master.h"

struct sim_turn {
    struct fence_turn rules;
    struct sim_master *master;
    const struct sim_request *request;
    bool copy; /* the request is one */
    uint64_t local_us;
    struct sim_reply reply; /* the result of the request, as far as it is known */
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_ID_HEX_LEN + 1];
};

/* Begins the turn in which @master executes @request at @local_us by its own clock. A lease that
 * has run out is gone. @ret_turn must not move until sim_turn_end(). */
void sim_turn_begin(struct sim_turn *ret_turn, struct sim_master *master,
                    const struct sim_request *request, bool copy, uint64_t local_us);

/* Keeps the marker where the rules changed it. */
void sim_turn_end(struct sim_turn *turn);

#endif
