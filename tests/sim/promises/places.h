/* The places that a server must keep, for W1 (waiters.h): a waiter that leaves without a grant, and
 * asks again with its own lock id within FENCE_PLACE_KEPT_US on the server's clock, stands where it
 * stood. It is written down as plainly as can be, and not as the core does. */
#ifndef TESTS_SIM_PROMISES_PLACES_H
#define TESTS_SIM_PROMISES_PLACES_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_world;
struct sim_call;

enum {
    SIM_PLACES_MAX = 64, /* at least as many as a core takes calls at a time */
};

struct sim_places {
    uint64_t ranks;           /* the latest */
    uint64_t claims_until_us; /* 0: none waited yet */
    uint32_t count;
    struct sim_place {
        uint32_t lock;
        uint32_t resource;
        uint64_t rank;
        uint32_t present; /* waiters */
        uint64_t left_us; /* by the server's clock */
        bool granted;
    } places[SIM_PLACES_MAX]; /* those whose waiters are away in the order in which they left */
};

/* @call comes to its server, where @waiting calls wait then. Returns its rank: a lower one stands
 * before a higher one. One of several takes the room of a place, and has none. */
uint64_t sim_places_come(struct sim_world *world, const struct sim_call *call, uint32_t waiting);

/* @call, which came, has its answer. */
void sim_places_leave(struct sim_world *world, const struct sim_call *call);

#endif
