/* The answers to requests. They are those of storage/redis/lua/requests.lua. */
#ifndef STORAGE_REDIS_MODULE_ANSWER_H
#define STORAGE_REDIS_MODULE_ANSWER_H

#include "fence/master/answer.h"
#include "storage/redis/module/store.h"

/* Answers the request in hand of @store, which the rules answered with @answer. */
void storage_module_answer(const struct storage_module_store *store,
                           const struct fence_master_answer *answer);

/* Reports whether a server may count on what that request wrote. A release that is lost does no
 * harm: the lock comes back until its lease ends. A read writes nothing. */
bool storage_module_is_counted(const struct storage_module_store *store,
                               const struct fence_master_answer *answer);

#endif
