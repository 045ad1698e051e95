/* What a benchmark counts, and the line of JSON that it prints. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_TALLY_H
#define SCRIPTS_BENCH_D_PROGRAMS_TALLY_H

#include "scripts/bench.d/programs/histogram.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TALLY_STATUS_MAX = 600, /* HTTP's end at 599 */
};

struct tally_cpu {
    uint64_t user_us;
    uint64_t system_us;
};

struct tally {
    uint64_t began_us;
    uint64_t ended_us;  /* 0: goes on */
    uint64_t pairs;     /* locks acquired and released */
    uint64_t pairs_all; /* the same with the warm-up, and what came after the end */
    struct histogram acquire_us;
    struct histogram release_us;
    uint64_t errors[TALLY_STATUS_MAX]; /* by HTTP status; 0: those without one */
    struct tally_cpu cpu;              /* this process' until the beginning */
};

/* Forgets all that was counted but pairs_all, and begins now. */
void tally_begin(struct tally *tally);

/* Counts an answer that took @latency_us, to an acquire or (@acquire false) a release. @good: it
 * was done; a release then completes a pair. Counts nothing but pairs_all after the end. */
void tally_add(struct tally *tally, bool acquire, bool good, int status, uint64_t latency_us);

/* Prints {"connections":...,"pairs_per_s":...,"acquire_us":{...},...,"cpu_us":{...}} and a newline
 * to stdout. */
void tally_print(const struct tally *tally, unsigned connections, unsigned names);

/* For argp's parsers: the number that @arg is; ends the program with a sentence unless it is one
 * from @min to @max. */
double tally_option(const char *arg, double min, double max, const struct argp_state *state);

#endif
