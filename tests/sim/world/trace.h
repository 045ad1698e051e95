/* The history of one world: always as a hash, and as text for people where wanted. */
#ifndef TESTS_SIM_WORLD_TRACE_H
#define TESTS_SIM_WORLD_TRACE_H

#include <stdint.h>
#include <stdio.h>

struct sim_trace {
    FILE *out;   /* NULL: no text */
    FILE *scene; /* the same; a scene has it as well (scene.h) */
    uint64_t hash;
};

/* Adds @value to the hash. */
static inline void sim_trace_mix(struct sim_trace *trace, uint64_t value)
{
    trace->hash = (trace->hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    trace->hash ^= trace->hash >> 29;
}

/* Writes one line, with the time. */
void sim_trace_say(const struct sim_trace *trace, uint64_t now_us, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, for a world; costs nothing where no process reads. */
#define SIM_SAY(world, ...)                                                                        \
    do {                                                                                           \
        if ((world)->trace.out || (world)->trace.scene)                                            \
            sim_trace_say(&(world)->trace, (world)->now_us, __VA_ARGS__);                          \
    } while (0)

#endif
