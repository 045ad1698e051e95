#include "api/metrics/connections.h"

void api_metrics_connections(const struct api_connection_figures *figures,
                             struct api_metrics_text *text)
{
    api_metrics_gauge(text, "pawl_connections", "Open client connections.", figures->open_now);
    api_metrics_gauge(text, "pawl_connections_max", "Maximum number of open connections.",
                      figures->most);
    api_metrics_counter(text, "pawl_connections_accepted_total", "Accepted connections.",
                        figures->accepted);
    api_metrics_counter(text, "pawl_connections_evicted_total",
                        "Idle connections closed to make room for new connections.",
                        figures->evicted);
}
