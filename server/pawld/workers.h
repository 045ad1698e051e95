/* The workers of a process, side by side: the first worker on the main thread, each other worker on
 * a separate thread. The loop of the first worker gets the signals, so that worker ends last. */
#ifndef SERVER_PAWLD_WORKERS_H
#define SERVER_PAWLD_WORKERS_H

#include "server/loop/worker.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    PAWLD_STUCK_S = 2, /* time for a worker to end once the first one waits for it */
};

/* All zero: none. */
struct pawld_workers {
    unsigned made;
    unsigned started; /* the first one included */
    struct server_worker *worker[SERVER_WORKERS_MAX];
    struct pawld_worker_thread {
        struct pawld_workers *workers;
        unsigned index;
        pthread_t thread; /* unused for the first worker, which has the main thread */
    } threads[SERVER_WORKERS_MAX];
    atomic_uint others; /* workers that run on those threads */
};

/* Makes @count workers with @config, which lacks index and others. Returns an exit status;
 * pawld_workers_free() frees the workers that were made. */
FENCE_CHECKED int pawld_workers_make(struct pawld_workers *workers,
                                     const struct server_worker_config *config, unsigned count);

/* Calls @act for each worker. */
void pawld_workers_each(struct pawld_workers *workers, void (*act)(struct server_worker *worker));

/* Starts the threads. Returns an exit status; if a thread cannot start, the earlier threads run. */
FENCE_CHECKED int pawld_workers_start(struct pawld_workers *workers);

/* Runs the first worker on this thread until it is stopped, and waits for the other started
 * workers. Ends the process if one of them is stuck. */
void pawld_workers_run(struct pawld_workers *workers);

void pawld_workers_free(struct pawld_workers *workers);

#endif
