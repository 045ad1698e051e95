/* GET /metrics of the ledger: how calls were answered, and which calls the guard accepted. */
#ifndef SERVER_LEDGER_METRICS_H
#define SERVER_LEDGER_METRICS_H

#include "api/metrics/calls.h"
#include "api/mhd/server.h"
#include "server/ledger/tables.h"

enum {
    LEDGER_TABLES = 3, /* of routes */
};

/* The routes and counts of the ledger. The caller's memory. */
struct ledger_metrics {
    struct api_routes tables[LEDGER_TABLES];
    struct api_calls calls;
    struct api_call_counters counters;
    const struct api_http *http; /* set before the first request */
    const char *version;
};

/* Makes @metrics of a ledger that serves its routes over @ledger, its page, and /metrics:
 * metrics->tables. All is borrowed for the life of the server. */
void ledger_metrics_init(struct ledger_metrics *metrics, struct ledger *ledger,
                         const char *version);

#endif
