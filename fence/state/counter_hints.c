#include "fence/state/counter_hints.h"

#include "fence/protocol/error.h"

#include <assert.h>
#include <stdlib.h>

int core_counter_hints_init(struct core_counter_hints *hints)
{
    hints->slots = calloc(FENCE_SLOTS, sizeof(*hints->slots));
    return hints->slots ? 0 : FENCE_ENOMEM;
}

void core_counter_hints_fini(struct core_counter_hints *hints)
{
    free(hints->slots);
    hints->slots = NULL;
}

void core_counter_hints_learn(struct core_counter_hints *hints, uint16_t slot, uint64_t generation,
                              int64_t number, uint32_t set)
{
    assert(slot < FENCE_SLOTS && number > 0);
    struct core_counter_hint *hint = &hints->slots[slot];
    if (hint->generation != (uint32_t)generation || hint->number < number)
        *hint = (struct core_counter_hint){.number = number, .generation = (uint32_t)generation};
    if (hint->number == number)
        hint->in_step |= set;
    else
        hint->in_step &= ~set;
}

int64_t core_counter_hints_for(const struct core_counter_hints *hints, uint16_t slot,
                               uint64_t generation, uint32_t set)
{
    assert(slot < FENCE_SLOTS);
    const struct core_counter_hint *hint = &hints->slots[slot];
    bool known = hint->generation == (uint32_t)generation && (set & ~hint->in_step) != 0;
    return known ? hint->number : 0;
}
