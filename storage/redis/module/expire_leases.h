/* Removes locks whose lease has ended, some at a time. Their fate matters to memory
 * alone: the rules look at the clock. */
#ifndef STORAGE_REDIS_MODULE_EXPIRE_LEASES_H
#define STORAGE_REDIS_MODULE_EXPIRE_LEASES_H

#include "storage/redis/module/api.h"

/* Removes @most such locks at the most. Does nothing on a replica, or outside database 0. */
void storage_module_remove_ended(struct redis_ctx *ctx, unsigned most);

#endif
