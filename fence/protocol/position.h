/* The position of a master: how often it has written since it was admitted. It rises with each
 * script call that takes, confirms, extends, joins, breaks or counts, and its disk keeps it with
 * the rest. So a master whose disk was put back to an older state has a lower position than it
 * showed before. Servers remember the highest position of each master, and tell all masters. */
#ifndef FENCE_PROTOCOL_POSITION_H
#define FENCE_PROTOCOL_POSITION_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FENCE_POSITIONS_TEXT_MAX = FENCE_MASTERS_MAX * 34, /* two numbers of 16 digits, ':' and ',' of
                                                        * each; and the NUL */
};

/* Both 0: unknown. */
struct fence_position {
    int64_t incarnation; /* under which it writes, or is to write once it is admitted */
    int64_t writes;      /* 0 .. FENCE_TOKEN_MAX */
};

/* For each member. */
struct fence_positions {
    struct fence_position of[FENCE_MASTERS_MAX];
};

/* Reports whether a master at @now has lost what it had at @known: writes, or an admission. */
bool fence_position_is_behind(struct fence_position now, struct fence_position known);

/* Raises *@known to @heard where @heard is later; never lowers it. */
void fence_position_raise(struct fence_position *known, struct fence_position heard);

/* The same for each of @n members. */
void fence_positions_merge(struct fence_positions *known, const struct fence_positions *heard,
                           unsigned n);

/* Writes the positions of @n members as "<incarnation>:<writes>" with commas between, terminated.
 */
void fence_positions_format(const struct fence_positions *positions, unsigned n,
                            char ret_text[static FENCE_POSITIONS_TEXT_MAX]);

/* Reads what fence_positions_format() wrote for exactly @n members. FENCE_EINVAL for anything else;
 * *@ret_positions is then untouched. */
FENCE_CHECKED int fence_positions_parse(const char *text, size_t len, unsigned n,
                                        struct fence_positions *ret_positions);

#endif
