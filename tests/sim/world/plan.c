#include "tests/sim/world/plan.h"

#include "fence/protocol/limits.h"
#include "tests/sim/world/clock.h"
#include "tests/sim/world/extras.h"
#include "tests/sim/world/message.h"

#include <string.h>

enum {
    STREAM = 0, /* part of the seed's random numbers */

    /* Two clocks of which one gains this and one loses it differ by less than the drift of 1%. */
    SANE_RATE_PPM = 4900,
    WILD_RATE_PPM = 600 * 1000,

    EXTREME_RATES = 500, /* per mille of the clocks */
    WORLDS = 27,         /* the kinds have equal shares */
    MAINTAINS = 100,     /* per mille of the worlds that recover */
    CLIENTS = 5,         /* in most worlds, at most */
    DISASTER_MAX_US = 300 * 1000,
    PAGES_FAIL = 150, /* per mille of the mixed worlds */
};

/* How often a fault strikes in the worlds that have it: seldom, or often. */
static const struct {
    const char *name;
    uint32_t seldom;
    uint32_t often;
} faults[SIM_FAULTS] = {
    [SIM_FAULT_SLOW] = {"slow", 20, 150},
    [SIM_FAULT_LAG] = {"lag", 50, 300},
    [SIM_FAULT_DUPLICATE] = {"duplicate", 20, 250},
    [SIM_FAULT_REPLAY] = {"replay", 20, 250},
    [SIM_FAULT_BREAK] = {"break", 4, 30},
    [SIM_FAULT_HALF_OPEN] = {"half-open", 2, 10},
    [SIM_FAULT_VANISH] = {"vanish", 30, 200},
    [SIM_FAULT_CLIENT_PAUSE] = {"client-pause", 30, 200},
    [SIM_FAULT_CLIENT_LEAVES] = {"client-leaves", 30, 150},
    [SIM_FAULT_ANSWER_LOST] = {"answer-lost", 30, 200},
    [SIM_FAULT_MASTER_STOP] = {"master-stop", 2, 10},
    [SIM_FAULT_MASTER_RESTART] = {"master-restart", 20, 150},
    [SIM_FAULT_SERVER_PAUSE] = {"server-pause", 2, 10},
    [SIM_FAULT_DISK_LOST] = {"disk-lost", 20, 150},
    [SIM_FAULT_FLUSH] = {"flush", 20, 150},
    [SIM_FAULT_PAGES] = {"pages", 200, 800},
    [SIM_FAULT_RESTORE] = {"restore", 20, 150},
    [SIM_FAULT_PROMOTE] = {"promote", 20, 150},
    [SIM_FAULT_ROLLBACK] = {"rollback", 20, 150},
    [SIM_FAULT_EVICT] = {"evict", 20, 150},
    [SIM_FAULT_CHANGE] = {"change", 20, 150},
    [SIM_FAULT_UNDURABLE] = {"undurable", 20, 150},
    [SIM_FAULT_REPLACE] = {"replace", 20, 150},
    [SIM_FAULT_SERVER_CRASH] = {"server-crash", 10, 100},
    [SIM_FAULT_CUT] = {"cut", 50, 400},
    [SIM_FAULT_CLOCK_JUMP] = {"clock-jump", 20, 150},
};

const char *sim_fault_name(enum sim_fault fault)
{
    return faults[fault].name;
}

const char *sim_world_kind_name(enum sim_world_kind kind)
{
    static const char *const names[SIM_WORLD_KINDS] = {
        [SIM_MIXED] = "mixed",       [SIM_QUEUE] = "queue",       [SIM_STORM] = "storm",
        [SIM_AMNESIA] = "amnesia",   [SIM_BLACKOUT] = "blackout", [SIM_LOST] = "lost",
        [SIM_DUEL] = "duel",         [SIM_HASTE] = "haste",       [SIM_BACKUP] = "backup",
        [SIM_RECKLESS] = "reckless", [SIM_TURNOVER] = "turnover", [SIM_OLD_DISK] = "old-disk",
    };
    return names[kind];
}

static unsigned draw_masters(struct sim_rng *rng)
{
    static const unsigned choices[] = {1, 3, 3, 3, 3, 5, 5, 7};
    return choices[sim_rng_below(rng, sizeof(choices) / sizeof(choices[0]))];
}

static void draw_sizes(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->servers = sim_rng_chance(rng, 100) ? 1 : sim_rng_between(rng, 2, SIM_SERVERS_MAX);
    plan->clients = sim_rng_between(rng, 2, CLIENTS);
    plan->resources = sim_rng_chance(rng, 600) ? 1 : sim_rng_between(rng, 2, SIM_NAMES_MAX);
    plan->slots = sim_rng_between(rng, 1, plan->resources);
    plan->rounds = sim_rng_between(rng, 2, 5);
    plan->extensions = sim_rng_chance(rng, 500) ? FENCE_EXTENSIONS_MAX : 1;
    plan->calls = plan->waiters = sim_rng_chance(rng, 900) ? 8 : 1;
}

static uint32_t one_of(struct sim_rng *rng, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t choices[] = {a, b, c};
    return choices[sim_rng_below(rng, 3)];
}

static void draw_habits(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->own_ids = one_of(rng, 0, 300, 1000);
    plan->groups = one_of(rng, 0, 300, 700);
}

static void draw_times(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->ttl_low_ms = FENCE_TTL_MIN_MS;
    plan->ttl_high_ms = sim_rng_chance(rng, 700) ? 150 : 1000;
    plan->think_us = sim_rng_chance(rng, 700) ? 3000 : 50 * 1000;
    plan->delay_low_us = 50;
    plan->delay_high_us = sim_rng_chance(rng, 700) ? 500 : 5000;
    plan->slowness = sim_rng_chance(rng, 500) ? 0 : sim_rng_between(rng, 2, 6);
    plan->slow_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 100 : 2500);
    plan->outage_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 200 : 2000);
    plan->fault_us = sim_rng_chance(rng, 500) ? 10 * 1000 : 50 * 1000;
    plan->waits = 500;
    plan->wait_high_ms = 300;
    plan->words_lost = 200;
    plan->extends = 350;
    plan->twice = 150;
    plan->copies = one_of(rng, 10, 30, 150);
}

static void draw_faults(struct sim_plan *plan, struct sim_rng *rng)
{
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        static const unsigned levels = 5; /* two of them: not in this world */
        unsigned level = sim_rng_below(rng, levels);
        plan->permille[i] = level < 2 ? 0 : level < 4 ? faults[i].seldom : faults[i].often;
    }
    plan->permille[SIM_FAULT_RESTORE] = 0;
    if (!sim_rng_chance(rng, PAGES_FAIL))
        plan->permille[SIM_FAULT_PAGES] = 0;
    if (plan->sane)
        plan->permille[SIM_FAULT_VANISH] = plan->permille[SIM_FAULT_CLOCK_JUMP] = 0;
}

/* Histories in which clients choose their lock ids, so that they can retry with them. */
static void draw_lost_answers(struct sim_plan *plan, struct sim_rng *rng)
{
    const enum sim_fault fault = SIM_FAULT_ANSWER_LOST;
    if (plan->own_ids > 0)
        plan->permille[fault] = one_of(rng, 0, faults[fault].seldom, faults[fault].often);
}

/* Everybody wants one lock, which goes at any moment, requests happen twice, some masters are far
 * away, and all else is well. Here attempts meet each other half-way most often. */
static void draw_storm(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->sane = false;
    plan->servers = SIM_SERVERS_MAX;
    plan->clients = CLIENTS;
    plan->resources = sim_rng_chance(rng, 750) ? 1 : SIM_NAMES_MAX;
    plan->slots = 1;
    plan->calls = plan->waiters = 8;
    plan->ttl_low_ms = plan->ttl_high_ms = 1000;
    plan->rounds = 7;
    plan->think_us = 3000;
    plan->delay_high_us = 500;
    plan->slowness = 6;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_VANISH] = sim_rng_between(rng, 50, 400);
    plan->permille[SIM_FAULT_REPLAY] = sim_rng_between(rng, 50, 500);
    plan->permille[SIM_FAULT_BREAK] = sim_rng_chance(rng, 500) ? 10 : 0;
    draw_lost_answers(plan, rng);
}

/* Leases and waits longer than any timer of a waiter, and holders that take their time: the line is
 * long, and what ends a wait is word, the end of a lease or, without either, a look. */
static void draw_queue(struct sim_plan *plan, struct sim_rng *rng)
{
    static const enum sim_fault others[] = {SIM_FAULT_BREAK,        SIM_FAULT_CUT,
                                            SIM_FAULT_SERVER_PAUSE, SIM_FAULT_SERVER_CRASH,
                                            SIM_FAULT_CLIENT_PAUSE, SIM_FAULT_MASTER_STOP,
                                            SIM_FAULT_REPLAY,       SIM_FAULT_SLOW};
    static const uint32_t words_lost[] = {0, 200, 900};
    plan->servers = sim_rng_between(rng, 1, SIM_SERVERS_MAX);
    plan->clients = SIM_CLIENTS_MAX;
    plan->resources = plan->slots =
        sim_rng_chance(rng, 600) ? 1 : sim_rng_between(rng, 2, SIM_NAMES_MAX);
    plan->calls = 2 * SIM_CLIENTS_MAX;
    plan->waiters = sim_rng_chance(rng, 800) ? plan->calls : 3;
    plan->ttl_low_ms = 1000;
    plan->ttl_high_ms = 6000;
    plan->waits = 900;
    plan->wait_high_ms = sim_rng_chance(rng, 700) ? 8000 : 1000;
    plan->words_lost = words_lost[sim_rng_below(rng, sizeof(words_lost) / sizeof(words_lost[0]))];
    plan->rounds = 4;
    plan->think_us = sim_rng_chance(rng, 500) ? 20 * 1000 : 500 * 1000;
    plan->delay_high_us = 500;
    plan->slowness = sim_rng_chance(rng, 700) ? 0 : 3;
    plan->slow_us = 100 * 1000;
    plan->outage_us = 1000 * 1000;
    plan->fault_us = 200 * 1000;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_CLIENT_LEAVES] = sim_rng_chance(rng, 500) ? 150 : 0;
    draw_lost_answers(plan, rng);
    plan->calm = sim_rng_chance(rng, 300);
    if (plan->calm) {
        plan->sane = true;
        plan->words_lost = 0;
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        enum sim_fault fault = others[sim_rng_below(rng, sizeof(others) / sizeof(others[0]))];
        plan->permille[fault] = faults[fault].seldom;
    }
}

/* The quiet server is there to take masters back: it reaches all of them. */
static void draw_reach(struct sim_plan *plan, struct sim_rng *rng, uint32_t permille)
{
    plan->partial = sim_rng_chance(rng, permille);
    if (!plan->partial)
        return;
    plan->masters = 3;
    plan->servers = SIM_SERVERS_MAX;
    plan->quiet = 1;
}

/* Short leases, so that masters rejoin soon, and clients that stay long enough to see it.
 * One or two ways to forget, often, and few other faults. */
static void draw_amnesia(struct sim_plan *plan, struct sim_rng *rng)
{
    static const enum sim_fault ways[] = {
        SIM_FAULT_MASTER_RESTART, SIM_FAULT_DISK_LOST, SIM_FAULT_FLUSH, SIM_FAULT_REPLACE,
        SIM_FAULT_ROLLBACK,       SIM_FAULT_PROMOTE,   SIM_FAULT_EVICT};
    static const enum sim_fault others[] = {
        SIM_FAULT_DUPLICATE, SIM_FAULT_REPLAY, SIM_FAULT_BREAK,        SIM_FAULT_SLOW,
        SIM_FAULT_VANISH,    SIM_FAULT_LAG,    SIM_FAULT_SERVER_CRASH, SIM_FAULT_CUT,
        SIM_FAULT_PAGES,     SIM_FAULT_CHANGE, SIM_FAULT_SERVER_PAUSE, SIM_FAULT_UNDURABLE};
    plan->resources = plan->slots = 1;
    plan->calls = plan->waiters = 8;
    plan->clients = sim_rng_between(rng, 2, CLIENTS);
    plan->ttl_low_ms = plan->ttl_high_ms = FENCE_TTL_MIN_MS;
    plan->rounds = 14;
    plan->think_us = sim_rng_chance(rng, 500) ? 3000 : 30 * 1000;
    plan->delay_high_us = sim_rng_chance(rng, 500) ? 500 : 5000;
    plan->fault_us = sim_rng_chance(rng, 500) ? 20 * 1000 : 100 * 1000;
    memset(plan->permille, 0, sizeof(plan->permille));
    for (unsigned i = 0; i < 2; i++)
        plan->permille[ways[sim_rng_below(rng, sizeof(ways) / sizeof(ways[0]))]] = 300;
    for (unsigned i = 0; i < 3; i++) {
        enum sim_fault fault = others[sim_rng_below(rng, sizeof(others) / sizeof(others[0]))];
        plan->permille[fault] = faults[fault].often;
    }
    if (plan->sane)
        plan->permille[SIM_FAULT_VANISH] = 0;
    draw_lost_answers(plan, rng);
}

/* One server has no clients, so that nothing but its own steps tells it about the masters, and they
 * take long. It takes back a replaced master, while the others go on with the old machine, and have
 * to take back what the first one has just read (faults.c). */
static void draw_duel(struct sim_plan *plan, struct sim_rng *rng)
{
    draw_amnesia(plan, rng);
    plan->masters = sim_rng_chance(rng, 700) ? 3 : 5;
    plan->servers = SIM_SERVERS_MAX;
    plan->quiet = 1;
    plan->clients = CLIENTS;
    plan->think_us = 3000;
    plan->delay_high_us = 500;
    plan->slowness = sim_rng_chance(rng, 500) ? 5 : 0;
    plan->slow_us = 300 * 1000;
    plan->rounds = 24;
    plan->disaster_us /= 4;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_LAG] = 800;
    plan->permille[SIM_FAULT_REPLAY] = sim_rng_chance(rng, 500) ? 50 : 0;
    plan->permille[SIM_FAULT_VANISH] = plan->sane ? 0 : 200;
}

/* Holders keep their locks for long, by extension, while one master after the other forgets. Their
 * copies are imported again and again, and so is what is left of others. */
static void draw_turnover(struct sim_plan *plan, struct sim_rng *rng)
{
    static const enum sim_fault ways[] = {
        SIM_FAULT_DISK_LOST, SIM_FAULT_FLUSH,          SIM_FAULT_ROLLBACK, SIM_FAULT_PROMOTE,
        SIM_FAULT_EVICT,     SIM_FAULT_MASTER_RESTART, SIM_FAULT_REPLACE};
    static const enum sim_fault others[] = {
        SIM_FAULT_SLOW,         SIM_FAULT_BREAK,        SIM_FAULT_CUT,
        SIM_FAULT_DUPLICATE,    SIM_FAULT_REPLAY,       SIM_FAULT_SERVER_PAUSE,
        SIM_FAULT_SERVER_CRASH, SIM_FAULT_CLIENT_PAUSE, SIM_FAULT_MASTER_STOP,
        SIM_FAULT_CHANGE,       SIM_FAULT_UNDURABLE};
    plan->sane = sim_rng_chance(rng, 750);
    plan->masters = sim_rng_chance(rng, 800) ? 3 : 5;
    plan->servers = sim_rng_between(rng, 2, SIM_SERVERS_MAX);
    plan->clients = CLIENTS;
    plan->resources = sim_rng_chance(rng, 700) ? 1 : SIM_NAMES_MAX;
    plan->slots = 1;
    plan->calls = plan->waiters = 8;
    plan->extensions = FENCE_EXTENSIONS_MAX;
    plan->ttl_low_ms = plan->ttl_high_ms = sim_rng_chance(rng, 500) ? 300 : 1000;
    plan->rounds = 12;
    plan->extends = one_of(rng, 350, 750, 950);
    plan->think_us = plan->ttl_high_ms * one_of(rng, 20, 200, 500);
    plan->delay_high_us = sim_rng_chance(rng, 500) ? 500 : 2000;
    plan->slowness = sim_rng_chance(rng, 700) ? 0 : 4;
    plan->slow_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 100 : 1000);
    plan->outage_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 200 : 1000);
    plan->fault_us = plan->ttl_high_ms * (sim_rng_chance(rng, 500) ? 30 : 100);
    memset(plan->permille, 0, sizeof(plan->permille));
    for (unsigned i = 0; i < 2; i++)
        plan->permille[ways[sim_rng_below(rng, sizeof(ways) / sizeof(ways[0]))]] = 400;
    for (unsigned i = 0; i < 2; i++) {
        enum sim_fault fault = others[sim_rng_below(rng, sizeof(others) / sizeof(others[0]))];
        plan->permille[fault] = faults[fault].often;
    }
    plan->permille[SIM_FAULT_PAGES] = sim_rng_chance(rng, 150) ? 900 : 0;
    if (sim_rng_chance(rng, 250))
        plan->permille[SIM_FAULT_CUT] = faults[SIM_FAULT_CUT].often;
    if (sim_rng_chance(rng, 200))
        plan->permille[SIM_FAULT_SERVER_PAUSE] = 30;
    plan->twice = sim_rng_chance(rng, 500) ? 150 : 600;
    if (sim_rng_chance(rng, 400))
        plan->own_ids = 1000;
    if (!plan->sane)
        plan->permille[SIM_FAULT_VANISH] = 100;
    draw_reach(plan, rng, 500);
    draw_lost_answers(plan, rng);
}

/* Locks outlive what happens to the masters that granted them, and it takes long to take one back:
 * time for it, and for those that are read, to be wiped, rolled back or restarted, and for another
 * server to restart (faults.c). */
static void draw_haste(struct sim_plan *plan, struct sim_rng *rng)
{
    draw_amnesia(plan, rng);
    plan->sane = true;
    plan->servers = 2;
    plan->clients = CLIENTS;
    plan->ttl_low_ms = plan->ttl_high_ms = 1000;
    plan->resources = plan->slots = sim_rng_chance(rng, 500) ? 1 : SIM_NAMES_MAX;
    plan->slow_us = 100 * 1000;
    plan->delay_high_us = 500;
    plan->slowness = 5;
    plan->think_us = 100 * 1000;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_MASTER_RESTART] = 300;
    plan->permille[SIM_FAULT_ROLLBACK] = sim_rng_chance(rng, 500) ? 150 : 0;
    plan->permille[SIM_FAULT_DUPLICATE] = sim_rng_chance(rng, 500) ? 400 : 0;
    plan->permille[SIM_FAULT_PAGES] = sim_rng_chance(rng, 300) ? 800 : 0;
    plan->permille[SIM_FAULT_SLOW] = sim_rng_chance(rng, 300) ? 150 : 0;
    plan->permille[SIM_FAULT_REPLAY] = sim_rng_chance(rng, 500) ? 400 : 0;
    draw_reach(plan, rng, 700);
}

/* Locks come back that were gone when others had their turn, on one master after the other, and
 * with them the clients whose they were. Nothing else goes wrong with masters or on the way to
 * them: one that comes back so may only vote while the others are there to tell it what it missed.
 */
static void draw_backup(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->sane = false;
    plan->masters = plan->masters == 1 ? 3 : plan->masters;
    plan->clients = CLIENTS;
    plan->resources = sim_rng_chance(rng, 700) ? 1 : SIM_NAMES_MAX;
    plan->slots = 1;
    plan->calls = plan->waiters = 8;
    plan->ttl_low_ms = plan->ttl_high_ms = 1000;
    plan->rounds = 8;
    plan->think_us = sim_rng_chance(rng, 500) ? 3000 : 30 * 1000;
    plan->delay_high_us = 500;
    plan->slowness = sim_rng_chance(rng, 500) ? 0 : 3;
    plan->fault_us = 20 * 1000;
    plan->own_ids = 1000;
    memset(plan->permille, 0, sizeof(plan->permille));
    plan->permille[SIM_FAULT_RESTORE] = 300;
    plan->permille[SIM_FAULT_ROLLBACK] = sim_rng_chance(rng, 500) ? 300 : 0;
    plan->permille[SIM_FAULT_PROMOTE] = sim_rng_chance(rng, 500) ? 300 : 0;
    plan->permille[SIM_FAULT_VANISH] = sim_rng_between(rng, 20, 300);
    plan->permille[SIM_FAULT_REPLAY] = sim_rng_chance(rng, 500) ? 50 : 0;
    plan->permille[SIM_FAULT_CLIENT_PAUSE] = 50;
    draw_lost_answers(plan, rng);
}

/* The same while other masters are silent, so that few are left to ask. Here leases may last as
 * long as they should: what an old disk lost may be an extension alone. */
static void draw_old_disk(struct sim_plan *plan, struct sim_rng *rng)
{
    bool sane = plan->sane;
    draw_backup(plan, rng);
    plan->sane = sane;
    plan->rounds = 6;
    plan->ttl_low_ms = plan->ttl_high_ms = sim_rng_chance(rng, 500) ? 1000 : 5000;
    plan->think_us = sim_rng_chance(rng, 500) ? 50 * 1000 : 500 * 1000;
    plan->fault_us = 300 * 1000;
    plan->extends = 600;
    plan->copies = one_of(rng, 5, 30, 150);
    plan->permille[SIM_FAULT_ROLLBACK] = plan->permille[SIM_FAULT_PROMOTE] = 0;
    plan->permille[SIM_FAULT_SERVER_CRASH] = sim_rng_chance(rng, 500) ? 100 : 0;
    plan->permille[SIM_FAULT_MASTER_RESTART] = sim_rng_chance(rng, 500) ? 100 : 0;
    if (sane)
        plan->permille[SIM_FAULT_VANISH] = 0;
}

/* All disks are trusted: none may have been put back, unseen by any server that was up. Settings
 * are weakened in half of these worlds: what was granted meanwhile must not have counted. */
static void draw_blackout(struct sim_plan *plan, struct sim_rng *rng)
{
    plan->permille[SIM_FAULT_ROLLBACK] = 0;
    plan->permille[SIM_FAULT_PROMOTE] = 0;
    plan->permille[SIM_FAULT_EVICT] = 0;
    plan->permille[SIM_FAULT_UNDURABLE] = sim_rng_chance(rng, 500) ? 300 : 0;
}

/* For so many worlds. */
static enum sim_world_kind draw_kind(struct sim_rng *rng)
{
    static const unsigned shares[SIM_WORLD_KINDS] = {
        [SIM_MIXED] = 5,    [SIM_QUEUE] = 1,    [SIM_STORM] = 5,    [SIM_AMNESIA] = 5,
        [SIM_BLACKOUT] = 1, [SIM_LOST] = 1,     [SIM_DUEL] = 1,     [SIM_HASTE] = 1,
        [SIM_BACKUP] = 1,   [SIM_RECKLESS] = 1, [SIM_TURNOVER] = 4, [SIM_OLD_DISK] = 1,
    };
    unsigned drawn = sim_rng_below(rng, WORLDS);
    unsigned kind = 0;
    for (; drawn >= shares[kind]; kind++)
        drawn -= shares[kind];
    return (enum sim_world_kind)kind;
}

/* The maker of its kind. */
static void draw_world(struct sim_plan *plan, struct sim_rng *rng)
{
    switch (plan->kind) {
    case SIM_QUEUE:
        draw_queue(plan, rng);
        break;
    case SIM_STORM:
        draw_storm(plan, rng);
        break;
    case SIM_AMNESIA:
        draw_amnesia(plan, rng);
        draw_reach(plan, rng, 200);
        break;
    case SIM_DUEL:
        draw_duel(plan, rng);
        break;
    case SIM_TURNOVER:
        draw_turnover(plan, rng);
        break;
    case SIM_HASTE:
        draw_haste(plan, rng);
        break;
    case SIM_BACKUP:
        draw_backup(plan, rng);
        break;
    case SIM_OLD_DISK:
        draw_old_disk(plan, rng);
        break;
    case SIM_BLACKOUT:
        draw_blackout(plan, rng);
        break;
    case SIM_LOST:
        plan->permille[SIM_FAULT_REPLACE] = 0; /* an old machine would remember */
        break;
    default:
        break;
    }
}

static void draw(struct sim_plan *plan, struct sim_rng *rng, unsigned masters)
{
    unsigned drawn = draw_masters(rng);
    plan->masters = masters ? masters : drawn;
    plan->sane = sim_rng_chance(rng, 500);
    plan->disaster_us = 1 + sim_rng_below(rng, DISASTER_MAX_US);
    draw_sizes(plan, rng);
    draw_habits(plan, rng);
    draw_times(plan, rng);
    draw_faults(plan, rng);
    plan->kind = draw_kind(rng);
    draw_world(plan, rng);
    plan->maintains = plan->masters > 1 && plan->extensions == FENCE_EXTENSIONS_MAX &&
                      sim_plan_recovers(plan) && sim_rng_chance(rng, MAINTAINS);
}

struct sim_plan sim_plan_of_seed(uint64_t seed, unsigned masters)
{
    struct sim_plan plan = {.kind = SIM_MIXED};
    struct sim_rng rng;
    sim_rng_init(&rng, seed, STREAM);
    draw(&plan, &rng, masters);
    sim_extras_of_seed(&plan, seed);
    return plan;
}

bool sim_plan_copies(const struct sim_plan *plan)
{
    return plan->permille[SIM_FAULT_RESTORE] > 0 || plan->permille[SIM_FAULT_PROMOTE] > 0 ||
           plan->permille[SIM_FAULT_ROLLBACK] > 0 || plan->kind == SIM_HASTE;
}

bool sim_plan_recovers(const struct sim_plan *plan)
{
    return plan->kind != SIM_DUEL && plan->kind != SIM_HASTE && plan->kind != SIM_RECKLESS;
}

bool sim_plan_remembers(const struct sim_plan *plan)
{
    static const enum sim_fault forgetful[] = {
        SIM_FAULT_MASTER_RESTART, SIM_FAULT_DISK_LOST, SIM_FAULT_FLUSH,
        SIM_FAULT_REPLACE,        SIM_FAULT_RESTORE,   SIM_FAULT_PROMOTE,
        SIM_FAULT_ROLLBACK,       SIM_FAULT_EVICT,     SIM_FAULT_CHANGE};
    for (unsigned f = 0; f < sizeof(forgetful) / sizeof(forgetful[0]); f++)
        if (plan->permille[forgetful[f]] > 0)
            return false;
    bool disaster = plan->kind == SIM_LOST || plan->kind == SIM_DUEL;
    return plan->sane && !disaster;
}

enum sim_persistence sim_plan_draw_persistence(const struct sim_plan *plan, struct sim_rng *rng)
{
    static const enum sim_persistence kinds[] = {SIM_ALWAYS, SIM_ALWAYS, SIM_EVERYSEC, SIM_NONE};
    if (plan->kind == SIM_BLACKOUT || plan->kind == SIM_HASTE || plan->kind == SIM_BACKUP ||
        plan->kind == SIM_OLD_DISK)
        return SIM_ALWAYS;
    return kinds[sim_rng_below(rng, sizeof(kinds) / sizeof(kinds[0]))];
}

uint32_t sim_plan_draw_rate(const struct sim_plan *plan, struct sim_rng *rng)
{
    uint32_t off = plan->sane ? SANE_RATE_PPM : WILD_RATE_PPM;
    if (sim_rng_chance(rng, EXTREME_RATES))
        return SIM_RATE_TRUE_PPM + (sim_rng_chance(rng, 500) ? off : -off);
    return sim_rng_between(rng, SIM_RATE_TRUE_PPM - off, SIM_RATE_TRUE_PPM + off);
}
