/* The store that the rules of a master read and write (fence/master/store.h), in Redis' own keys.
 * The keys and their values are those of storage/redis/lua/locks.lua.
 *
 * Each write goes to the append-only file and to replicas as a plain command, so that a server
 * without the module can load it. The writes of a request stay if it then fails, as in Lua. */
#ifndef STORAGE_REDIS_MODULE_STORE_H
#define STORAGE_REDIS_MODULE_STORE_H

#include "storage/redis/module/state.h"
#include "storage/redis/module/store_functions.h"

extern const struct fence_master_store storage_module_store;

/* Begins and ends a request. */
void storage_module_store_begin(struct storage_module_store *store,
                                const struct storage_module_request *request,
                                struct redis_string **keys);
void storage_module_store_end(struct storage_module_store *store);

#endif
