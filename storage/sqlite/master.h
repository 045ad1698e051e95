/* The embedded master: a file of this process, in place of a Redis. Its fleet has one member. It
 * keeps its answers through any crash, and is only as available as this machine.
 *
 *   BACKOFF --> HANDSHAKE --facts--> READY --.
 *      ^           ^                  |      | restamp, handshake
 *      |           '------------------|------'
 *      '---- a turn that failed: down(), and reply() LOST for each request without an answer
 *
 * storage/master.h has its functions. All functions and callbacks belong to the thread of the
 * loop. */
#ifndef STORAGE_SQLITE_MASTER_H
#define STORAGE_SQLITE_MASTER_H

#include "storage/master.h"
#include "storage/sqlite/master_config.h"

/* FENCE_ENOMEM. */
FENCE_CHECKED int storage_sqlite_master_new(const struct storage_sqlite_config *config,
                                            struct storage_master **ret_master);

#endif
