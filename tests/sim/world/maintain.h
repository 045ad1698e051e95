/* Maintenance, after healing: a lock is kept by extension, while each master in turn is replaced by
 * an empty one. Its holder must never hear that it is lost, or that no process knows.
 *
 * That holds of a lock that all masters gave under its token or a lower number. If one gave a
 * higher number, the lock is had by fewer masters from the beginning, and may be by too few. */
#ifndef TESTS_SIM_WORLD_MAINTAIN_H
#define TESTS_SIM_WORLD_MAINTAIN_H

#include "tests/sim/world/message.h"

struct sim_world;
struct sim_call;

enum {
    SIM_MAINTAIN = 200, /* in the place of a client */
    SIM_MAINTAIN_US = 20 * 1000 * 1000,
};

struct sim_maintain {
    struct sim_set set;
    uint32_t lock;
    unsigned next;    /* master to be replaced */
    unsigned tries;   /* grants that no majority agreed to at once */
    unsigned unknown; /* extensions in a row that came to no end: the client asks again */
    bool agreed;
    unsigned turns;
    bool over;
};

/* Takes the lock. */
void sim_maintain_begin(struct sim_world *world);

/* Time to extend it, and perhaps to replace the next master. */
void sim_maintain_go_on(struct sim_world *world);

/* @call, which was made here, has its answer. */
void sim_maintain_answered(struct sim_world *world, const struct sim_call *call);

/* All must have been replaced by now. */
void sim_maintain_check(struct sim_world *world);

#endif
