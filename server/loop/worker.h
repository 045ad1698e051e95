/* A worker: a loop with its own HTTP server, driver and core, and its own connections to the
 * masters. Workers share the address they listen on and the metrics they show, and nothing else. To
 * the protocol a second worker is a second server. So nothing here is locked, and a process with
 * one worker needs no other thread than its first.
 *
 *     new --> run, on any one thread, until it ends --> free
 *
 * The end of a run:
 *
 *     SERVING --stop--> LEAVING --the lead is over--> DRAINING --idle, or time is up--> ended
 *        '-----------------'-------halt-----------------'-----------------------------> ended
 *
 * A worker that leaves is not ready, and serves all calls. Each connection ends with its next
 * answer. One that drains grants nothing more (503 stopping), and tells those that wait. Holders
 * can still extend and release, over new connections too. It is idle when all calls are answered;
 * open connections without one do not hold it up.
 *
 * A worker whose doors another process has by now, as it was handed over, lets nobody in. It serves
 * those that are connected, and each connection ends with its next answer. It drains when all have
 * gone, or when the time of a drain is over. */
#ifndef SERVER_LOOP_WORKER_H
#define SERVER_LOOP_WORKER_H

#include "api/auth/keyring.h"
#include "fence/protocol/ask.h"
#include "fence/protocol/error.h"
#include "server/loop/http_options.h"
#include "server/loop/masters.h"
#include "server/loop/metrics.h"
#include "server/system/line_writer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
    SERVER_WORKERS_MAX = SERVER_DOORS_WORKERS,
    SERVER_LEAD_MS = 0, /* by default; both have the bound of SERVER_ENDS_MAX_MS */
    SERVER_DRAIN_MS = 10 * 1000,
    SERVER_ENDS_MAX_MS = 600 * 1000,
};

/* How a worker ends, in milliseconds. */
struct server_worker_ends {
    uint32_t lead_ms;  /* /readyz says no, and all is served: until a load balancer has seen it */
    uint32_t drain_ms; /* after that, the longest time for the calls under way */
};

/* All is borrowed for the worker's life, but the URLs of @places only for the call. */
struct server_worker_config {
    unsigned index;             /* 0 .. workers - 1 */
    unsigned workers;           /* of the process */
    struct server_doors *doors; /* it takes its own */
    const struct server_http_options *http;
    struct api_keyring *keys; /* NULL: everybody may call everything */
    struct server_places places;
    bool takes_over;      /* another process serves at its doors until this one is ready */
    unsigned deadline_ms; /* silence after which a master counts as gone */
    unsigned probe_ms;    /* from one probe of a master to the next */
    enum fence_ask ask;
    uint32_t connections_max;         /* of clients, */
    uint32_t waiters_max;             /* of the process, like all bounds: a worker has its share */
    uint32_t counters_max;            /* named counters beyond which none is made, of the fleet */
    struct server_metrics *metrics;   /* one for each worker */
    const char *version;              /* of the program */
    struct server_line_writer *audit; /* NULL: no audit log; borrowed */
    struct server_worker_ends ends;
    const atomic_uint *others; /* workers on other threads that run: this one ends after them.
                                * NULL: it waits for none */

    /* Has the worker take up what was reloaded: on its thread, with its index. NULL: nothing. */
    void (*reloaded)(void *context, unsigned index);
    void *reloaded_context;
};

struct server_worker;

#define SERVER_TURNS_ENDED UINT64_MAX

/* Makes a worker that serves at its doors of @config->doors. Returns 0, or the exit status: the
 * reason is on stderr then. */
FENCE_CHECKED int server_worker_new(const struct server_worker_config *config,
                                    struct server_worker **ret_worker);

/* Serves until it is stopped. Calls that wait then are answered so. May run on a thread of its own.
 */
void server_worker_run(struct server_worker *worker);

/* Orders to a worker. Any thread, until the worker is freed; more than once is fine. */
void server_worker_stop(struct server_worker *worker);      /* to end, as above */
void server_worker_hand_over(struct server_worker *worker); /* the same, handed over */
void server_worker_halt(struct server_worker *worker);      /* to end at once */
void server_worker_reload(struct server_worker *worker);    /* to call config.reloaded */
void server_worker_look(struct server_worker *worker); /* at config.others, which became fewer */

/* The loop must hold no handle of others' that is not being closed. NULL is fine. Not while it
 * runs. */
void server_worker_free(struct server_worker *worker);

/* Whether a majority of the masters votes, as it sees them. Any thread. */
bool server_worker_ready(const struct server_worker *worker);

/* How often its loop has turned; SERVER_TURNS_ENDED once its run has ended. Any thread. */
uint64_t server_worker_turns(const struct server_worker *worker);

/* The loop, for what belongs to the process and not to a worker. */
uv_loop_t *server_worker_loop(struct server_worker *worker);

#endif
