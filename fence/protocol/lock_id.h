/* Lock ids where only equality counts. */
#ifndef FENCE_PROTOCOL_LOCK_ID_H
#define FENCE_PROTOCOL_LOCK_ID_H

#include <stdint.h>

/* Returns a hash of a lock id, to compare lock ids for equality. Clients choose lock ids, so the
 * hash is keyed: without the key no attacker finds two lock ids with the same hash. The hash is
 * valid in this process only: never store it or send it. */
uint64_t fence_lock_id_hash(const char *lock_id);

/* Sets the key of fence_lock_id_hash() to random bits. Call it before the first hash and before the
 * first thread: all workers need the same key, since hashes of masters of several workers are
 * compared. The default key is 0. */
void fence_lock_id_key(const uint64_t key[static 2]);

#endif
