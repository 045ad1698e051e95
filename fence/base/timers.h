/* One timer for each of a fixed number of slots: a binary heap, earliest first. Setting, moving and
 * clearing are O(log n) and allocate nothing. */
#ifndef FENCE_BASE_TIMERS_H
#define FENCE_BASE_TIMERS_H

#include "fence/base/checked.h"
#include "fence/base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct fence_timers {
    uint32_t capacity;
    uint32_t count;
    uint32_t *heap;   /* slots, ordered by due_us */
    uint32_t *place;  /* place[slot]: index in the heap; FENCE_TIMERS_IDLE: not in the heap */
    uint64_t *due_us; /* due_us[slot] */
};

#define FENCE_TIMERS_IDLE UINT32_MAX

/* Returns false if there is no memory. */
FENCE_CHECKED bool fence_timers_init(struct fence_timers *timers, uint32_t capacity);
void fence_timers_fini(struct fence_timers *timers);

/* Sets @slot's timer, or moves it; FENCE_NEVER clears it. */
void fence_timers_set(struct fence_timers *timers, uint32_t slot, uint64_t due_us);

/* Returns when the earliest timer is due; FENCE_NEVER if none is set. */
uint64_t fence_timers_next_us(const struct fence_timers *timers);

/* Returns the slot of the earliest timer. Precondition: a timer is set. */
uint32_t fence_timers_first(const struct fence_timers *timers);

/* Reports whether the timer of @slot is set. */
bool fence_timers_is_set(const struct fence_timers *timers, uint32_t slot);

/* Asserts that the heap is in order, and that place[] agrees with the heap. O(n): for tests. */
void fence_timers_check(const struct fence_timers *timers);

#endif
