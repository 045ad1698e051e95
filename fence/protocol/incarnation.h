/* Incarnations: the numbers that tell one life of a member from another. A member gets a new one
 * each time that it is admitted. */
#ifndef FENCE_PROTOCOL_INCARNATION_H
#define FENCE_PROTOCOL_INCARNATION_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* An incarnation, from its highest bit down:
 *
 *     memories | random | tries
 *
 *   memories  How often the member began without a memory: new, replaced, or after data loss.
 *   random    Two servers that do not know of each other draw different values.
 *   tries     How often this memory rejoined since, for instance after a restart.
 *
 * So the incarnations of one memory are below the incarnations of the next memory. A master that
 * has recorded the next memory refuses this one. */
enum {
    FENCE_INCARNATION_TRY_BITS = 8,
    FENCE_INCARNATION_RANDOM_BITS = 24,
    FENCE_INCARNATION_MEMORY_SHIFT = FENCE_INCARNATION_TRY_BITS + FENCE_INCARNATION_RANDOM_BITS,
    FENCE_INCARNATION_TRY_LEAP_BITS = 4, /* a try is 1 to 2^4 above the previous try */
};

/* The highest incarnation that any member gets. A master that reports a higher incarnation was
 * changed by hand, or does not belong to Pawl. The value is below 2^53, since masters may compare
 * incarnations as doubles. */
#define FENCE_INCARNATION_MAX (FENCE_TOKEN_MAX - (INT64_C(2) << FENCE_INCARNATION_MEMORY_SHIFT))

/* Returns an incarnation above @before, of a new memory. Precondition: @before is at most
 * FENCE_INCARNATION_MAX. */
int64_t fence_incarnation_next(int64_t before, uint64_t random);

/* Reports whether @a and @b are of one memory. A copy of a machine has the memory of the
 * original. */
bool fence_incarnation_same_memory(int64_t a, int64_t b);

/* Reports whether a member with this incarnation never rejoined since its fleet was created. */
bool fence_incarnation_is_first(int64_t incarnation);

/* Returns an incarnation above @before, of the memory of @own. Precondition: @own is not above
 * @before. Returns 0 if @before is of another memory, or if the tries of the memory are used up. */
int64_t fence_incarnation_next_try(int64_t own, int64_t before, uint64_t random);

#endif
