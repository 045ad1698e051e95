/* Making the masters of a fleet: the only place that knows of which kind they are. */
#ifndef SERVER_LOOP_MASTERS_H
#define SERVER_LOOP_MASTERS_H

#include "storage/master.h"

#include <uv.h>

struct storage_redis_url;

/* What on a master makes it a member of a fleet, for people. */
#define SERVER_MASTERS_MARKER "the key pawl:fleet"

/* Makes the @n masters at @urls (copied), as members 0 .. @n - 1, each probed every @probe_ms (0:
 * as often as is usual). FENCE_ENOMEM: those made until then are in @ret_masters. */
FENCE_CHECKED int server_masters_new(uv_loop_t *loop, const struct storage_redis_url *urls,
                                     unsigned n, unsigned probe_ms,
                                     const struct storage_master_events *events,
                                     struct storage_master *ret_masters[]);

#endif
