/* Redis' own replication between redis-servers, as an operator sets it up. */
#ifndef TESTS_CHAOS_MASTER_REPLICA_H
#define TESTS_CHAOS_MASTER_REPLICA_H

#include "tests/chaos/master.h"

#include <stdbool.h>
#include <stdint.h>

/* REPLICAOF the server on 127.0.0.1:@port: @master soon has that one's data instead of its own. */
void chaos_master_follow(const struct chaos_master *master, uint16_t port);

/* True once it has all of that data. */
bool chaos_master_follows(const struct chaos_master *master);

/* REPLICAOF NO ONE. */
void chaos_master_lead(const struct chaos_master *master);

/* True if it is a replica of no master. */
bool chaos_master_leads(const struct chaos_master *master);

/* redis-cli --rdb: asks it for its data, as a replica would. */
void chaos_master_dump(const struct chaos_master *master);

/* The replication id. It names the data that a server has, up to the offset that it tells. The
 * caller frees it; NULL if there was no answer. */
char *chaos_master_replication_id(const struct chaos_master *master);

#endif
