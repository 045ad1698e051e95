/* The messages of pawld to a service manager (server/system/notify.h): that it serves, reloads its
 * settings, or ends. Also the watchdog: pawld reports that it is alive only while the loop of every
 * worker turns. If one loop is stuck, the manager hears nothing more, and restarts the service.
 *
 * The timer and all these functions belong to the loop of the first worker. */
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
    bool turned;                        /* all loops have turned once */
    bool ready;                         /* the manager was told so */
    bool took_place;                    /* this process replaces another: the manager learns our
                                         * process id once a majority votes. Until then the other
                                         * process may continue */
    /* Each look calls this function until the function returns true. @ready: every worker sees that
     * a majority of masters votes. NULL: no receiver. */
    bool (*serving)(void *context, bool ready);
    void *context;
    bool stopping;
};

/* Finds the manager. Call it before anything else: it changes the environment. */
void pawld_supervisor_open(struct pawld_supervisor *supervisor);
void pawld_supervisor_close(struct pawld_supervisor *supervisor);

/* Starts to watch @count @workers, which are about to run, and sends READY=1 once they all run. The
 * caller's memory, until the end and until the loop has run once more after it. */
void pawld_supervise(struct pawld_supervisor *supervisor, struct server_worker *const workers[],
                     unsigned count);
void pawld_supervise_end(struct pawld_supervisor *supervisor);

/* Call them before and after a reload. */
void pawld_supervise_reloading(struct pawld_supervisor *supervisor);
void pawld_supervise_reloaded(struct pawld_supervisor *supervisor);

/* The service ends, within @most_ms. */
void pawld_supervise_stopping(struct pawld_supervisor *supervisor, uint64_t most_ms);

#endif
