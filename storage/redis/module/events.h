/* The events of a server that end a verdict (lineage_cache.h), or a lease that is noted (leases.h).
 */
#ifndef STORAGE_REDIS_MODULE_EVENTS_H
#define STORAGE_REDIS_MODULE_EVENTS_H

#include "storage/redis/module/api.h"

/* Subscribes to these events. False: the server does not know one of them. */
FENCE_CHECKED bool storage_module_events_init(struct redis_ctx *ctx);

#endif
