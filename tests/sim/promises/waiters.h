/* The waiters at each server, as the world sees it, and what is promised to them:
 *
 *   W1  first come, first served: masters are asked for a resource, and a lock is granted, only for
 *       the first of its line: a caller that came to this server before all others that have no
 * answer. A waiter that left without the lock, and asks again soon with its own lock id, came when
 * it came first (places.h). An attempt under way goes on where such a one stands before it now. A
 * retry for a lock that its lock id has need not
 *
 * A call for one of several seats stands in a line, too, where each seat has a first: the first
 * call that knows it. W1 is looked at there, but for calls with their own lock ids, and W3: no seat
 * that a waiter knows stays free for longer than the first of a line sleeps.
 *
 * A call for several at once stands in no line: it may ask at any time, and must now and then. */
#ifndef TESTS_SIM_PROMISES_WAITERS_H
#define TESTS_SIM_PROMISES_WAITERS_H

#include "tests/sim/promises/check.h"
#include "tests/sim/promises/places.h"
#include "tests/sim/world/plan.h"

struct sim_world;

enum {
    SIM_LINE_MAX = 32, /* more than a core takes calls at a time */
};

/* The acquires of one server for one resource that have no answer yet. */
struct sim_line {
    uint32_t count;
    uint32_t calls[SIM_LINE_MAX]; /* in the order of their ranks */

    /* When the first of them asks again: no later than so long after that true time. */
    uint64_t since_us;
    uint64_t within_us;

    /* The first one's latest attempt, and what was learnt from it. */
    uint64_t began_us; /* or when it became the first */
    uint64_t attempt;  /* 0: none yet */
    bool asking;       /* it is under way */
    bool by_word;      /* it began since word came; and word came since it ended */
    bool woken;
    uint32_t holder; /* as a majority told it, or another of the line since; SIM_NO_LOCK */
    bool freed[SIM_HOLDERS_MAX]; /* locks of which word came since it began */

    /* The lock that this server gave last to one of them, as long as it must know that it is held
     * (SIM_NO_LOCK: it may not), by its own clock; and until when it can take each for the holder.
     */
    uint32_t granted;
    uint64_t granted_until_us;
    uint64_t held_until_us[SIM_HOLDERS_MAX];
};

struct sim_waiters {
    uint32_t waiting[SIM_SERVERS_MAX]; /* calls that have time to wait, */
    uint32_t groups[SIM_SERVERS_MAX];  /* and those that want several, with time or without */
    uint32_t watches[SIM_SERVERS_MAX]; /* watches that wait */
    struct sim_line lines[SIM_SERVERS_MAX][SIM_RESOURCES_MAX];
    struct sim_places places[SIM_SERVERS_MAX];
};

void sim_waiters_init(struct sim_waiters *waiters);

/* NULL: no process stands there. */
struct sim_call *sim_line_first(struct sim_world *world, const struct sim_line *line);

/* @call, an acquire, reaches its server, which has acted on that then; its answer leaves; its
 * server crashed. */
void sim_waiters_come(struct sim_world *world, struct sim_call *call);
void sim_waiters_came(struct sim_world *world, const struct sim_call *call);
void sim_waiters_answered(struct sim_world *world, struct sim_call *call);
void sim_waiters_dropped(struct sim_world *world, struct sim_call *call);

/* Server @s crashed, and its calls were dropped: it knows nothing of waiters. */
void sim_waiters_crashed(struct sim_world *world, unsigned s);

/* Server @s sends @request. */
void sim_waiters_sent(struct sim_world *world, unsigned s, const struct fence_request *request);

/* A watch comes to its server, and goes: it counts as one that waits, and stands in no line. */
void sim_waiters_watch_comes(struct sim_world *world, struct sim_call *call);
void sim_waiters_watch_goes(struct sim_world *world, const struct sim_call *call);

#endif
