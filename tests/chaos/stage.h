/* Everything that takes part, each a real process: five masters of different persistence, two
 * pawld, the ledger, client processes, a Sentinel; and the links between them.
 *
 *     client --door--> pawld --link--> master <--feed-- replica   (each arrow but the ledger's is
 *        `-----------> ledger                                      a link of the proxy)
 *
 * One thread. A program that cannot start ends the test. */
#ifndef TESTS_CHAOS_STAGE_H
#define TESTS_CHAOS_STAGE_H

#include "tests/chaos/history.h"
#include "tests/chaos/master.h"
#include "tests/chaos/sentinel.h"
#include "tests/lib/pawl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STAGE_MASTERS = 5,
    STAGE_MAJORITY = 3,
    STAGE_PAWLDS = 2,
    STAGE_CLIENTS = 8,       /* processes */
    STAGE_THREADS = 7,       /* clients in each, */
    STAGE_COUNTING = 2,      /* clients that only take values of counters */
    STAGE_NAMES = 8,         /* that the clients fight for; beside them come seldom ones */
    STAGE_TTL_MAX_MS = 1000, /* for the fleet: how long one that forgot waits */
    STAGE_REASON_MAX = 24,
};

struct stage_pawld {
    uint16_t port;
    unsigned door;                /* the link that clients come by */
    unsigned link[STAGE_MASTERS]; /* those to the masters */
    struct process *process;      /* NULL while it is down */
};

struct stage {
    char *dir; /* files of all of them */
    char *shim;
    struct proxy *proxy;
    struct observer *observer; /* NULL: nothing stands between pawld and masters */
    struct chaos_master master[STAGE_MASTERS];
    unsigned feed[STAGE_MASTERS]; /* the link that a replica of the master comes by */
    unsigned masters_made;
    struct sentinel sentinel; /* watches no master */
    struct stage_pawld pawld[STAGE_PAWLDS];
    struct pawl_service ledger;
    struct process *client[STAGE_CLIENTS]; /* NULL while it is down */
    unsigned clients_made;                 /* each draws from its own seed */
    uint64_t seed;
};

/* Starts all. The fleet is new and ready; clients run already. @traced: each pawld traces its
 * decisions in its log, and what masters do is written to the file "masters" (observer.h). */
struct stage *stage_new(bool guarded, uint64_t seed, bool traced);

/* Ends all, and removes the files, unless they were moved. NULL is fine. */
void stage_free(struct stage *stage);

/* Ends the clients and the ledger, so that nothing more is written down. */
void stage_end_clients(struct stage *stage);

void stage_pawld_start(struct stage *stage, unsigned i);
void stage_pawld_kill(struct stage *stage, unsigned i);

void stage_client_start(struct stage *stage, unsigned i);
void stage_client_kill(struct stage *stage, unsigned i);

/* Makes another machine in place of master @i: empty, at another port. The one before becomes
 * *@ret_old, which the caller ends; no link is changed. */
void stage_master_replace(struct stage *stage, unsigned i, struct chaos_master *ret_old);

/* Makes one more server, a copy or replica for master @i, which the caller ends. It may not be up
 * yet when this returns. No link leads to it. */
void stage_master_add(struct stage *stage, unsigned i, enum redis_persistence kept,
                      struct chaos_master *ret_other);

/* From now on the address of master @i, as the pawld in the set @pawlds know it, leads to
 * 127.0.0.1:@port. Their connections are reset. */
void stage_master_point(struct stage *stage, unsigned i, unsigned pawlds, uint16_t port);

/* The words of a pawld about the masters. */
struct stage_sight {
    bool answered;   /* soon; if not, no master is active */
    unsigned active; /* the set of masters (bit i) */
    char reason[STAGE_MASTERS]
               [STAGE_REASON_MAX]; /* the word for each that is not active: one word */
};

/* The present words of pawld @i. */
void stage_look(const struct stage *stage, unsigned i, struct stage_sight *ret_sight);

/* Only the set. */
unsigned stage_active(const struct stage *stage, unsigned i);

/* Prints what pawld @i says of each master. */
void stage_print_masters(const struct stage *stage, unsigned i);

/* The process that ended by itself, though none may: its name, or NULL. Its output is in @dir. */
const char *stage_fallen(const struct stage *stage);

/* The place of the history and the database; to be freed by the caller. */
char *stage_history_path(const struct stage *stage);
char *stage_database_path(const struct stage *stage);

#endif
