/* The output of believers (README.md), as holds, and the rules that all holds have to keep. */
#ifndef TESTS_SYSTEM_CLIENT_BELIEF_H
#define TESTS_SYSTEM_CLIENT_BELIEF_H

#include "fence/protocol/limits.h"
#include "tests/system/client/sampler.h"

#include <stddef.h>
#include <stdint.h>

/* All that a believer said of one lock id and token: it held the lock from the first observation to
 * the last. Times are microseconds of the boot clock. */
struct belief_hold {
    unsigned believer;
    uint64_t from_us;
    uint64_t till_us;
    uint64_t lost_us; /* it said that it lost the lock then; 0: it did not */
    int64_t token;
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

struct beliefs {
    struct belief_hold *holds; /* in the order of from_us once all are read */
    size_t count;
    size_t observations;
};

/* A time in which the believer was stopped. */
struct belief_stop {
    unsigned believer;
    uint64_t from_us; /* after SIGSTOP had taken hold */
    uint64_t till_us; /* before SIGCONT */
};

/* A time in which a master may not have voted: from the start of a fault until all vote again. Its
 * later state proves nothing: a master that rejoins gets its locks from the others. */
struct belief_absence {
    unsigned master;
    uint64_t from_us;
    uint64_t till_us;
};

/* Adds what stands in the file @path, which @believer wrote. Fails the test at a line that is none.
 * Begin with zeroes, and end with beliefs_fini(). */
void beliefs_read(struct beliefs *beliefs, const char *path, unsigned believer);
void beliefs_fini(struct beliefs *beliefs);

/* After all are read. */
void beliefs_sort(struct beliefs *beliefs);

/* The last line of the file @path says that the lock was held until @now_us, less @within_us. */
bool belief_is_held_now(const char *path, uint64_t now_us, uint64_t within_us);

/* No two holds overlap in time. */
void beliefs_expect_one_holder(const struct beliefs *beliefs);

/* A hold that begins later has a higher token. */
void beliefs_expect_tokens_rise(const struct beliefs *beliefs);

/* Whenever all masters were read during a hold, a majority of them had its lock id, or may have had
 * it: one that was absent then. */
struct belief_masters {
    const struct sample *samples; /* in the order of time, as the absences are */
    size_t sample_count;
    const struct belief_absence *absences;
    size_t absence_count;
};

/* Returns how many samples there were during holds while no master was absent. */
size_t beliefs_expect_masters_agree(const struct beliefs *beliefs,
                                    const struct belief_masters *masters);

/* No hold goes on over a stop that is longer than any lease. Returns how many of the stops met a
 * holder that said afterwards that it had lost the lock. */
size_t beliefs_expect_stopped_know(const struct beliefs *beliefs, const struct belief_stop *stops,
                                   size_t stop_count, uint64_t lease_most_us);

#endif
