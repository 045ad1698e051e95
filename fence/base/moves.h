/* Moves of a state: which states may follow each. A state changes in one function, which asserts
 * that the move is allowed.
 *
 *     static const uint32_t allowed[] = {
 *         [OPEN] = FENCE_MOVE(CLOSED) | FENCE_MOVE(BROKEN),
 *         [CLOSED] = FENCE_MOVE(OPEN),
 *     };
 *     assert(fence_move_allowed(allowed, door->state, to)); */
#ifndef FENCE_BASE_MOVES_H
#define FENCE_BASE_MOVES_H

#include <stdbool.h>
#include <stdint.h>

/* The set of one state, of at most 32. */
#define FENCE_MOVE(to) (UINT32_C(1) << (to))

static inline bool fence_move_allowed(const uint32_t allowed[], unsigned from, unsigned to)
{
    return allowed[from] >> to & 1;
}

#endif
