/* The metrics of this process that the client libraries of Prometheus have, under their names: from
 * /proc and getrusage(2). Linux. */
#ifndef API_METRICS_PROCESS_H
#define API_METRICS_PROCESS_H

#include "api/metrics/text.h"

/* Writes their families, and pawl_build_info with @version. A metric that cannot be read has no
 * sample. Reads some files in /proc, and walks over the open descriptors. */
void api_process_write(const char *version, struct api_metrics_text *text);

#endif
