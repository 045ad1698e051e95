/* Lock ids where only equality counts. */
#ifndef FENCE_PROTOCOL_LOCK_ID_H
#define FENCE_PROTOCOL_LOCK_ID_H

#include <stdint.h>

/* A hash for a lock id where only equality counts. Clients choose lock ids, so the hash is
 * keyed: without the key no attacker finds two lock ids that count as one. It is of this process
 * alone, and nothing of it may be kept or sent. */
uint64_t fence_lock_id_hash(const char *lock_id);

/* Sets the key of fence_lock_id_hash(), of random bits. Before the first hash and the first thread:
 * masters of several workers are compared, so all have one key. Without it the key is 0. */
void fence_lock_id_key(const uint64_t key[static 2]);

#endif
