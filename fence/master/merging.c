#include "fence/master/merging.h"

#include "fence/master/lock.h"

#include <assert.h>
#include <string.h>

/* ---- counters -------------------------------------------------------------------------------- */

void fence_merge_floor(struct fence_turn *turn, int64_t floor)
{
    if (turn->marker.floor >= floor)
        return;
    turn->marker.floor = floor;
    turn->marker_changed = true;
}

void fence_merge_counter(struct fence_turn *turn, uint16_t slot, int64_t number)
{
    if (turn->store->counter(turn->context, slot) < number)
        turn->store->put_counter(turn->context, slot, number);
}

void fence_merge_named(struct fence_turn *turn, const char *name, int64_t number)
{
    if (turn->store->named(turn->context, name) < number)
        turn->store->put_named(turn->context, name, number);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* It cannot be known here which of two lock ids counts. */
static void make_tombstone(struct fence_stored_lock *lock)
{
    assert(lock->present);
    fence_stored_copy(lock->lock_id, sizeof(lock->lock_id), FENCE_TOMBSTONE);
    lock->owner[0] = '\0';
    lock->adopted = true;
    lock->number = 0;
    lock->extensions = 0;
}

/* Two locks of one id are one lock, which belongs to no attempt. */
static void unite(struct fence_stored_lock *lock, const struct fence_stored_lock *read)
{
    assert(lock->present && strcmp(lock->lock_id, read->lock_id) == 0);
    lock->adopted = lock->adopted || read->adopted || lock->attempt != read->attempt;
    if (lock->number < read->number)
        lock->number = read->number;
    if (lock->extensions < read->extensions)
        lock->extensions = read->extensions;
}

static bool is_same_lock(const struct fence_stored_lock *lock, const struct fence_stored_lock *read)
{
    return strcmp(lock->lock_id, read->lock_id) == 0 && !fence_stored_lock_is_tombstone(read);
}

/* A page has the rest of a lease in whole milliseconds. */
static uint64_t expiry_of(const struct fence_turn *turn, uint64_t left_ms)
{
    uint64_t longest_ms = turn->marker.ttl_max_ms;
    return turn->now_ms + (left_ms < longest_ms ? left_ms : longest_ms) + 1;
}

void fence_merge_lock(struct fence_turn *turn, const char *resource,
                      const struct fence_stored_lock *read, uint64_t left_ms, unsigned source)
{
    const uint64_t expires_ms = expiry_of(turn, left_ms);
    const uint32_t set = fence_stored_lock_counts(turn, read) ? UINT32_C(1) << source : 0;
    struct fence_stored_lock lock;
    turn->store->lock(turn->context, resource, &lock);
    if (!lock.present) {
        lock = *read;
        lock.from = 0;
        lock.expires_ms = expires_ms;
    } else if (is_same_lock(&lock, read)) {
        unite(&lock, read);
    } else {
        make_tombstone(&lock);
    }
    lock.imported = true;
    lock.from |= set;
    if (lock.expires_ms < expires_ms)
        lock.expires_ms = expires_ms;
    turn->store->put_lock(turn->context, resource, &lock);
}
