/* The operator who makes a fleet, or has one go on that lost its majority: the real bootstrap
 * (fence/bootstrap), step by step, on masters that fail meanwhile.
 *
 *   operator --request--> [lost, late, copied] --> master --reply--> [lost] --> bootstrap
 *
 * A run that breaks off is made again. Its last sentence says how. In some worlds a
 * second operator begins while the first is at it. */
#ifndef TESTS_SIM_WORLD_OPERATOR_H
#define TESTS_SIM_WORLD_OPERATOR_H

#include "fence/bootstrap/bootstrap.h"
#include "tests/sim/world/clock.h"
#include "tests/sim/world/heap.h"
#include "tests/sim/world/message.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>

struct sim_world;

enum {
    SIM_OPERATORS = 2,
    SIM_OPERATOR_COPIES = 16, /* for requests, on their way at a time */
};

struct sim_operator {
    struct sim_clock clock;
    bool needed;    /* the work that it began for is not done */
    bool goes_on;   /* it wants a token floor; else a new fleet */
    bool tries_new; /* this run is a mistake: a new fleet where an older one was */
    unsigned tries;
    uint32_t turn; /* an event of an earlier one is of no use */
    struct fence_bootstrap bootstrap;
    struct fence_bootstrap_effect effect;
    struct sim_reply reply;
    struct {
        unsigned machine; /* at the other end of its connection, */
        uint32_t run;     /* and which process there */
    } link[FENCE_MASTERS_MAX];
};

struct sim_operators {
    struct sim_rng rng;
    struct sim_operator one[SIM_OPERATORS];
    int64_t named;   /* the highest floor that a run named: both know it */
    unsigned copies; /* made so far */
    struct sim_copy {
        struct sim_request request;
        unsigned machine;
    } copy[SIM_OPERATOR_COPIES];
};

/* A new history; no run begins yet. */
void sim_operators_init(struct sim_world *world, uint64_t seed);

/* An operator begins. @goes_on: with a token floor; else it makes a new fleet. */
void sim_operator_begin(struct sim_world *world, bool goes_on);

/* Reports whether some operator has still to come to its end. */
bool sim_operators_are_busy(const struct sim_world *world);

/* Acts on BOOTSTRAP. */
void sim_operator_act(struct sim_world *world, const struct sim_event *event);

#endif
