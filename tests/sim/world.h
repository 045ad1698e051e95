/* One world: servers, masters, clients and what is between them, under one clock and one seed.
 *
 *   clients --calls--> servers (the real core) --requests--> network --> masters
 *
 * Everything that happens is an event on one heap; the next one is taken, acted on and checked
 * until nothing is left to do. A world is large and is used again for the next seed. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "tests/sim/account.h"
#include "tests/sim/chaos.h"
#include "tests/sim/check.h"
#include "tests/sim/client.h"
#include "tests/sim/heap.h"
#include "tests/sim/link.h"
#include "tests/sim/master.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/server.h"
#include "tests/sim/stats.h"
#include "tests/sim/trace.h"

struct sim_world {
    uint64_t now_us; /* true time */
    bool over;
    struct sim_trace trace;
    struct sim_stats stats; /* summed over all seeds of this world */
    struct sim_plan plan;
    struct sim_chaos chaos;
    struct sim_rng rng; /* what clients do */
    struct sim_heap heap;
    struct sim_check check;
    struct sim_network network;
    struct sim_link links[SIM_SERVERS_MAX][FENCE_MASTERS_MAX];
    struct sim_master masters[FENCE_MASTERS_MAX];
    struct sim_server servers[SIM_SERVERS_MAX];
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_account accounts[SIM_RESOURCES_MAX];
};

/* A world without a history yet. NULL: no memory. */
struct sim_world *sim_world_new(void);
void sim_world_free(struct sim_world *world);

/* Plays seed @seed from its beginning to its end, or to the first violation, which is then in
 * world->check. @masters: 0 lets the seed choose. @out: where to tell it, or NULL. Returns the hash
 * of the history. */
uint64_t sim_world_run(struct sim_world *world, uint64_t seed, unsigned masters, FILE *out);

/* Schedules @event @after_us from now. */
void sim_world_schedule(struct sim_world *world, uint64_t after_us, const struct sim_event *event);

#endif
