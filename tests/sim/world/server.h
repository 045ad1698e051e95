/* A server: the real core, its clock, and its timer. */
#ifndef TESTS_SIM_WORLD_SERVER_H
#define TESTS_SIM_WORLD_SERVER_H

#include "fence/core.h"
#include "tests/sim/world/clock.h"
#include "tests/sim/world/rng.h"

struct sim_world;
struct sim_call;

struct sim_server {
    struct fence_core *core;
    struct sim_world *world;
    struct sim_clock clock;
    struct sim_rng rng;
    uint64_t tick_at_us; /* true time; FENCE_NEVER: no tick is scheduled */
    uint64_t paused_until_us;
    bool declines; /* the latest answer, a grant, found its client gone */
    struct fence_taken declined;
    struct fence_effects effects;
};

/* Makes server @s again for this world's plan. */
void sim_server_start(struct sim_world *world, unsigned s, uint64_t seed);
void sim_server_stop(struct sim_world *world, unsigned s);

/* It loses all that it knew, and its connections; clients learn that no answer will come. Its clock
 * is the machine's, and goes on. */
void sim_server_crash(struct sim_world *world, unsigned s);

/* Gives @event to the core, with the server's time, and does what it says. */
void sim_server_step(struct sim_world *world, unsigned s, struct fence_event *event);

/* A call arrives. */
void sim_server_call(struct sim_world *world, unsigned s, struct sim_call *call);

/* Word comes to server @s that the holder of @lock released @resource. */
void sim_server_freed(struct sim_world *world, unsigned s, uint32_t resource, uint32_t lock);

/* Server @s notices that the client of @call has gone. */
void sim_server_left(struct sim_world *world, unsigned s, struct sim_call *call);

/* The timer fired. */
void sim_server_tick(struct sim_world *world, unsigned s);

#endif
