/* The knowledge of a master about fleets that were moved: the fields "closed" and "predecessors" of
 * its hash. */
#ifndef STORAGE_REDIS_MOVED_FLEET_H
#define STORAGE_REDIS_MOVED_FLEET_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>

#include <hiredis/hiredis.h>

/* Reads "<fleet>:<highest token>:<longest lease>:<most extensions>:<fleet that follows>" into
 * @facts, as storage/redis/lua/close.lua writes it. An absent field changes nothing. Returns false
 * if Pawl did not write it. */
bool storage_closed_read(const redisReply *field, struct fence_facts *facts);

/* Reads the ids that storage/redis/lua/mark.lua writes into @facts, and adds the fleet of "closed",
 * which was read before. An absent field says nothing. False: it is not as Pawl writes it. */
bool storage_predecessors_read(const redisReply *field, struct fence_facts *facts);

#endif
