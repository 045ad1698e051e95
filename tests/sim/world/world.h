/* One world: servers, masters, clients and what is between them, under one clock and one seed.
 *
 *   clients --calls--> servers (the real core) --requests--> network --> masters
 *
 * Everything that happens is an event on one heap; the next one is taken, acted on and checked
 * until nothing is left to do. A world is large and is used again for the next seed. */
#ifndef TESTS_SIM_WORLD_WORLD_H
#define TESTS_SIM_WORLD_WORLD_H

#include "tests/sim/actions/actions.h"
#include "tests/sim/masters/master.h"
#include "tests/sim/promises/account.h"
#include "tests/sim/promises/check.h"
#include "tests/sim/promises/freedom.h"
#include "tests/sim/promises/waiters.h"
#include "tests/sim/promises/watched.h"
#include "tests/sim/world/chaos.h"
#include "tests/sim/world/client.h"
#include "tests/sim/world/heap.h"
#include "tests/sim/world/link.h"
#include "tests/sim/world/listing.h"
#include "tests/sim/world/maintain.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/operator.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/probe.h"
#include "tests/sim/world/scene.h"
#include "tests/sim/world/server.h"
#include "tests/sim/world/stats.h"
#include "tests/sim/world/trace.h"

enum {
    SIM_MACHINE_TEXT_MAX = 32,
    SIM_TIMERS_LATE_US = 100, /* at most, when a server that was stopped goes on */
};

struct sim_world {
    uint64_t now_us; /* true time */
    uint32_t events; /* of this history, so far */
    bool over;
    bool struck; /* by its disaster, and by the second part of it */
    bool struck_again;
    uint32_t runs;     /* of Redis processes, so far, */
    uint32_t lineages; /* and of their data */
    struct sim_trace trace;
    struct sim_actions *actions; /* NULL: they are not written */
    struct sim_scene *scene;     /* NULL: it is not recorded */
    struct sim_stats stats;      /* summed over all seeds of this world */
    struct sim_plan plan;
    struct sim_chaos chaos;
    struct sim_rng rng; /* where what goes wrong now and then goes wrong */
    struct sim_liar {
        bool lies;       /* until all is to be well again */
        unsigned master; /* which one, */
        struct sim_rng rng;
    } liar; /* network.c */
    struct sim_heap heap;
    struct sim_check check;
    struct sim_waiters waiters;
    struct sim_freedom freedom;
    struct sim_watched watched;
    struct sim_network network;
    struct sim_link links[SIM_SERVERS_MAX][FENCE_MASTERS_MAX];
    unsigned machines_count;
    struct sim_master machines[SIM_MACHINES_MAX];
    unsigned address[FENCE_MASTERS_MAX]; /* the machine that stands for each member now */
    int64_t admitted[FENCE_MASTERS_MAX]; /* the highest incarnation that each had so far */
    struct sim_server servers[SIM_SERVERS_MAX];
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_account accounts[SIM_RESOURCES_MAX];
    struct sim_probe probes[SIM_SERVERS_MAX];
    struct sim_maintain maintain;
    struct sim_operators operators;
    bool lost_again;
    struct sim_listing listing;
    struct fence_group group; /* of the call that the core is given */
};

/* A world without a history yet. NULL: no memory. */
struct sim_world *sim_world_new(void);
void sim_world_free(struct sim_world *world);

/* Plays @plan with seed @seed from its beginning to its end, or to the first violation, which is
 * then in world->check. @out: where to tell it, or NULL. Returns the hash of the history. */
uint64_t sim_world_play(struct sim_world *world, const struct sim_plan *plan, uint64_t seed,
                        FILE *out);

/* The same with the plan that the seed makes. @masters: 0 lets the seed choose. */
uint64_t sim_world_run(struct sim_world *world, uint64_t seed, unsigned masters, FILE *out);

/* Schedules @event @after_us from now. */
void sim_world_schedule(struct sim_world *world, uint64_t after_us, const struct sim_event *event);

/* What to call @machine in a trace. */
void sim_world_machine_text(const struct sim_world *world, unsigned machine,
                            char ret_text[static SIM_MACHINE_TEXT_MAX]);

#endif
