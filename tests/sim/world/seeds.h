/* The parts of programs that play one seed after the other: how seeds are named, told and timed. */
#ifndef TESTS_SIM_WORLD_SEEDS_H
#define TESTS_SIM_WORLD_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses; 2 is for bad options. */
enum {
    SIM_SEEDS_VIOLATION = 1,
    SIM_SEEDS_NEVER_HAPPENED = 3,
};

/* A decimal number, and nothing after it. False: it is none. */
bool sim_seeds_number(const char *text, uint64_t *ret_number);

/* "A..B", with A < B. False: it is none. */
bool sim_seeds_range(const char *text, uint64_t *ret_first, uint64_t *ret_end);

/* From now on a core that fails an assertion, or plays one seed for longer than SIM_SEEDS_MAX_S,
 * ends the program with SIM_SEEDS_VIOLATION, and does not hide its seed. */
void sim_seeds_watch(void);
void sim_seeds_playing(uint64_t seed);

enum {
    SIM_SEEDS_MAX_S = 20, /* one takes milliseconds; seconds with sanitizers, on a busy machine */
};

/* Since some moment, for differences. */
double sim_seeds_now_s(void);

/* A line of the table of what happened. False where it is @needed, and never did. */
bool sim_seeds_show(const char *name, uint64_t count, bool needed);

#endif
