#include "fence/base/timers.h"

#include <assert.h>
#include <stdlib.h>

bool fence_timers_init(struct fence_timers *timers, uint32_t capacity)
{
    timers->capacity = capacity;
    timers->count = 0;
    timers->heap = calloc(capacity, sizeof(*timers->heap));
    timers->place = calloc(capacity, sizeof(*timers->place));
    timers->due_us = calloc(capacity, sizeof(*timers->due_us));
    if (!timers->heap || !timers->place || !timers->due_us) {
        fence_timers_fini(timers);
        return false;
    }
    for (uint32_t i = 0; i < capacity; i++)
        timers->place[i] = FENCE_TIMERS_IDLE;
    return true;
}

void fence_timers_fini(struct fence_timers *timers)
{
    free(timers->heap);
    free(timers->place);
    free(timers->due_us);
    *timers = (struct fence_timers){0};
}

static void put_in_heap(struct fence_timers *timers, uint32_t at, uint32_t slot)
{
    timers->heap[at] = slot;
    timers->place[slot] = at;
}

static uint64_t due_at(const struct fence_timers *timers, uint32_t at)
{
    return timers->due_us[timers->heap[at]];
}

static void rise(struct fence_timers *timers, uint32_t at)
{
    uint32_t slot = timers->heap[at];
    while (at > 0 && due_at(timers, (at - 1) / 2) > timers->due_us[slot]) {
        put_in_heap(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_in_heap(timers, at, slot);
}

static void sink(struct fence_timers *timers, uint32_t at)
{
    uint32_t slot = timers->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count && due_at(timers, child + 1) < due_at(timers, child))
            child++;
        if (due_at(timers, child) >= timers->due_us[slot])
            break;
        put_in_heap(timers, at, timers->heap[child]);
        at = child;
    }
    put_in_heap(timers, at, slot);
}

static void clear(struct fence_timers *timers, uint32_t slot)
{
    uint32_t at = timers->place[slot];
    if (at == FENCE_TIMERS_IDLE)
        return;
    timers->place[slot] = FENCE_TIMERS_IDLE;
    timers->count--;
    if (at == timers->count)
        return;
    put_in_heap(timers, at, timers->heap[timers->count]);
    rise(timers, at);
    sink(timers, timers->place[timers->heap[at]]);
}

void fence_timers_set(struct fence_timers *timers, uint32_t slot, uint64_t due_us)
{
    assert(slot < timers->capacity);
    if (due_us == FENCE_NEVER) {
        clear(timers, slot);
        return;
    }
    timers->due_us[slot] = due_us;
    if (timers->place[slot] == FENCE_TIMERS_IDLE)
        put_in_heap(timers, timers->count++, slot);
    rise(timers, timers->place[slot]);
    sink(timers, timers->place[slot]);
}

uint64_t fence_timers_next_us(const struct fence_timers *timers)
{
    return timers->count > 0 ? due_at(timers, 0) : FENCE_NEVER;
}

uint32_t fence_timers_first(const struct fence_timers *timers)
{
    assert(timers->count > 0);
    return timers->heap[0];
}

bool fence_timers_is_set(const struct fence_timers *timers, uint32_t slot)
{
    assert(slot < timers->capacity);
    return timers->place[slot] != FENCE_TIMERS_IDLE;
}

void fence_timers_check(const struct fence_timers *timers)
{
    assert(timers->count <= timers->capacity);
    for (uint32_t at = 0; at < timers->count; at++) {
        assert(timers->place[timers->heap[at]] == at && "each slot is where it says");
        assert((at == 0 || due_at(timers, (at - 1) / 2) <= due_at(timers, at)) &&
               "no timer is due before the one above it");
    }
}
