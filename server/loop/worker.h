/* A worker: a loop with its own HTTP server, driver and core, and its own connections to the
 * masters. Workers share the address they listen on and the metrics they show, and nothing else. To
 * the protocol a second worker is a second server. So nothing here is locked, and a process with
 * one worker needs no other thread than its first.
 *
 *     new --> run, on any one thread, until stop --> free
 */
#ifndef SERVER_LOOP_WORKER_H
#define SERVER_LOOP_WORKER_H

#include "api/auth/keyring.h"
#include "fence/protocol/ask.h"
#include "fence/protocol/error.h"
#include "server/loop/http_options.h"
#include "server/loop/masters.h"
#include "server/loop/metrics.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
    SERVER_WORKERS_MAX = SERVER_DOORS_WORKERS,
};

/* All is borrowed for the worker's life, but the URLs of @places only for the call. */
struct server_worker_config {
    unsigned index;             /* 0 .. workers - 1 */
    unsigned workers;           /* of the process */
    struct server_doors *doors; /* it takes its own */
    const struct server_http_options *http;
    struct api_keyring *keys; /* NULL: everybody may call everything */
    struct server_places places;
    unsigned deadline_ms; /* silence after which a master counts as gone */
    unsigned probe_ms;    /* from one probe of a master to the next */
    enum fence_ask ask;
    uint32_t connections_max;       /* of clients, */
    uint32_t waiters_max;           /* of the process, like all bounds: a worker has its share */
    uint32_t counters_max;          /* named counters beyond which none is made, of the fleet */
    struct server_metrics *metrics; /* one for each worker */
    const char *version;            /* of the program */
};

struct server_worker;

/* Makes a worker that serves at its doors of @config->doors. Returns 0, or the exit status: the
 * reason is on stderr then. */
FENCE_CHECKED int server_worker_new(const struct server_worker_config *config,
                                    struct server_worker **ret_worker);

/* Serves until it is stopped. Calls that wait then are answered so. May run on a thread of its own.
 */
void server_worker_run(struct server_worker *worker);

/* Asks a worker to end: it accepts nothing more, and has a second for the calls under way. Any
 * thread, until the worker is freed; more than once is fine. */
void server_worker_stop(struct server_worker *worker);

/* The loop must hold no handle of others' that is not being closed. NULL is fine. Not while it
 * runs. */
void server_worker_free(struct server_worker *worker);

/* The loop, for what belongs to the process and not to a worker. */
uv_loop_t *server_worker_loop(struct server_worker *worker);

#endif
