/* The view: the incarnation of every member of a fleet, in member order. Every script names the
 * view it works under, and a master that knows otherwise refuses it. */
#ifndef FENCE_PROTOCOL_VIEW_H
#define FENCE_PROTOCOL_VIEW_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* An incarnation, from its highest bit down:
 *
 *     how often the member began with no memory of its own | random | tries since
 *
 * The random part lets two servers that admit a member without knowing of each other draw different
 * ones. The tries are those to take the member back with the memory that it kept. So each
 * incarnation of one memory is below all that a replacement, or a member that forgot, is given
 * later: masters that recorded the one refuse the other. */
enum {
    FENCE_INCARNATION_TRY_BITS = 8,
    FENCE_INCARNATION_RANDOM_BITS = 24,
    FENCE_INCARNATION_MEMORY_SHIFT = FENCE_INCARNATION_TRY_BITS + FENCE_INCARNATION_RANDOM_BITS,
    FENCE_INCARNATION_TRY_LEAP_BITS = 4,          /* a try is 1 to 2^4 above the one before */
    FENCE_VIEW_TEXT_MAX = FENCE_MASTERS_MAX * 17, /* 16 digits and a comma each, and the NUL */
};

/* The last that anybody is given. A master that names a higher one was changed by
 * hand, or is none of ours. Below 2^53, since masters may compare them as doubles. */
#define FENCE_INCARNATION_MAX (FENCE_TOKEN_MAX - (INT64_C(2) << FENCE_INCARNATION_MEMORY_SHIFT))

/* @incarnation: 0 where unknown. */
struct fence_view {
    int64_t incarnation[FENCE_MASTERS_MAX];
};

/* An incarnation above @before, which is at most FENCE_INCARNATION_MAX, of a new memory. */
int64_t fence_incarnation_next(int64_t before, uint64_t random);

/* Whether @a and @b are of one memory: no other machine had an incarnation between. */
bool fence_incarnation_same_memory(int64_t a, int64_t b);

/* An incarnation above @before, of the memory of @own, which is not above it. 0: there is none, as
 * @before is of another memory, or its tries are used up. */
int64_t fence_incarnation_next_try(int64_t own, int64_t before, uint64_t random);

/* Writes the view of @n members as decimal numbers with commas between, terminated. */
void fence_view_format(const struct fence_view *view, unsigned n,
                       char ret_text[static FENCE_VIEW_TEXT_MAX]);

/* Reads what fence_view_format() wrote for exactly @n members. FENCE_EINVAL for anything else, a
 * number above FENCE_INCARNATION_MAX included; *@ret_view is then untouched. */
FENCE_CHECKED int fence_view_parse(const char *text, size_t len, unsigned n,
                                   struct fence_view *ret_view);

/* Raises each incarnation in @view to @other's where that is higher; never lowers one. True if
 * anything changed. */
bool fence_view_merge(struct fence_view *view, const struct fence_view *other, unsigned n);

#endif
