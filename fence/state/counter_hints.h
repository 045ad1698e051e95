/* Hints: the highest number that any master gave for a counter, and which masters gave it. With a
 * hint, a master whose counter is behind gives the number that the other masters give.
 *
 * Hints come from masters only. The core forgets a hint when the views change. */
#ifndef FENCE_STATE_COUNTER_HINTS_H
#define FENCE_STATE_COUNTER_HINTS_H

#include "fence/base/checked.h"
#include "fence/protocol/limits.h"

#include <stdint.h>

struct core_counter_hint {
    int64_t number;      /* 0: none */
    uint32_t in_step;    /* set of masters whose counter is known to be at @number */
    uint32_t generation; /* lower bits of the generation of the views when the core learnt the
                          * hint */
};

struct core_counter_hints {
    struct core_counter_hint *slots; /* FENCE_SLOTS */
};

/* FENCE_ENOMEM. */
FENCE_CHECKED int core_counter_hints_init(struct core_counter_hints *hints);
void core_counter_hints_fini(struct core_counter_hints *hints);

/* Learns that the counter of @slot is at @number at the masters in @set. */
void core_counter_hints_learn(struct core_counter_hints *hints, uint16_t slot, uint64_t generation,
                              int64_t number, uint32_t set);

/* Returns the number to send to the masters in @set; 0: no hint is needed, as all of them are in
 * step, or none is known. */
int64_t core_counter_hints_for(const struct core_counter_hints *hints, uint16_t slot,
                               uint64_t generation, uint32_t set);

#endif
