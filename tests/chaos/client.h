/* One client of a chaos run, and what it holds. */
#ifndef TESTS_CHAOS_CLIENT_H
#define TESTS_CHAOS_CLIENT_H

#include "fence/protocol/limits.h"
#include "tests/chaos/history.h"
#include "tests/sim/world/rng.h"

#include <pthread.h>
#include <stdint.h>

enum {
    CLIENT_DOORS = 2,     /* one for each pawld */
    CLIENT_LOCKS_MAX = 3, /* at once */
};

struct client_config {
    uint16_t door[CLIENT_DOORS];
    unsigned doors;
    uint16_t ledger;
    const char *history_path;
    unsigned first; /* number of the first client of this process */
    unsigned threads;
    unsigned counting; /* clients that only take values of counters */
    unsigned names;    /* 0 .. @names - 1 are names that all fight for */
    uint64_t seed;
};

struct client {
    pthread_t thread;
    const struct client_config *config;
    struct sim_rng rng;
    unsigned number; /* in the history */
    unsigned turns;  /* begun so far */
    int history;
};

/* The wishes of a client in one turn, and has if it is granted: one lock or several, under one lock
 * id. */
struct hold {
    unsigned turn;
    enum history_ask ask; /* how it was asked for last */
    unsigned count;
    unsigned name[CLIENT_LOCKS_MAX];
    int64_t token[CLIENT_LOCKS_MAX];
    unsigned ttl_ms;
    char lock_id[FENCE_LOCK_ID_MAX + 1]; /* "": the service is to make it */
};

#endif
