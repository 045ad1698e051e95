/* The view: the incarnation of every member of a fleet, in member order. Every script names the
 * view it works under, and a master that knows otherwise refuses it. */
#ifndef FENCE_VIEW_H
#define FENCE_VIEW_H

#include "fence/error.h"
#include "fence/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* An incarnation, from its highest bit down:
 *
 *     how often the member was admitted empty | random | how often it came back with all it knew
 *     '------------ which machine it is ---------------'
 *
 * So an empty machine that is admitted as a member ranks above all that the machine before it was
 * or is meant to be, whoever knows of it by then. */
enum {
    FENCE_INCARNATION_TURN_BITS = 12,
    FENCE_INCARNATION_RANDOM_BITS = 20,
    FENCE_INCARNATION_MACHINE_SHIFT = FENCE_INCARNATION_TURN_BITS + FENCE_INCARNATION_RANDOM_BITS,
    FENCE_VIEW_TEXT_MAX = FENCE_MASTERS_MAX * 17, /* 16 digits and a comma each, and the NUL */
};

/* The last that can still be followed by another. A master that names a higher one was changed by
 * hand, or is none of ours. Below 2^53, since Lua compares them. */
#define FENCE_INCARNATION_MAX (FENCE_TOKEN_MAX - (INT64_C(2) << FENCE_INCARNATION_MACHINE_SHIFT))

/* @incarnation: 0 where unknown. */
struct fence_view {
    int64_t incarnation[FENCE_MASTERS_MAX];
};

/* The incarnation of an empty machine, above @before, which is at most FENCE_INCARNATION_MAX. With
 * a random part, so that two admissions that do not know of one another still differ. */
int64_t fence_incarnation_next(int64_t before, uint64_t random);

/* The incarnation of the machine of @before when it comes back with all it knew; 0 if it did so too
 * often, and has to come back empty. */
int64_t fence_incarnation_back(int64_t before);

/* Whether two incarnations of a member are of one machine. */
bool fence_incarnation_same_machine(int64_t a, int64_t b);

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
