/* Counters and gauges. Each belongs to one thread, which alone changes it. Any thread may read it.
 * Nothing is locked, and no instruction waits for another processor. All zero to begin with. */
#ifndef API_METRICS_COUNTER_H
#define API_METRICS_COUNTER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct api_counter {
    atomic_uint_least64_t value;
};

/* Any thread. */
static inline uint64_t api_counter_get(const struct api_counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/* The thread that it belongs to, as in all that follows. */
static inline void api_counter_set(struct api_counter *counter, uint64_t value)
{
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

static inline void api_counter_add(struct api_counter *counter, uint64_t more)
{
    api_counter_set(counter, api_counter_get(counter) + more);
}

/* Adds @count counters of another thread to those of this one. */
static inline void api_counters_sum(struct api_counter *to, const struct api_counter *from,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        api_counter_add(&to[i], api_counter_get(&from[i]));
}

#endif
