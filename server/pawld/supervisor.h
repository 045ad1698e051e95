/* The messages of pawld to a service manager (server/system/notify.h): that it serves, reads
 * settings again, or ends. And the watchdog: the manager is told that pawld lives only while the
 * loop of every worker turns. If one is stuck the manager hears nothing more, and restarts the
 * service.
 *
 * Its timer belongs to the loop of the first worker, and so do all of these functions. */
#ifndef SERVER_PAWLD_SUPERVISOR_H
#define SERVER_PAWLD_SUPERVISOR_H

#include "server/loop/worker.h"
#include "server/system/notify.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
    PAWLD_READY_LOOK_MS = 10, /* between two looks whether all loops turn, at the start */
};

struct pawld_supervisor {
    struct server_notify notify;
    uv_timer_t timer;
    struct server_worker *const *workers; /* borrowed */
    unsigned count;
    uint64_t turns[SERVER_WORKERS_MAX]; /* turns of each at the last look */
    uint64_t watchdog_ms;               /* between two looks; 0: no receiver */
    bool turned;                        /* all loops have, once */
    bool ready;                         /* and that was told */
    bool took_place;                    /* of another process: the manager is told our id, once a
                                         * majority votes. Until then that one may go on */
    /* Each look tells whether a majority of masters votes, as every worker sees it, until the
     * function returns true. NULL: no receiver. */
    bool (*serving)(void *context, bool ready);
    void *context;
    bool stopping;
};

/* Finds out whom to tell. First of all: it changes the environment. */
void pawld_supervisor_open(struct pawld_supervisor *supervisor);
void pawld_supervisor_close(struct pawld_supervisor *supervisor);

/* Starts to watch @count @workers, which are about to run, and says READY=1 once they all do. The
 * caller's memory, until the end and until the loop has run once more after it. */
void pawld_supervise(struct pawld_supervisor *supervisor, struct server_worker *const workers[],
                     unsigned count);
void pawld_supervise_end(struct pawld_supervisor *supervisor);

/* Before and after a reload. */
void pawld_supervise_reloading(struct pawld_supervisor *supervisor);
void pawld_supervise_reloaded(struct pawld_supervisor *supervisor);

/* The service ends, within @most_ms. */
void pawld_supervise_stopping(struct pawld_supervisor *supervisor, uint64_t most_ms);

#endif
