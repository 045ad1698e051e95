/* A client: acquires one lock or several at once, and with each: claims at the account, reads, adds
 * 1, writes, releases. It never looks at the clock, so that it is the guard that keeps a late one
 * from doing harm. One that has chosen its lock id itself may ask again with it, at any server: if
 * it was told of no grant, soon or long after; if it was, too; and twice at once.
 *
 *            .----------- asks again <----------.
 *            v                |                 |
 *   IDLE --> ACQUIRING --granted--> CLAIMING --> (EXTENDING)* --> WRITING --> RELEASING --> IDLE
 *    |           |                   ^  |                                      |             ^
 *    |           |                   '--|---------- the next of several -------'             |
 *    '--> INSPECTING, WATCHING ----- stale, refused, tired of waiting -----------------------' */
#ifndef TESTS_SIM_WORLD_CLIENT_H
#define TESTS_SIM_WORLD_CLIENT_H

#include "tests/sim/world/message.h"
#include "tests/sim/world/rng.h"

struct sim_world;
struct sim_call;

enum {
    SIM_AWAITED_MAX = 2, /* calls of one client at once */
};

enum sim_client_state {
    SIM_CLIENT_IDLE,
    SIM_CLIENT_ACQUIRING,
    SIM_CLIENT_TO_ASK_AGAIN,
    SIM_CLIENT_CLAIMING,
    SIM_CLIENT_EXTENDING,
    SIM_CLIENT_WRITING,
    SIM_CLIENT_RELEASING,
    SIM_CLIENT_INSPECTING,
    SIM_CLIENT_WATCHING,
    SIM_CLIENT_DONE,
};

struct sim_client {
    struct sim_rng rng;
    enum sim_client_state state;
    unsigned rounds;                   /* still to go */
    uint32_t turn;                     /* events for an earlier turn are void */
    uint32_t awaited[SIM_AWAITED_MAX]; /* calls; SIM_NO_CALL */
    struct sim_set set; /* set of this round, as the members below; its tokens: granted */
    unsigned at;        /* which of them is being worked at */
    uint32_t lock;      /* SIM_NO_LOCK: not yet */
    uint64_t since_us;  /* when it asked first with it */
    enum fence_mode mode;
    bool own_id; /* its own, and may be asked with so often again */
    unsigned agains;
    uint32_t ttl_ms;
    unsigned seats;  /* that it named with its lock id */
    uint32_t values; /* that it counts next */
    int64_t value;   /* read */
};

#define SIM_NO_CALL UINT32_MAX

void sim_client_start(struct sim_world *world, unsigned c, uint64_t seed);

/* Its next turn has come. */
void sim_client_act(struct sim_world *world, unsigned c);

/* The answer to @call has arrived, or word that there will be none. */
void sim_client_answered(struct sim_world *world, unsigned c, const struct sim_call *call);

#endif
