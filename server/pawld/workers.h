/* The workers of a process, side by side: the first on the main thread, each other one on its own.
 * Signals come to the loop of the first one, so that one ends last. */
#ifndef SERVER_PAWLD_WORKERS_H
#define SERVER_PAWLD_WORKERS_H

#include "server/loop/worker.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PAWLD_STUCK_S = 2, /* for a worker to end after the first one, which ends last */
};

/* All zero: none. */
struct pawld_workers {
    unsigned made;
    unsigned started; /* the first one included */
    struct server_worker *worker[SERVER_WORKERS_MAX];
    struct pawld_worker_thread {
        struct pawld_workers *workers;
        unsigned index;
        pthread_t thread; /* the first worker needs none: it has the main one */
    } threads[SERVER_WORKERS_MAX];
    atomic_uint others; /* workers that run on those threads */
};

/* Makes @count workers by @config, which lacks what differs: index and others. Returns an exit
 * status; pawld_workers_free() frees those that were made. */
FENCE_CHECKED int pawld_workers_make(struct pawld_workers *workers,
                                     const struct server_worker_config *config, unsigned count);

/* Has each of them do @act. */
void pawld_workers_each(struct pawld_workers *workers, void (*act)(struct server_worker *worker));

/* Starts the threads. Returns an exit status: where a thread cannot start, those before it run. */
FENCE_CHECKED int pawld_workers_start(struct pawld_workers *workers);

/* Runs the first worker on this thread until it is stopped, and waits for the others that were
 * started. Ends the process where one of them is stuck. */
void pawld_workers_run(struct pawld_workers *workers);

void pawld_workers_free(struct pawld_workers *workers);

#endif
