/* Totals, counted. Each of these must be above 0 at the end of a run, or it has shown
 * nothing about it. */
#ifndef TESTS_SIM_ADVERSARY_STATS_H
#define TESTS_SIM_ADVERSARY_STATS_H

#include "fence/protocol/message.h"

#include <stdint.h>

#define STATS(X)                                                                                   \
    X(steps)                                                                                       \
    X(ticks)                                                                                       \
    X(handshakes)                                                                                  \
    X(connections_down)                                                                            \
    X(connections_reset)                                                                           \
    X(restamps)                                                                                    \
    X(shakes)                                                                                      \
    X(probes)                                                                                      \
    X(lags)                                                                                        \
    X(requests)                                                                                    \
    X(replies)                                                                                     \
    X(replies_lost)                                                                                \
    X(replies_after_reset) /* on the old connection, before it is closed */                        \
    X(requests_stale)                                                                              \
    X(requests_refused)                                                                            \
    X(requests_foreign)                                                                            \
    X(superseded)                                                                                  \
    X(uncounted)                                                                                   \
    X(tombstones_met)                                                                              \
    X(marks)                                                                                       \
    X(clears)                                                                                      \
    X(records)                                                                                     \
    X(counters_read)                                                                               \
    X(locks_read)                                                                                  \
    X(pages_merged)                                                                                \
    X(signs_of_life) /* signs of life of a leader that waits for the longest lease */              \
    X(admits)                                                                                      \
    X(rejoins_changed)                                                                             \
    X(rejoins_lost)                                                                                \
    X(calls)                                                                                       \
    X(granted)                                                                                     \
    X(granted_several)                                                                             \
    X(granted_found) /* all was locked before under the client's lock id */                        \
    X(declined)      /* a grant that found its client gone */                                      \
    X(extended)                                                                                    \
    X(released)                                                                                    \
    X(released_lost)                                                                               \
    X(inspected)                                                                                   \
    X(counted)                                                                                     \
    X(broken)                                                                                      \
    X(lock_broken)                                                                                 \
    X(mismatched)                                                                                  \
    X(held)                                                                                        \
    X(wait_timeout)                                                                                \
    X(contended)                                                                                   \
    X(no_quorum)                                                                                   \
    X(too_slow)                                                                                    \
    X(not_ready)                                                                                   \
    X(lock_lost)                                                                                   \
    X(exhausted)                                                                                   \
    X(busy)                                                                                        \
    X(ttl_too_long)                                                                                \
    X(left)                                                                                        \
    X(too_many_waiters)                                                                            \
    X(words) /* that a lock was released */

struct stats {
#define STATS_MEMBER(name) uint64_t name;
    STATS(STATS_MEMBER)
#undef STATS_MEMBER
};

void stats_answer(struct stats *stats, const struct fence_answer *answer);

#endif
