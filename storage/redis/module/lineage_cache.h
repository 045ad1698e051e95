/* The verdict of lineage.h, kept from call to call. An event ends it at once. A change without an
 * event is read again after STORAGE_MODULE_LINEAGE_CACHE_MS at the latest. */
#ifndef STORAGE_REDIS_MODULE_LINEAGE_CACHE_H
#define STORAGE_REDIS_MODULE_LINEAGE_CACHE_H

#include "storage/redis/module/lineage.h"

enum {
    STORAGE_MODULE_LINEAGE_CACHE_MS = 100,
};

/* Reports whether this server may not act any more; @ret_why is then why. */
bool storage_module_lineage_cache_check(struct redis_ctx *ctx,
                                        const struct storage_module_noted *noted, uint64_t now_ms,
                                        char ret_why[static STORAGE_MODULE_WHY_MAX]);

/* Ends the verdict: the next call reads everything again. */
void storage_module_lineage_cache_clear(void);

/* Ends the verdict, as a key was evicted. CONFIG RESETSTAT has Redis forget the number of
 * evictions, and the module keeps its own. */
void storage_module_lineage_cache_evicted(void);

#endif
