/* The connection between one server and one master.
 *
 *   CLOSED --backoff--> SHAKING --facts--> OPEN --breaks--> BROKEN
 *     ^                    |                 |                 |
 *     '------ failed ------'---- reset ------'---- noticed ----'
 *
 * It is opened again and again; each time is a generation, and what belongs to an earlier one is of
 * no use to the server any more. A connection leads to the machine that stood at the master's
 * address when it was opened, and stays with it. */
#ifndef TESTS_SIM_WORLD_LINK_H
#define TESTS_SIM_WORLD_LINK_H

#include "tests/sim/world/heap.h"
#include "tests/sim/world/message.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>

struct sim_world;

enum {
    SIM_RECENT = 4, /* requests that may be replayed */
};

enum sim_link_state {
    SIM_LINK_CLOSED,
    SIM_LINK_SHAKING,
    SIM_LINK_OPEN,
    SIM_LINK_BROKEN, /* and the server does not know */
};

struct sim_link {
    enum sim_link_state state;
    struct sim_rng rng; /* how long its messages take */
    uint32_t generation;
    unsigned machine; /* at the other end */
    uint32_t shakes;  /* handshakes begun on it, and how many of them ended */
    uint32_t shaken;
    uint64_t request_us;   /* when the latest request arrives: none may overtake it */
    uint64_t reply_us;     /* the same for replies */
    unsigned slowness;     /* times 2 to this power goes each delay */
    bool probing;          /* a probe is under way */
    bool lost_writes;      /* its handshake found that */
    unsigned failures;     /* in a row, until a request was answered */
    uint64_t cut_until_us; /* until then no connection can be made */
    uint32_t first;        /* queue of messages awaited, in the network */
    uint32_t last;
    uint32_t executed; /* requests so far, and the latest of them */
    struct sim_request recent[SIM_RECENT];
};

/* In all of these @s is the server and @i the master. */
struct sim_link *sim_link_of(struct sim_world *world, unsigned s, unsigned i);

/* Schedules an event that belongs to the connection that stands. */
void sim_link_schedule(struct sim_world *world, uint64_t after_us, enum sim_event_kind kind,
                       unsigned s, unsigned i, uint32_t id);

/* All of server @s's closed, and about to connect. */
void sim_links_start(struct sim_world *world, unsigned s, uint64_t seed);

/* The acts of a server on a connection. */
void sim_link_shake(struct sim_world *world, unsigned s, unsigned i);
void sim_link_restamp(struct sim_world *world, unsigned s, unsigned i);
void sim_link_reset(struct sim_world *world, unsigned s, unsigned i);

/* The reply to a handshake arrived. */
void sim_link_learn(struct sim_world *world, unsigned s, unsigned i, const struct sim_reply *reply);

/* The reply to a probe arrived. */
void sim_link_looked(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_reply *reply);

/* The server finds the connection of no use any more: it tells the core, and connects again. */
void sim_link_fail(struct sim_world *world, unsigned s, unsigned i);

/* The faults of one. Half-open: the server is not told. */
void sim_link_break(struct sim_world *world, unsigned s, unsigned i, bool half_open);
void sim_link_cut(struct sim_world *world, unsigned s, unsigned i, uint64_t until_us);

/* Server @s crashed: no call waits for anything any more. It connects again. */
void sim_links_forget(struct sim_world *world, unsigned s);

/* Ends the cuts and the slowness, and lets servers notice what is broken. */
void sim_links_heal(struct sim_world *world);

/* Acts on CONNECT, DOWN, CLOSED or LOOK. */
void sim_link_act(struct sim_world *world, const struct sim_event *event);

#endif
