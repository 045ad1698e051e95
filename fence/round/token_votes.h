/* The numbers that masters gave for each resource, and the token that they make: the greatest of
 * the first majority. */
#ifndef FENCE_ROUND_TOKEN_VOTES_H
#define FENCE_ROUND_TOKEN_VOTES_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* The votes of the masters about one counter: their numbers, and the token made of them. */
struct fence_counter_votes {
    int64_t token; /* 0 until the set is frozen */
    int64_t numbers[FENCE_MASTERS_MAX];
};

/* One for each resource. The caller's; it stays where it is as long as the attempt. */
struct fence_token_votes {
    unsigned count;
    struct fence_counter_votes *each;
};

/* Fixes the token of each resource: the greatest number that a master of @set gave, out of @n.
 * True if all of @set gave the same number for each. Precondition: @set is not empty. */
bool fence_token_votes_fix(const struct fence_token_votes *votes, unsigned n, uint32_t set);

/* The greatest number that a master of @set gave, out of @n. Precondition: @set is not empty. */
int64_t fence_token_votes_greatest(const struct fence_counter_votes *votes, unsigned n,
                                   uint32_t set);

#endif
