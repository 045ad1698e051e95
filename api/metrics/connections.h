/* The families of connections, which each program with a server has. */
#ifndef API_METRICS_CONNECTIONS_H
#define API_METRICS_CONNECTIONS_H

#include "api/metrics/text.h"

struct api_connection_figures {
    uint64_t open_now;
    uint64_t most;     /* that may be open at a time */
    uint64_t accepted; /* since the start, */
    uint64_t evicted;  /* and of them */
};

void api_metrics_connections(const struct api_connection_figures *figures,
                             struct api_metrics_text *text);

#endif
