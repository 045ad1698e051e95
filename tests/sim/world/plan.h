/* The parts of one seed: how many of everything, and what goes wrong how often.
 *
 * Not every fault in every world: what is always there hides what needs its absence. So each world
 * has its own choice of faults, each with its own rate ("Swarm testing", Groce et al. 2012). */
#ifndef TESTS_SIM_WORLD_PLAN_H
#define TESTS_SIM_WORLD_PLAN_H

#include "fence/protocol/ask.h"
#include "tests/sim/world/message.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_SERVERS_MAX = 3,
    SIM_CLIENTS_MAX = 8,
    SIM_LEFT_OUT_MAX = 64, /* for the faults of one kind, the first so many can be left out */
};

/* The kind of this world. In all but LOST, DUEL, HASTE and RECKLESS a majority that remembers is
 * left at any time, so that all is well again in the end. */
enum sim_world_kind {
    SIM_MIXED,    /* anything, in moderation */
    SIM_QUEUE,    /* many wait long for few locks, and words are lost */
    SIM_STORM,    /* one lock, and attempts that cross half-way */
    SIM_AMNESIA,  /* masters that forget, and rejoin, and forget */
    SIM_BLACKOUT, /* durable masters, which all restart at once */
    SIM_LOST,     /* a majority forgets at once: no grant until an operator mends it */
    SIM_DUEL,     /* a replaced master and its old machine, each believed by one server */
    SIM_TURNOVER, /* locks outlive the masters under them */
    SIM_HASTE,    /* masters that are wiped, rolled back or restarted while they are imported */
    SIM_BACKUP,   /* durable masters that come back as they were some time ago, one at a time */
    SIM_OLD_DISK, /* the same while others are silent, so that its disk may have to be believed */
    SIM_RECKLESS, /* a master that forgets forgets: there may be no way back */
    SIM_WORLD_KINDS,
};

enum sim_fault {
    /* for each message */
    SIM_FAULT_SLOW,         /* it takes long, perhaps longer than any lease */
    SIM_FAULT_LAG,          /* a RECORD does, and what is sent behind it */
    SIM_FAULT_DUPLICATE,    /* a request is executed again, some time later */
    SIM_FAULT_REPLAY,       /* an earlier request is executed again, just before this one */
    SIM_FAULT_BREAK,        /* the connection ends: some of what is on its way arrives, some not */
    SIM_FAULT_HALF_OPEN,    /* the same, and no client is told */
    SIM_FAULT_VANISH,       /* the lock that it is about goes just before: a clock did anything */
    SIM_FAULT_MASTER_STOP,  /* the point where a request arrives, and continues later */
    SIM_FAULT_SERVER_PAUSE, /* the point where a reply arrives */
    SIM_FAULT_PAGES,        /* a page of locks is not to be had */
    /* for each turn of a client */
    SIM_FAULT_CLIENT_PAUSE,
    SIM_FAULT_CLIENT_LEAVES,
    SIM_FAULT_ANSWER_LOST, /* on its way to the client, who is told that */
    /* now and then */
    SIM_FAULT_MASTER_RESTART, /* with what reached its disk */
    SIM_FAULT_DISK_LOST,      /* it restarts empty */
    SIM_FAULT_FLUSH,          /* it runs on, empty */
    SIM_FAULT_RESTORE,        /* it restarts from a backup; only in worlds that are about that */
    SIM_FAULT_PROMOTE,        /* its replica does, which knows that it was one */
    SIM_FAULT_ROLLBACK,       /* it runs on as it was some time ago */
    SIM_FAULT_EVICT,          /* it runs on without one of its locks */
    SIM_FAULT_CHANGE,         /* its lineage changes, and nothing is lost */
    SIM_FAULT_UNDURABLE,      /* it runs on with weaker settings, for a while */
    SIM_FAULT_REPLACE,        /* another machine gets its address; connections to it stay */
    SIM_FAULT_SERVER_CRASH,
    SIM_FAULT_CUT,        /* some masters cannot be reached from one server, for a while */
    SIM_FAULT_CLOCK_JUMP, /* clock of a master, or forward of a server */
    SIM_FAULTS,
};

struct sim_plan {
    enum sim_world_kind kind;
    unsigned masters;
    unsigned servers;
    unsigned quiet; /* number of the servers, the first so many have no clients */
    bool partial;   /* each of the others cannot reach one of the masters: its grants are had by so
                     * few that none of them can be spared */
    unsigned clients;
    unsigned resources;
    unsigned slots;  /* fewer than resources: some share a counter */
    bool shared;     /* part of these seats, to read and to write; some acquires want one of them as
                        well */
    bool seats;      /* the resources are the seats of one name, and acquires want one of them */
    unsigned rounds; /* acquires a client */
    unsigned extensions; /* cap */
    unsigned calls;      /* a core takes at a time, and how many of them may wait */
    unsigned waiters;
    unsigned owed; /* locks a majority may owe, before calls wait; 0: as many as in the service */
    uint32_t ttl_low_ms;
    uint32_t ttl_high_ms;
    uint32_t waits; /* per mille of the acquires, so long at most */
    uint32_t wait_high_ms;
    uint32_t extends; /* per mille of the turns of a holder */
    uint32_t own_ids; /* per mille of the acquires: with a lock id of the client's own, */
    uint32_t twice;   /* counts those: the client asks twice at once, */
    uint32_t groups;  /* and where there are several resources, of more than one of them */
    uint32_t counts;  /* per mille of the turns of a client: it counts instead, */
    uint32_t breaks;  /* and it breaks a grant instead, */
    uint32_t closes;  /* locks, of a thousand, have a delay; releases, and keep theirs closed */
    uint32_t watches; /* and it watches a lock instead, */
    uint32_t watch_high_ms; /* for so long at most */
    uint32_t words_lost;    /* per mille of what masters publish when a lock is released */
    uint32_t think_us;      /* at most, between two acts of a client */
    uint32_t delay_low_us;
    uint32_t delay_high_us;
    unsigned slowness;  /* some connections are slower than others: 2 to at most this power */
    uint32_t slow_us;   /* at most, a slow message and a late duplicate */
    uint32_t outage_us; /* at most, a stop, a pause, a cut */
    uint32_t copies;    /* per mille of the requests to a master: a copy of it is made */
    uint32_t fault_us;  /* between two chances of the faults "now and then" */

    /* Clocks keep within the drift bound and locks last as long as they should: only here can
     * exclusion hold. Elsewhere clocks run as they like, and only the order of tokens is left. */
    bool sane;
    enum fence_ask ask;
    bool clear;     /* nothing goes wrong but clients */
    bool lists;     /* somebody lists the held locks */
    bool maintains; /* at the end, masters are replaced while a lock is kept by extension */
    bool calm; /* QUEUE: clocks are sane, all words arrive, and nothing goes wrong but clients */
    uint32_t permille[SIM_FAULTS];
    uint64_t disaster_us; /* BLACKOUT, LOST, DUEL: when it comes */
    bool blank;           /* the fleet is still to be made when the world begins */
    bool early;           /* LOST: the operator comes at once, while all else goes wrong */

    /* Set by the shrinker: bit k, the fault of that kind that would have been its k-th does not
     * strike.
     */
    uint64_t left_out[SIM_FAULTS];
};

/* The plan that a seed makes. @masters: 0 lets the seed choose. */
struct sim_plan sim_plan_of_seed(uint64_t seed, unsigned masters);

/* The rate of a clock in this world, for sim_clock. */
uint32_t sim_plan_draw_rate(const struct sim_plan *plan, struct sim_rng *rng);

/* The memory that a master of this world keeps. */
enum sim_persistence sim_plan_draw_persistence(const struct sim_plan *plan, struct sim_rng *rng);

/* Reports whether older copies of masters are kept, to be put back. */
bool sim_plan_copies(const struct sim_plan *plan);

/* Reports whether all must be well in the end. */
bool sim_plan_recovers(const struct sim_plan *plan);

/* Reports whether all masters keep what they know as long as they should. */
bool sim_plan_remembers(const struct sim_plan *plan);

const char *sim_fault_name(enum sim_fault fault);
const char *sim_world_kind_name(enum sim_world_kind kind);

#endif
