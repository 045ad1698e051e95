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
    uint32_t lead_ms;  /* /readyz says no, and all is served: until a load balancer has seen it */
    uint32_t drain_ms; /* after that, the longest time for the calls under way */
};

/* All is borrowed for the worker's life, but the URLs of @addresses only for the call. */
struct server_worker_config {
    unsigned index;                     /* 0 .. workers - 1 */
    unsigned workers;                   /* number in the process */
    struct server_listeners *listeners; /* it takes its own */
    const struct server_http_options *http;
    struct api_keyring *keys; /* NULL: everybody may call everything */
    struct server_addresses addresses;
    bool takes_over;      /* another process serves at its listeners until this one is ready */
    unsigned deadline_ms; /* silence after which a master counts as gone */
    unsigned probe_ms;    /* from one probe of a master to the next */
    enum fence_ask ask;
    uint32_t connections_max;         /* of clients, */
    bool traces;                      /* each decision of the core is logged, ... */
    const char *trace_lock;           /* ... where not NULL, about this lock alone; borrowed */
    uint32_t waiters_max;             /* for the process, like all bounds: a worker has its share */
    uint32_t counters_max;            /* named counters beyond which none is made, of the fleet */
    uint32_t ttl_max_ms;              /* that the operator says the fleet has; 0: nothing is said */
    uint32_t extensions_max;          /* the same */
    struct server_metrics *metrics;   /* one for each worker */
    const char *version;              /* version of the program */
    struct server_line_writer *audit; /* NULL: no audit log; borrowed */
    struct server_event_ring *events; /* events of the process; borrowed */
    struct server_worker_ends ends;
    const atomic_uint *others; /* workers on other threads that run: this one ends after them.
                                * NULL: it waits for none */

    /* Has the worker take up what was reloaded: on its thread, with its index. NULL: nothing. */
    void (*reloaded)(void *context, unsigned index);
    void *reloaded_context;
};

#endif
