/* The predecessors of a fleet: fleets that were moved away (fence/bootstrap/closing.h), and that it
 * follows. Each of its masters has this list. A disk of before a move may name a predecessor again,
 * also on a majority of the old masters. One master with the list is enough to know that the
 * predecessor grants nothing more. */
#ifndef FENCE_PROTOCOL_PREDECESSORS_H
#define FENCE_PROTOCOL_PREDECESSORS_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FENCE_PREDECESSORS_MAX = 8, /* a later one replaces the oldest */
    FENCE_PREDECESSORS_TEXT_MAX = FENCE_PREDECESSORS_MAX * (FENCE_ID_HEX_LEN + 1), /* with NUL */
};

/* The oldest first. */
struct fence_predecessors {
    unsigned n;
    char id[FENCE_PREDECESSORS_MAX][FENCE_ID_HEX_LEN + 1];
};

/* Reports whether the fleet @id is one of them. */
bool fence_predecessors_have(const struct fence_predecessors *list, const char *id);

/* Adds the fleet @id as the latest, if it is none of them yet. Precondition: @id is an id. */
void fence_predecessors_add(struct fence_predecessors *list, const char *id);

/* The same for each of @more. */
void fence_predecessors_merge(struct fence_predecessors *list,
                              const struct fence_predecessors *more);

/* Writes the ids with commas between, terminated. */
void fence_predecessors_format(const struct fence_predecessors *list,
                               char ret_text[static FENCE_PREDECESSORS_TEXT_MAX]);

/* Reads what fence_predecessors_format() wrote, of one predecessor at least. FENCE_EINVAL for
 * anything else; *@ret_list is then untouched. */
FENCE_CHECKED int fence_predecessors_parse(const char *text, size_t len,
                                           struct fence_predecessors *ret_list);

#endif
