/* The wall clock of one master, as the test has it go. A file of this shape is mapped by the test,
 * which changes it at any moment, and by clock_shim.c inside that master, which obeys. */
#ifndef TESTS_CHAOS_CLOCK_H
#define TESTS_CHAOS_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#define CHAOS_CLOCK_VARIABLE "CHAOS_CLOCK" /* in the environment: the path of the file */

/* shown = real + offset + (real - since) * rate. Real times are microseconds since 1970. */
struct chaos_clock_setting {
    int64_t offset_us;
    int64_t since_us;
    int64_t rate_ppm; /* parts in a million that it is too fast (below 0: too slow) */
};

/* All zero: it shows the real time. Of the two settings the one that @turn names is in force; the
 * other is written, and then @turn is. */
struct chaos_clock {
    _Atomic uint32_t turn;
    struct chaos_clock_setting setting[2];
};

#endif
