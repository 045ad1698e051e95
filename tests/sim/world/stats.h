/* The events, counted: a simulator that never sees a duplicate executed or a majority missing
 * has shown nothing about them. Each of these must be above 0 at the end of a run. */
#ifndef TESTS_SIM_WORLD_STATS_H
#define TESTS_SIM_WORLD_STATS_H

#include "fence/protocol/message.h"

#include <stdint.h>

#define SIM_STATS(X)                                                                               \
    X(events)                                                                                      \
    X(steps)                                                                                       \
    X(acquires)                                                                                    \
    X(granted_fast)                                                                                \
    X(granted_confirmed)                                                                           \
    X(granted_found) /* all was locked before under the client's lock id */                        \
    X(granted_several)                                                                             \
    X(failed_several)                                                                              \
    X(asked_again) /* with a lock id that was asked with before */                                 \
    X(declined)    /* a grant that found its client gone */                                        \
    X(answers_lost)                                                                                \
    X(held)                                                                                        \
    X(wait_timeout)                                                                                \
    X(contended)                                                                                   \
    X(no_quorum)                                                                                   \
    X(too_slow)                                                                                    \
    X(not_ready)                                                                                   \
    X(busy)                                                                                        \
    X(extended)                                                                                    \
    X(extended_anew) /* acquired again: a new grant */                                             \
    X(extend_lost)                                                                                 \
    X(extend_exhausted)                                                                            \
    X(extend_unknown)                                                                              \
    X(extend_broken)                                                                               \
    X(released)                                                                                    \
    X(released_lost)                                                                               \
    X(release_unknown)                                                                             \
    X(inspected_held)                                                                              \
    X(inspected_free)                                                                              \
    X(inspect_unknown)                                                                             \
    X(watched_held)                                                                                \
    X(watched_free)                                                                                \
    X(watched_over) /* their wait was */                                                           \
    X(watch_unknown)                                                                               \
    X(longest_watch_us) /* not summed: a change that lasted, in clear worlds */                    \
    X(broken)                                                                                      \
    X(break_free) /* no holder had the lock any more */                                            \
    X(break_mismatch)                                                                              \
    X(break_superseded) /* a master had a later grant of the lock id */                            \
    X(break_unknown)                                                                               \
    X(counted)                                                                                     \
    X(counters_read)                                                                               \
    X(counters_absent)                                                                             \
    X(count_unknown)                                                                               \
    X(waits_abandoned)                                                                             \
    X(left)                                                                                        \
    X(waits) /* counts calls that may wait: behind others, or for a holder */                      \
    X(hand_overs_by_word)                                                                          \
    X(hand_overs_by_timer)                                                                         \
    X(places_kept)   /* a waiter came back to its own */                                           \
    X(waits_claimed) /* claimed by a client that had waited at a server before */                  \
    X(too_many_waiters)                                                                            \
    X(too_many_groups)                                                                             \
    X(held_back)        /* from a free lock that a master kept for another waiter */               \
    X(longest_line)     /* not summed: the most at any time */                                     \
    X(longest_sleep_us) /* past the moment at which a majority was free */                         \
    X(words_heard)                                                                                 \
    X(words_lost)                                                                                  \
    X(requests)                                                                                    \
    X(duplicates_executed)                                                                         \
    X(executed_after_break)                                                                        \
    X(replies_lost)                                                                                \
    X(locked_again) /* a TAKE on its own attempt's lock, or after that had gone */                 \
    X(confirms_refused)                                                                            \
    X(undone)                                                                                      \
    X(found_at_a_master)                                                                           \
    X(counted_anew)                                                                                \
    X(superseded)                                                                                  \
    X(joined)                                                                                      \
    X(past)                                                                                        \
    X(hedges)                                                                                      \
    X(kept)                                                                                        \
    X(turned_away)                                                                                 \
    X(uncounted)                                                                                   \
    X(tombstones_met)                                                                              \
    X(extended_imported)                                                                           \
    X(locks_vanished)                                                                              \
    X(connections_down)                                                                            \
    X(connections_reset)                                                                           \
    X(connects_failed)                                                                             \
    X(restamps)                                                                                    \
    X(requests_stale)                                                                              \
    X(lies)                                                                                        \
    X(requests_refused)                                                                            \
    X(marks)                                                                                       \
    X(clears)                                                                                      \
    X(records)                                                                                     \
    X(pages_read)                                                                                  \
    X(pages_failed)                                                                                \
    X(pages_merged)                                                                                \
    X(signs_of_life)                                                                               \
    X(admits)                                                                                      \
    X(rejoins_changed)                                                                             \
    X(rejoins_executed_again)                                                                      \
    X(restarts_intact)                                                                             \
    X(restarts_forgetful)                                                                          \
    X(restores)                                                                                    \
    X(promotions)                                                                                  \
    X(rollbacks)                                                                                   \
    X(evictions)                                                                                   \
    X(lineages_changed)                                                                            \
    X(undurable)                                                                                   \
    X(undurable_restarts)                                                                          \
    X(mended)                                                                                      \
    X(replies_discounted)                                                                          \
    X(flushes)                                                                                     \
    X(replacements)                                                                                \
    X(restarts_in_haste)                                                                           \
    X(rollbacks_in_haste)                                                                          \
    X(wipes_in_haste)                                                                              \
    X(maintained)                                                                                  \
    X(bootstraps_new)                                                                              \
    X(bootstraps_floor)                                                                            \
    X(bootstraps_broken)                                                                           \
    X(bootstraps_refused)                                                                          \
    X(bootstrap_copies)                                                                            \
    X(losses_again)                                                                                \
    X(server_crashes)                                                                              \
    X(listing_pages)                                                                               \
    X(listings_ended)                                                                              \
    X(listings_failed)                                                                             \
    X(listings_outdated)                                                                           \
    X(listings_gave_up)                                                                            \
    X(listings_put_off)                                                                            \
    X(scans)                                                                                       \
    X(holders_asked)                                                                               \
    X(locks_listed)                                                                                \
    X(locks_promised) /* to be listed */                                                           \
    X(claims_stale)                                                                                \
    X(writes_stale)                                                                                \
    X(writes)

struct sim_stats {
#define SIM_STATS_MEMBER(name) uint64_t name;
    SIM_STATS(SIM_STATS_MEMBER)
#undef SIM_STATS_MEMBER
};

/* Keeps the most of what @stat was at any time. */
static inline void sim_stats_most(uint64_t *stat, uint64_t now)
{
    if (*stat < now)
        *stat = now;
}

/* Counts an answer; @several: the call was for more than one; @confirmed: the grant took a second
 * round; @reads: a counter was only read. */
void sim_stats_answer(struct sim_stats *stats, const struct fence_answer *answer, bool several,
                      bool confirmed, bool reads);

#endif
