#include "api/metrics/connections.h"

void api_metrics_connections(const struct api_connection_figures *figures,
                             struct api_metrics_text *text)
{
    api_metrics_gauge(text, "pawl_connections", "Open client connections.", figures->open_now);
    api_metrics_gauge(text, "pawl_connections_max", "Connections that may be open at a time.",
                      figures->most);
    api_metrics_counter(text, "pawl_connections_accepted_total", "Connections that were accepted.",
                        figures->accepted);
    api_metrics_counter(text, "pawl_connections_evicted_total",
                        "Connections without a request that were ended to make space.",
                        figures->evicted);
}
