/* The keys on a master. */
#ifndef STORAGE_REDIS_KEYS_H
#define STORAGE_REDIS_KEYS_H

#include "fence/protocol/name.h"

/* One hash: the marker and all counters, which live or die together. */
#define STORAGE_FLEET_KEY FENCE_FLEET_KEY

/* Before a name: the field of its counter in that hash. */
#define STORAGE_COUNTER_FIELD "n:"

/* The marker's note, for people who find the key. It is longer than Redis allows in a list of
 * fields (hash-max-listpack-value). So Redis finds counters by hash from the first on. */
#define STORAGE_FLEET_NOTE                                                                         \
    "Pawl's marker and token counters of this master. Delete it only to retire the fleet: a "      \
    "master without it has forgotten, and must not vote."

/* The note if the fleet was moved away. */
#define STORAGE_CLOSED_NOTE                                                                        \
    "The fleet of this master was moved to other masters, and its data is no longer here. Do not " \
    "delete this key before that move has ended."

/* Never exists: a handshake writes nothing to it, to see whether the master takes writes. */
#define STORAGE_PROBE_KEY "pawl:probe"

/* Follows a lineage whose statistics were reset since. No marker has it. */
#define STORAGE_LINEAGE_RESET "?"

/* The command of the module that replaces the script of requests (storage/redis/module/README.md),
 * and the version of the protocol between the two. A change of letters, keys, values, answers or
 * rules raises it. */
#define STORAGE_MODULE_COMMAND "PAWL.BATCH"
#define STORAGE_MODULE_VERSION 4

/* The commands by which scripts ask the module for the rest of a lease, and have it write a lock
 * (storage/redis/module/script_commands.h). And the value of the marker's field "leases" where a
 * master has the module. */
#define STORAGE_MODULE_LEFT      "PAWL.LEFT"
#define STORAGE_MODULE_KEEP      "PAWL.KEEP"
#define STORAGE_MODULE_MONOTONIC "monotonic"

/* Before a resource: its lock. */
#define STORAGE_LOCK_KEY FENCE_LOCK_KEY

/* Before a resource: exists while a call waits for its lock; its value is the lowest ticket. The
 * release of that lock removes it, and publishes "<lock id>:<resource>" on the channel. For a
 * waiter that left, a server publishes ":<waited us>:<ticket>:<lock id>:<key id>:<resource>". The
 * second key exists while there may be any of the first. The third key exists while the free lock
 * is kept for the ticket in it (fence/master/next.h). */
#define STORAGE_WAIT_KEY         "pawl:wait:"
#define STORAGE_WAITING_KEY      "pawl:waiting"
#define STORAGE_NEXT_KEY         "pawl:next:"
#define STORAGE_RELEASED_CHANNEL "pawl:freed"

/* Before "<lock id>:<resource>": that grant was broken. */
#define STORAGE_BROKEN_KEY "pawl:broken:"

#endif
