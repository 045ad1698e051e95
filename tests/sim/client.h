/* A client: acquires, claims at the account, reads, adds 1, writes, releases. It never looks at the
 * clock, so that it is the guard that keeps a late one from doing harm.
 *
 *   IDLE --> ACQUIRING --granted--> CLAIMING --> (EXTENDING)* --> WRITING --> RELEASING --> IDLE
 *    |           |                      |                                                    ^
 *    '--> INSPECTING --------------- stale, refused, tired of waiting -----------------------' */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "tests/sim/rng.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_world;
struct sim_call;

enum sim_client_state {
    SIM_CLIENT_IDLE,
    SIM_CLIENT_ACQUIRING,
    SIM_CLIENT_CLAIMING,
    SIM_CLIENT_EXTENDING,
    SIM_CLIENT_WRITING,
    SIM_CLIENT_RELEASING,
    SIM_CLIENT_INSPECTING,
    SIM_CLIENT_DONE,
};

struct sim_client {
    struct sim_rng rng;
    enum sim_client_state state;
    unsigned rounds;   /* still to go */
    uint32_t turn;     /* events for an earlier turn are void */
    uint32_t call;     /* awaited */
    uint32_t resource; /* of this round, as the members below */
    uint32_t lock;
    uint32_t ttl_ms;
    int64_t token;
    int64_t value; /* read */
};

enum {
    SIM_PROBE = UINT8_MAX, /* in the place of a client: the world itself, after healing */
};

void sim_client_start(struct sim_world *world, unsigned c, uint64_t seed);

/* Its next turn has come. */
void sim_client_act(struct sim_world *world, unsigned c);

/* @call has its answer, or will have none: that is on its way to the client now. */
void sim_client_expects_answer(struct sim_world *world, const struct sim_call *call);

/* The answer to @call has arrived. */
void sim_client_answered(struct sim_world *world, unsigned c, const struct sim_call *call);

/* The world takes the lock of @resource, with the longest lease there is, at server @s. */
void sim_client_probe(struct sim_world *world, uint32_t resource, unsigned s);

/* The world asks server @s something, whatever the answer. */
void sim_client_nudge(struct sim_world *world, unsigned s);

#endif
