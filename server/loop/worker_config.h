/* The parts of a worker, and its bounds. */
#ifndef SERVER_LOOP_WORKER_CONFIG_H
#define SERVER_LOOP_WORKER_CONFIG_H

#include "api/auth/keyring.h"
#include "fence/protocol/ask.h"
#include "server/loop/event_ring.h"
#include "server/loop/http_options.h"
#include "server/loop/masters.h"
#include "server/loop/metrics.h"
#include "server/system/line_writer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_WORKERS_MAX = SERVER_LISTENERS_WORKERS,
    SERVER_LEAD_MS = 0, /* the default; both have the bound of SERVER_ENDS_MAX_MS */
    SERVER_DRAIN_MS = 10 * 1000,
    SERVER_ENDS_MAX_MS = 600 * 1000,
};

/* How a worker ends, in milliseconds. */
struct server_worker_ends {
    uint32_t lead_ms;  /* /readyz fails while all calls are still served: until a load balancer
                        * has noticed */
    uint32_t drain_ms; /* after the lead, the longest time for the calls under way */
};

/* All pointers are borrowed for the worker's life. The URLs of @addresses are borrowed for the
 * call. */
struct server_worker_config {
    unsigned index;                     /* 0 .. workers - 1 */
    unsigned workers;                   /* number in the process */
    struct server_listeners *listeners; /* the worker takes its own */
    const struct server_http_options *http;
    struct api_keyring *keys; /* NULL: every caller has all rights */
    struct server_addresses addresses;
    bool takes_over;      /* another process serves at its listeners until this one is ready */
    unsigned deadline_ms; /* silence after which a master counts as down */
    unsigned probe_ms;    /* between two probes of a master */
    enum fence_ask ask;
    uint32_t connections_max;         /* limit of client connections */
    bool traces;                      /* log each decision of the core */
    const char *trace_lock;           /* if not NULL, log only decisions about this lock;
                                       * borrowed */
    uint32_t waiters_max;             /* for the process, like all bounds: each worker has a
                                       * share */
    uint32_t counters_max;            /* limit of named counters of the fleet: a new one is not
                                       * created beyond it */
    uint32_t ttl_max_ms;              /* the operator's value for the fleet; 0: none */
    uint32_t extensions_max;          /* the operator's value for the fleet; 0: none */
    struct server_metrics *metrics;   /* one for each worker */
    const char *version;              /* version of the program */
    struct server_line_writer *audit; /* NULL: no audit log; borrowed */
    struct server_event_ring *events; /* events of the process; borrowed */
    struct server_worker_ends ends;
    const atomic_uint *others; /* number of running workers on other threads: this worker ends
                                * after them. NULL: it waits for none */

    /* Has worker @index use the reloaded parts; called on its thread. May be NULL. */
    void (*reloaded)(void *context, unsigned index);
    void *reloaded_context;
};

#endif
