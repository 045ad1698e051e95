/* A simulated master: the rules of fence/master, on a machine that restarts, loses writes and
 * forgets.
 *
 * The memory of a Redis is one struct, so it is lost as one. A Redis with appendfsync always
 * has the same on its disk at any moment, one with everysec has what it saved some time ago, and
 * one without persistence has nothing. A running Redis may be given other settings: while its
 * append-only file is off, its disk stays as it was.
 *
 * The lineage is what the data of a process descend from. It changes with whatever may have taken
 * something back: a restart, a turn as a replica, an eviction; and with some things that took
 * nothing. */
#ifndef TESTS_SIM_MASTERS_MASTER_H
#define TESTS_SIM_MASTERS_MASTER_H

#include "tests/sim/world/clock.h"
#include "tests/sim/world/message.h"

#include <stdbool.h>

struct sim_lock {
    bool present;
    bool by_copy; /* a copy of its TAKE took it, after an earlier turn of the same attempt */
    uint32_t lock;
    uint32_t extensions;
    uint64_t attempt; /* SIM_ADOPTED: it is the holder's, and no attempt's to undo */
    int64_t number;
    bool imported;            /* another master gave the number */
    uint32_t from;            /* imported: a set of the masters where it was countable, */
    uint32_t seen;            /* and of all that had it; only for mutants */
    uint32_t delay_ms;        /* that its owner names */
    bool writes;              /* and whether it is a writer's */
    uint64_t expires_us;      /* on the master's own clock */
    uint64_t waited_until_us; /* a call that frees it before then has to say so: when its lease was
                               * to end as somebody was last told to wait; 0: no call waits */
    int64_t waited_ticket;    /* the lowest of the waiters; 0: there is none */
    int64_t next_ticket; /* the free lock is kept for it until next_until_us; 0: for no waiter */
    uint64_t next_until_us;
    struct sim_told {
        int64_t lowest;
        uint64_t until_us;
        int64_t kept;
        uint64_t kept_until_us;
    } told; /* the same as W5 has it (promises/next.h) */
};

#define SIM_ADOPTED UINT64_C(0)

/* That the grant of @lock with @token, and each before it, was broken. */
struct sim_note {
    uint32_t resource;
    uint32_t lock;
    int64_t token;
    uint64_t expires_us; /* on the master's own clock; 0: none is here */
};

enum {
    SIM_NOTES_MAX = 32, /* beyond these the one goes that ends first */
};

struct sim_memory {
    bool tainted; /* it lost something since it was admitted, and a restart would hide that */
    struct sim_marker marker;
    struct sim_counters counters;
    int64_t named[SIM_RESOURCES_MAX]; /* counters by name, apart from those of slots; 0: none */
    struct sim_lock locks[SIM_RESOURCES_MAX];
    struct sim_note notes[SIM_NOTES_MAX];
};

struct sim_master {
    struct sim_clock clock;
    uint32_t slots;      /* counters in use: resource r counts in slot r mod slots */
    uint32_t resources;  /* in use */
    uint32_t extensions; /* cap on the extensions of one grant */
    unsigned majority;   /* majority of the fleet */
    unsigned member;     /* at whose address it stands, or stood */
    uint32_t run;
    uint32_t lineage;
    uint32_t first;   /* lineage of this process, and the first one after the last change that */
    uint32_t harmed;  /* may have taken something */
    bool was_replica; /* and this process knows */
    enum sim_persistence usual;       /* its configuration when it starts, */
    enum sim_persistence persistence; /* and now */
    uint64_t stopped_until_us;        /* true time; 0: runs */
    struct sim_memory memory;
    struct sim_memory disk; /* its memory after a crash, unless @persistence is ALWAYS */
    struct sim_memory copy; /* copy of its memory, some time ago: a backup, or a replica's */
    bool copied;
};

/* The slot whose counter gives @resource its numbers. */
uint32_t sim_master_slot(const struct sim_master *master, uint32_t resource);

/* The next number that it gives out would be one more than this. */
int64_t sim_master_counter(const struct sim_master *master, uint32_t slot);

/* How many named counters it has. */
uint32_t sim_master_names(const struct sim_master *master);

/* The lock of @resource goes, as if its time had come. False if there was none. */
bool sim_master_expire(struct sim_master *master, uint32_t resource);

/* It restarts, as run @run with lineage @lineage, with what its persistence kept; with nothing if
 * its disk is @lost. Its settings are the usual ones. */
void sim_master_restart(struct sim_master *master, uint32_t run, uint32_t lineage, bool lost);

/* It restarts on its copy. Reports whether the new process knows that it was a replica. */
void sim_master_restore(struct sim_master *master, uint32_t run, uint32_t lineage,
                        bool was_replica);

/* The same process becomes a replica of its copy, and is promoted. */
void sim_master_roll_back(struct sim_master *master, uint32_t lineage);

/* Its lineage changes. @harmed: it may have lost something by it. */
void sim_master_change(struct sim_master *master, uint32_t lineage, bool harmed);

/* Other settings, while it runs. */
void sim_master_configure(struct sim_master *master, enum sim_persistence persistence);

/* FLUSHALL: everything goes, from its disk too. */
void sim_master_flush(struct sim_master *master);

/* The end of what an everysec master wrote reaches its disk. */
void sim_master_save(struct sim_master *master);

/* Its copy is created again. */
void sim_master_copy(struct sim_master *master);

/* Reports whether its marker says durable, and its settings no longer are. */
bool sim_master_undurable(const struct sim_master *master);

/* The locks that have run out go. */
void sim_master_expire_due(struct sim_master *master, uint64_t local_us);

/* Executes @request at true time @now_us, wholly and at once. @copy: it is one. */
struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    bool copy, uint64_t now_us);

#endif
