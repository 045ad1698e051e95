/* The promises to those who watch a lock (fence/call/watch.h), held against the locks of all
 * masters:
 *
 *   T1  what a watch is told was so at some moment since its call came: a majority had the lock
 *       under that token, each at some moment, where masters that could not be heard count as if
 *       they had; or no majority had it under one lock id all the time;
 *   T2  what it is told is not what its client knows already, unless its wait is over;
 *   T3  a change that lasts is told within SIM_WATCH_BOUND_US, in worlds where nothing goes wrong
 *       but clients. */
#ifndef TESTS_SIM_PROMISES_WATCHED_H
#define TESTS_SIM_PROMISES_WATCHED_H

#include "tests/sim/promises/check.h"

struct sim_world;

enum {
    /* The looks of a server's clock: a look is due every FENCE_WATCH_US, one that finds masters
     * that differ is followed by another one, and each may take a round. */
    SIM_WATCH_BOUND_US = FENCE_WATCH_US + FENCE_WATCH_UNSETTLED_US + 2 * FENCE_MASTER_DEADLINE_US,
    SIM_SPANS_MAX = 512,
};

/* A machine had the lock of a resource under one number, or was free of it, from then until then,
 * in true time. */
struct sim_span {
    bool held;
    unsigned member;
    uint32_t resource;
    uint32_t lock;
    int64_t number;
    uint64_t from_us;
    uint64_t until_us;   /* end of one that has ended */
    uint64_t expires_us; /* on the machine's own clock */
};

struct sim_watched {
    struct sim_span now[SIM_MACHINES_MAX][SIM_RESOURCES_MAX];
    struct sim_span ended[SIM_SPANS_MAX]; /* the latest, in a ring */
    uint32_t ended_count;
    uint64_t forgotten_us; /* spans that ended until then may be missing */
};

void sim_watched_init(struct sim_watched *watched);

/* The lock of @resource on @machine may have changed. */
void sim_watched_note(struct sim_world *world, unsigned machine, uint32_t resource);

/* The call @call comes to its server; has its answer; its server crashed. */
void sim_watched_come(struct sim_world *world, struct sim_call *call);
void sim_watched_answered(struct sim_world *world, struct sim_call *call,
                          const struct fence_answer *answer);
void sim_watched_dropped(struct sim_world *world, struct sim_call *call);

#endif
