/* A simulated master: what the scripts in storage/lua/ do to the keys, as data.
 *
 * What Redis holds in memory is one struct, so it is lost as one. A Redis with appendfsync always
 * has the same on its disk at any moment, one with everysec has what it saved some time ago, and
 * one without persistence has nothing. Of one with always there may be a backup. */
#ifndef SIM_MASTER_H
#define SIM_MASTER_H

#include "tests/sim/clock.h"
#include "tests/sim/message.h"

#include <stdbool.h>

struct sim_lock {
    bool present;
    bool by_copy; /* a copy of its TAKE took it, after an earlier turn of the same attempt */
    uint32_t lock;
    uint32_t extensions;
    uint64_t attempt; /* SIM_ADOPTED: it is the holder's, and no attempt's to undo */
    int64_t number;
    int64_t made; /* the master's incarnation when it gave the number; 0: by a server's lock id */
    uint64_t expires_us; /* by the master's own clock */
    bool waited_for;     /* whoever frees it has to say so */
};

#define SIM_ADOPTED UINT64_C(0)

struct sim_memory {
    struct sim_marker marker;
    struct sim_counters counters;
    struct sim_lock locks[SIM_RESOURCES_MAX];
};

struct sim_master {
    struct sim_clock clock;
    uint32_t slots;      /* counters in use: resource r counts in slot r mod slots */
    uint32_t resources;  /* in use */
    uint32_t extensions; /* cap on the extensions of one grant */
    unsigned member;     /* at whose address it stands, or stood */
    uint32_t run;
    enum sim_persistence persistence;
    uint64_t stopped_until_us; /* true time; 0: runs */
    struct sim_memory memory;
    struct sim_memory disk; /* EVERYSEC: what it would find after a crash; ALWAYS: a backup */
};

/* The slot whose counter gives @resource its numbers. */
uint32_t sim_master_slot(const struct sim_master *master, uint32_t resource);

/* The next number that it gives out would be one more than this. */
int64_t sim_master_counter(const struct sim_master *master, uint32_t slot);

/* The lock of @resource goes, as if its time had come. False if there was none. */
bool sim_master_expire(struct sim_master *master, uint32_t resource);

/* It restarts, as run @run, with what its persistence kept; with nothing if its disk is @lost. */
void sim_master_restart(struct sim_master *master, uint32_t run, bool lost);

/* It restarts, as run @run, from its backup: with what it had when it last saved. */
void sim_master_restore(struct sim_master *master, uint32_t run);

/* FLUSHALL: everything goes, from its disk too. */
void sim_master_flush(struct sim_master *master);

/* The end of what an everysec master wrote reaches its disk; of another, a backup is made. */
void sim_master_save(struct sim_master *master);

/* Executes @request at true time @now_us, wholly and at once. @copy: it is one. */
struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    bool copy, uint64_t now_us);

#endif
