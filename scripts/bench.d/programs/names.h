/* Which names the clients of a benchmark lock, one after the other. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_NAMES_H
#define SCRIPTS_BENCH_D_PROGRAMS_NAMES_H

#include <stdint.h>

enum {
    NAMES_MAX = 100 * 1000 * 1000, /* NAMES_DIGITS write them all */
    NAMES_DIGITS = 8,
};

/* K clients walk over M names in steps of K: with M = K each keeps a name of its own, with fewer
 * they share, with more each pair has a name it has not had for long. @turn counts a client's
 * pairs. */
static inline unsigned names_next(unsigned client, unsigned turn, unsigned clients, unsigned names)
{
    return (unsigned)((client + (uint64_t)turn * clients) % names);
}

#endif
