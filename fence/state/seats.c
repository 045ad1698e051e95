#include "fence/state/seats.h"

#include <assert.h>
#include <stdlib.h>

int core_seats_init(struct core_seats *seats, uint32_t capacity)
{
    assert(capacity > 0);
    seats->known = calloc(capacity, sizeof(*seats->known));
    seats->shown = calloc(FENCE_SEATS_SHOWN_MAX, sizeof(*seats->shown));
    if (!fence_pool_init(&seats->pool, capacity) ||
        !fence_pool_init(&seats->shown_pool, FENCE_SEATS_SHOWN_MAX) || !seats->known ||
        !seats->shown) {
        core_seats_fini(seats);
        return FENCE_ENOMEM;
    }
    return 0;
}

void core_seats_fini(struct core_seats *seats)
{
    fence_pool_fini(&seats->pool);
    fence_pool_fini(&seats->shown_pool);
    free(seats->known);
    free(seats->shown);
    seats->known = NULL;
    seats->shown = NULL;
}

bool core_seats_full(const struct core_seats *seats)
{
    return fence_pool_full(&seats->pool);
}

uint32_t core_seats_open(struct core_seats *seats)
{
    uint32_t index = fence_pool_take(&seats->pool);
    assert(index != FENCE_POOL_NONE);
    struct core_seats_known *known = &seats->known[index];
    known->next = seats->turn++;
    known->heard = 0;
    known->trying = 0;
    known->gate_heard = false;
    core_holder_hint_clear(&known->gate);
    for (unsigned k = 0; k < FENCE_SEATS_MAX; k++) {
        core_holder_hint_clear(&known->seen[k]);
        known->turn[k] = FENCE_NOBODY;
        known->asker[k] = 0;
    }
    return index;
}

void core_seats_close(struct core_seats *seats, uint32_t index)
{
    fence_pool_give(&seats->pool, index);
}

bool core_seats_begin_show(struct core_seats *seats, uint32_t *ret_index)
{
    const uint32_t index = fence_pool_take(&seats->shown_pool);
    if (index == FENCE_POOL_NONE)
        return false;
    *ret_index = index;
    return true;
}

void core_seats_end_show(struct core_seats *seats, uint32_t index)
{
    fence_pool_give(&seats->shown_pool, index);
}
