/* The position of a master: how often the master has written since it was admitted. The position
 * rises with each script call that takes, confirms, extends, joins, breaks or counts. The disk of
 * the master stores it with the other data. So a master whose disk was restored to an older state
 * has a lower position than it reported before. Servers remember the highest position of each
 * master, and send it to all masters. */
#ifndef FENCE_PROTOCOL_POSITION_H
#define FENCE_PROTOCOL_POSITION_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FENCE_POSITIONS_TEXT_MAX = FENCE_MASTERS_MAX * 34, /* for each master two numbers of 16
                                                        * digits, ':' and ','; and the NUL */
};

/* Both 0: unknown. */
struct fence_position {
    int64_t incarnation; /* the incarnation under which the master writes, or will write after it
                          * is admitted */
    int64_t writes;      /* 0 .. FENCE_TOKEN_MAX */
};

/* The position of each member. */
struct fence_positions {
    struct fence_position of[FENCE_MASTERS_MAX];
};

/* Reports whether a master at @now has lost writes, or an admission, that it had at @known. */
bool fence_position_is_behind(struct fence_position now, struct fence_position known);

/* Raises *@known to @heard if @heard is later; never lowers it. */
void fence_position_raise(struct fence_position *known, struct fence_position heard);

/* Does the same for each of @n members. */
void fence_positions_merge(struct fence_positions *known, const struct fence_positions *heard,
                           unsigned n);

/* Writes the positions of @n members as "<incarnation>:<writes>" with commas between, terminated.
 */
void fence_positions_format(const struct fence_positions *positions, unsigned n,
                            char ret_text[static FENCE_POSITIONS_TEXT_MAX]);

/* Reads text that fence_positions_format() wrote for exactly @n members. Returns FENCE_EINVAL for
 * any other text; *@ret_positions is then untouched. */
FENCE_CHECKED int fence_positions_parse(const char *text, size_t len, unsigned n,
                                        struct fence_positions *ret_positions);

#endif
