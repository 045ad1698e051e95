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
 *   memories  How often the member began without a memory: new, replaced, or after it forgot.
 *   random    Two servers that do not know of each other draw different ones.
 *   tries     How often this memory rejoined since: after a restart, say.
 *
 * So the incarnations of one memory are below those of the next. A master that has recorded the
 * next memory refuses this one. */
enum {
    FENCE_INCARNATION_TRY_BITS = 8,
    FENCE_INCARNATION_RANDOM_BITS = 24,
    FENCE_INCARNATION_MEMORY_SHIFT = FENCE_INCARNATION_TRY_BITS + FENCE_INCARNATION_RANDOM_BITS,
    FENCE_INCARNATION_TRY_LEAP_BITS = 4, /* a try is 1 to 2^4 above the one before */
};

/* The last that anybody is given. A master that names a higher one was changed by
 * hand, or is none of ours. Below 2^53, since masters may compare them as doubles. */
#define FENCE_INCARNATION_MAX (FENCE_TOKEN_MAX - (INT64_C(2) << FENCE_INCARNATION_MEMORY_SHIFT))

/* An incarnation above @before, which is at most FENCE_INCARNATION_MAX, of a new memory. */
int64_t fence_incarnation_next(int64_t before, uint64_t random);

/* Reports whether @a and @b are of one memory. A copy of a machine is of the same. */
bool fence_incarnation_same_memory(int64_t a, int64_t b);

/* Reports whether a member with this incarnation never rejoined since its fleet was made new.
 */
bool fence_incarnation_is_first(int64_t incarnation);

/* An incarnation above @before, of the memory of @own, which is not above it. 0: there is none, as
 * @before is of another memory, or its tries are used up. */
int64_t fence_incarnation_next_try(int64_t own, int64_t before, uint64_t random);

#endif
