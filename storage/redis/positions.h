/* The marker fields of a Redis about positions (fence/protocol/position.h): its own position, and
 * the positions that servers sent to it. */
#ifndef STORAGE_REDIS_POSITIONS_H
#define STORAGE_REDIS_POSITIONS_H

#include "fence/fleet/fleet.h"

#include <hiredis/hiredis.h>

/* Reads the fields @writes and @positions of a marker of @n members. A value that Pawl did not
 * write counts as absent: positions are a second source beside the lineage. */
void storage_positions_read(const redisReply *writes, const redisReply *positions, unsigned n,
                            struct fence_facts *facts);

#endif
