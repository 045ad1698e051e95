/* Removes locks whose lease has ended, some at a time. This only affects memory: the rules look at
 * the clock. */
#ifndef STORAGE_REDIS_MODULE_EXPIRE_LEASES_H
#define STORAGE_REDIS_MODULE_EXPIRE_LEASES_H

#include "storage/redis/module/api.h"

/* Removes up to @most such locks. Does nothing on a replica, or outside database 0. */
void storage_module_remove_ended(struct redis_ctx *ctx, unsigned most);

#endif
