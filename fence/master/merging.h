/* Merging what one master keeps into another that rejoins: the rules of
 * storage/redis/lua/install.lua. Merging is commutative and idempotent. The store reads a page, and
 * calls these for each counter and each lock of it. */
#ifndef FENCE_MASTER_MERGING_H
#define FENCE_MASTER_MERGING_H

#include "fence/master/store.h"

/* The floor of all counters, of one slot's and of one that has a name. */
void fence_merge_floor(struct fence_turn *turn, int64_t floor);
void fence_merge_counter(struct fence_turn *turn, uint16_t slot, int64_t number);
void fence_merge_named(struct fence_turn *turn, const char *name, int64_t number);

/* The lock of @resource as master @source keeps it, with @left_ms of its lease left. Its expiry
 * means nothing. */
void fence_merge_lock(struct fence_turn *turn, const char *resource,
                      const struct fence_stored_lock *read, uint64_t left_ms, unsigned source);

#endif
