/* Tells a Redis the positions of all members that its owner knows
 * (storage/redis/lua/share_positions.lua), and the servers that listen there the places of waiters
 * (storage/redis/subscribe.h). */
#ifndef STORAGE_REDIS_SHARE_POSITIONS_H
#define STORAGE_REDIS_SHARE_POSITIONS_H

#include "storage/redis/session.h"

/* Sends the positions; nothing waits for the answer. Returns false if there is no memory. Sends
 * nothing if no fleet is known yet. */
bool storage_tell(const struct storage_session *session);

/* Publishes @place. Nothing waits for that, and it may fail. */
void storage_tell_place(const struct storage_session *session, const struct fence_place *place);

#endif
