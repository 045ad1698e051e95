/* What the marker notes of the process of its master: what was counted there, and when the
 * append-only file is known to be complete (storage/redis/lua/settle.lua). */
#ifndef STORAGE_REDIS_SETTLE_H
#define STORAGE_REDIS_SETTLE_H

#include "storage/redis/connection.h"
#include "storage/redis/facts.h"

/* Whether a probe found something to note. It is often so at first, then seldom. */
bool storage_settle_is_due(const struct storage_reading *reading);

/* Sends it, behind what was sent before, for @member, from 1. Nobody waits for the answer: the next
 * probe sees what came of it. False where memory is out: then the caller gives the connection up.
 */
bool storage_settle(struct storage_connection *connection, const char *fleet_id, unsigned member);

#endif
