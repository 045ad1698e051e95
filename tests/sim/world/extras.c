#include "tests/sim/world/extras.h"

#include "tests/sim/masters/mutant.h"

#include <string.h>

enum {
    OWED_WORLDS = 8, /* one seed in so many, of this remainder, has masters owe few locks */
    OWED_WORLD = 6,
    OWED_MAX = 8, /* at most */
    BLANK_WORLDS = 16,
    BLANK_WORLD = 5,
    ASK_WORLDS = 5, /* one world in so many, one asks all masters at once, and two spread by slot */
    COUNT_WORLDS = 16, /* one seed in so many, of this remainder, has named counters */
    COUNT_WORLD = 4,
    COUNTS = 600,     /* per mille of a client's turns there */
    BREAK_WORLDS = 7, /* the same of those in which grants are broken, */
    BREAK_WORLD = 3,
    BREAKS = 250,        /* and so many turns there; */
    BREAK_EXTENDS = 800, /* and of the turns of a holder so many are extensions */
    WATCH_WORLDS = 6,    /* the same of those in which locks are watched; */
    WATCH_WORLD = 2,
    WATCHES = 300, /* and so many turns there */
    WATCH_WAIT_MS = 3000,
    LIST_WORLDS = 4, /* one seed in so many, of this remainder, has listings */
    LIST_WORLD = 3,
    SEAT_WORLDS = 9, /* the same of those in which all locks are seats of one name */
    SEAT_WORLD = 4,
    CLOSE_WORLDS = 5, /* the same of those in which some locks have a delay, and some are kept */
    CLOSE_WORLD = 1,
    CLOSES = 500, /* per mille of the locks */
    CLOSE_TTL_MS = 1000,
};

/* In some worlds calls wait for others where the service would have them wait only under load.
 * Drawn by the seed itself: the rest of a plan is what it was before there was admission. */
static uint32_t owed_of_seed(uint64_t seed)
{
    return seed % OWED_WORLDS == OWED_WORLD ? (uint32_t)(1 + seed / OWED_WORLDS % OWED_MAX) : 0;
}

static enum fence_ask ask_of_seed(uint64_t seed)
{
    uint64_t world = seed % ASK_WORLDS;
    if (world == 0)
        return FENCE_ASK_ALL;
    return world % 2 == 0 ? FENCE_ASK_SPREAD : FENCE_ASK_MAJORITY;
}

/* In some worlds the fleet is not made yet. Drawn by the seed itself, as above. */
static bool is_blank_of_seed(const struct sim_plan *plan, uint64_t seed)
{
    bool usual = plan->kind == SIM_MIXED || plan->kind == SIM_STORM || plan->kind == SIM_AMNESIA ||
                 plan->kind == SIM_TURNOVER;
    return usual && seed % BLANK_WORLDS == BLANK_WORLD;
}

/* In every other world with listings several locks are held for longer than it takes to list them.
 */
static void draw_listings(struct sim_plan *plan, uint64_t seed)
{
    plan->lists = seed % LIST_WORLDS == LIST_WORLD;
    if (!plan->lists || seed / LIST_WORLDS % 2 == 0)
        return;
    plan->resources = SIM_NAMES_MAX;
    plan->ttl_low_ms = plan->ttl_high_ms = 1000;
    plan->think_us = 50 * 1000;
}

/* Holders extend often there, so that some do it after their grant was broken. */
static void draw_breaks(struct sim_plan *plan, uint64_t seed)
{
    if (seed % BREAK_WORLDS != BREAK_WORLD)
        return;
    plan->breaks = BREAKS;
    plan->extends = BREAK_EXTENDS;
}

/* In every other of these worlds nothing goes wrong but clients: there a watch is told in time. */
static void draw_watches(struct sim_plan *plan, uint64_t seed)
{
    static const enum sim_fault of_clients[] = {SIM_FAULT_CLIENT_PAUSE, SIM_FAULT_CLIENT_LEAVES,
                                                SIM_FAULT_ANSWER_LOST};
    uint32_t permille[SIM_FAULTS] = {0};
    if (seed % WATCH_WORLDS != WATCH_WORLD)
        return;
    plan->watches = WATCHES;
    plan->watch_high_ms = WATCH_WAIT_MS;
    plan->clear = seed / WATCH_WORLDS % 2 == 0;
    if (!plan->clear)
        return;
    for (unsigned k = 0; k < sizeof(of_clients) / sizeof(of_clients[0]); k++)
        permille[of_clients[k]] = plan->permille[of_clients[k]];
    memcpy(plan->permille, permille, sizeof(permille));
    plan->kind = SIM_MIXED;
    plan->sane = true;
    plan->partial = plan->blank = plan->early = plan->maintains = false;
    plan->owed = 0;
    plan->slowness = 0;
}

/* All seats have one counter. */
static void draw_seats(struct sim_plan *plan, uint64_t seed)
{
    plan->seats = seed % SEAT_WORLDS == SEAT_WORLD && plan->watches == 0;
    if (!plan->seats)
        return;
    plan->resources = 2 + (unsigned)(seed / SEAT_WORLDS % (SIM_NAMES_MAX - 1));
    plan->slots = SIM_MUTANT(SEATS_APART) ? plan->resources : 1;
    plan->shared = seed / SEAT_WORLDS / 2 % 2 == 0;
    plan->groups = 0;
    plan->maintains = false;
}

/* The lease of a client and its delay have to fit into the longest lease of the fleet: clients take
 * half of it at the most. */
static void draw_closes(struct sim_plan *plan, uint64_t seed)
{
    if (seed % CLOSE_WORLDS != CLOSE_WORLD || plan->maintains)
        return;
    plan->closes = CLOSES;
    if (plan->ttl_high_ms < CLOSE_TTL_MS)
        plan->ttl_low_ms = plan->ttl_high_ms = CLOSE_TTL_MS;
}

void sim_extras_of_seed(struct sim_plan *plan, uint64_t seed)
{
    plan->owed = owed_of_seed(seed);
    plan->blank = is_blank_of_seed(plan, seed);
    plan->early = plan->kind == SIM_LOST && seed % 2 == 0;
    plan->ask = ask_of_seed(seed);
    plan->counts = seed % COUNT_WORLDS == COUNT_WORLD ? COUNTS : 0;
    draw_breaks(plan, seed);
    draw_listings(plan, seed);
    draw_watches(plan, seed);
    draw_seats(plan, seed);
    draw_closes(plan, seed);
}
