/* Merges the data of one master into another that rejoins: the rules of
 * storage/redis/lua/install.lua. Merging is commutative and idempotent. The store reads a page, and
 * calls these functions for each counter and each lock. */
#ifndef FENCE_MASTER_MERGING_H
#define FENCE_MASTER_MERGING_H

#include "fence/master/store.h"

/* Merge the floor of all counters, the counter of a slot, and a named counter. */
void fence_merge_floor(struct fence_turn *turn, int64_t floor);
void fence_merge_counter(struct fence_turn *turn, uint16_t slot, int64_t number);
void fence_merge_named(struct fence_turn *turn, const char *name, int64_t number);

/* Merges the lock of @resource as master @source has it, with @left_ms of its lease left. Ignores
 * the expiry in the lock. */
void fence_merge_lock(struct fence_turn *turn, const char *resource,
                      const struct fence_stored_lock *read, uint64_t left_ms, unsigned source);

#endif
