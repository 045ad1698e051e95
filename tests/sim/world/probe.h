/* The world itself asks, after healing: each lock must be free, and found again by who has it at
 * another server; and those who want several at once, of which each is wanted by another too, must
 * all get them in turn. */
#ifndef TESTS_SIM_WORLD_PROBE_H
#define TESTS_SIM_WORLD_PROBE_H

#include "tests/sim/world/message.h"

struct sim_world;
struct sim_call;

enum {
    /* In the place of a client: whose answer is of no interest, and the first of the probes. */
    SIM_NUDGE = 128,
    SIM_PROBE = 129,

    SIM_PROBE_US = 1000 * 1000,             /* how long the probe of one resource may take, */
    SIM_PROBE_GROUPS_US = 22 * 1000 * 1000, /* and that of groups */
};

struct sim_probe {
    struct sim_set set;
    uint32_t lock;
    unsigned at;    /* index in the set, which is released next */
    bool has_found; /* it asked again, and was told that it has the lock */
};

/* Asks server @s something, whatever the answer. */
void sim_probe_nudge(struct sim_world *world, unsigned s);

/* Takes the lock of @resource, with the longest lease there is; and a moment later again. */
void sim_probe_one(struct sim_world *world, uint32_t resource);
void sim_probe_again(struct sim_world *world, uint32_t resource);

/* Takes several at each server, and waits for them. */
void sim_probe_groups(struct sim_world *world);

/* @call, not of a client, has its answer. */
void sim_probe_answered(struct sim_world *world, const struct sim_call *call);

#endif
