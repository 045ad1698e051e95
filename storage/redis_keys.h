/* The keys on a master. */
#ifndef STORAGE_REDIS_KEYS_H
#define STORAGE_REDIS_KEYS_H

/* One hash: the marker and all counters, which live or die together. */
#define STORAGE_FLEET_KEY "pawl:fleet"

/* Before a resource: its lock. */
#define STORAGE_LOCK_KEY "pawl:lock:"

#endif
