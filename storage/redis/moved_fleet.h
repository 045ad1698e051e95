/* The word of a master whose fleet was moved: the field "closed" of its hash. */
#ifndef STORAGE_REDIS_MOVED_FLEET_H
#define STORAGE_REDIS_MOVED_FLEET_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* Reads "<fleet>:<highest token>:<longest lease>:<most extensions>:<fleet that follows>" into
 * @facts, as storage/redis/lua/close.lua writes it. An absent field says nothing. False: it is not
 * as Pawl writes it. */
bool storage_closed_read(const redisReply *field, struct fence_facts *facts);

#endif
