/* The usage of a key: calls of its rate, and locks that it holds. A usage belongs to one process,
 * and its workers share it. A mutex guards it, and is held for a few instructions. A reloaded key
 * continues with the usage of the earlier key.
 *
 * A lock counts from the call that asks for it, so that concurrent calls cannot exceed the cap
 * together. It counts until it is released here, or until its lease ends. Grants, extensions and
 * releases of other processes are not known here.
 *
 *     reserve --> grant --> release, or the lease is over
 *        '------> cancel
 *
 * Any thread. */
#ifndef API_AUTH_USAGE_H
#define API_AUTH_USAGE_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

struct api_usage;

/* A mark stands for one grant of a lock. Two grants share a mark only by chance: api_usage_mark().
 */
struct api_usage_mark {
    uint64_t word[2];
};

/* The mark of the lock @resource under @lock_id. Callers choose both, so it is SipHash of 128 bits
 * under a random key of this process: no caller can find two grants that count as one. Among 10,000
 * held locks, two share a mark once in 10^30 times. After sodium_init(). */
struct api_usage_mark api_usage_mark(const char *lock_id, const char *resource);

/* The caller has the one reference. FENCE_ENOMEM. */
FENCE_CHECKED int api_usage_new(struct api_usage **ret_usage);

struct api_usage *api_usage_ref(struct api_usage *usage);
void api_usage_unref(struct api_usage *usage);

/* Takes @calls from a bucket that @rate calls a second fill up to @burst. One call in the bucket is
 * enough: the others are debt, and the next call has to wait until the debt is paid. Returns false
 * if there is none; then one will be there in @ret_wait_us. @now_us: CLOCK_MONOTONIC. */
bool api_usage_take(struct api_usage *usage, uint32_t rate, uint32_t burst, unsigned calls,
                    uint64_t now_us, uint64_t *ret_wait_us);

/* Reserves @count locks of the @cap. @marks stand for these locks: a lock that is already held does
 * not count twice; NULL: none can be held. FENCE_EBUSY: there are too many; @ret_held, if not NULL,
 * is their number. FENCE_ENOMEM. */
FENCE_CHECKED int api_usage_reserve(struct api_usage *usage, const struct api_usage_mark marks[],
                                    unsigned count, uint32_t cap, uint64_t now_us,
                                    unsigned *ret_held);

/* Reserves one lock, which will be one of these @count marks. If one of them is held, the lock
 * counts as held already. The errors are those of api_usage_reserve(). */
FENCE_CHECKED int api_usage_reserve_one_of(struct api_usage *usage,
                                           const struct api_usage_mark marks[], unsigned count,
                                           uint32_t cap, uint64_t now_us, unsigned *ret_held);

/* Cancels @count reserved places. */
void api_usage_cancel(struct api_usage *usage, unsigned count);

/* Uses one reserved place for the lock of @mark, until @until_us. Never shortens a
 * lease. A known lock keeps its place, and the reserved place is freed. @seats: the seats of a
 * writer, as bits; 0: one lock. */
void api_usage_grant(struct api_usage *usage, struct api_usage_mark mark, uint64_t seats,
                     uint64_t until_us);

/* The lease of a lock lasts until @until_us; the lock is released, or for a writer the seats in
 * @seats are, and the writer counts until all are. An unknown lock is fine. */
void api_usage_extend(struct api_usage *usage, struct api_usage_mark mark, uint64_t until_us);
void api_usage_release(struct api_usage *usage, struct api_usage_mark mark, uint64_t seats);

/* The lock is released, and its name stays closed: it counts until @until_us, or until the end of
 * its lease if that is earlier. */
void api_usage_keep(struct api_usage *usage, struct api_usage_mark mark, uint64_t until_us);

/* Returns how many locks are held or reserved. */
unsigned api_usage_held(struct api_usage *usage, uint64_t now_us);

#endif
