/* The commands by which scripts keep the leases of a master that has the module
 * (storage/redis/lua/lineage_check.lua):
 *
 *     PAWL.LEFT <key of a lock>...
 *         answers the rest of the last lock's lease in milliseconds, 0 where it has ended. A lease
 *         that is not noted begins now. -1: the value of that key names no lease
 *     PAWL.KEEP <key of a lock> <the lock> <milliseconds>
 *         writes the lock. Its lease ends so long from now */
#ifndef STORAGE_REDIS_MODULE_SCRIPT_COMMANDS_H
#define STORAGE_REDIS_MODULE_SCRIPT_COMMANDS_H

#include "storage/redis/module/api.h"

/* False: the server takes one of them for no command. */
FENCE_CHECKED bool storage_module_script_commands_init(struct redis_ctx *ctx);

#endif
