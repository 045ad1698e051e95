/* What a server tells of itself that ends a verdict (verdict.h). */
#ifndef STORAGE_REDIS_MODULE_EVENTS_H
#define STORAGE_REDIS_MODULE_EVENTS_H

#include "storage/redis/module/api.h"

/* Listens. False: the server does not tell one of them. */
FENCE_CHECKED bool storage_module_events_init(struct redis_ctx *ctx);

#endif
