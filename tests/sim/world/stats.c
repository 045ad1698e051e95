#include "tests/sim/world/stats.h"

#include "fence/protocol/error.h"

static void acquire(struct sim_stats *stats, const struct fence_answer *answer, bool several,
                    bool confirmed)
{
    stats->acquires++;
    stats->granted_found += answer->acquire.found;
    stats->granted_several += several && answer->error == 0;
    stats->failed_several += several && answer->error != 0;
    stats->granted_fast += answer->error == 0 && !confirmed;
    stats->granted_confirmed += answer->error == 0 && confirmed;
    stats->held += answer->error == FENCE_EHELD;
    stats->wait_timeout += answer->error == FENCE_EWAITTIMEOUT;
    stats->left += answer->error == FENCE_ELEFT;
    stats->too_many_waiters += answer->error == FENCE_EWAITERS;
    stats->too_many_groups += several && answer->error == FENCE_EWAITERS;
    stats->contended += answer->error == FENCE_ECONTENDED;
    stats->no_quorum += answer->error == FENCE_ENOQUORUM;
    stats->too_slow += answer->error == FENCE_ETOOSLOW;
}

static void extend(struct sim_stats *stats, const struct fence_answer *answer)
{
    stats->extended += answer->error == 0;
    stats->extended_anew += answer->extend.anew;
    stats->extend_lost += answer->error == FENCE_ELOCKLOST;
    stats->extend_exhausted += answer->error == FENCE_EEXHAUSTED;
    stats->extend_unknown += answer->error == FENCE_ENOQUORUM;
    stats->extend_broken += answer->error == FENCE_EBROKEN;
}

static void break_grant(struct sim_stats *stats, const struct fence_answer *answer)
{
    stats->broken += answer->breaks.released;
    stats->break_free += answer->error == 0 && !answer->breaks.released;
    stats->break_mismatch += answer->error == FENCE_EMISMATCH;
    stats->break_unknown += answer->error == FENCE_ENOQUORUM;
}

static void count(struct sim_stats *stats, const struct fence_answer *answer, bool reads)
{
    stats->counted += answer->error == 0 && !reads;
    stats->counters_read += answer->error == 0 && reads;
    stats->counters_absent += answer->error == FENCE_ENOENT;
    stats->count_unknown += answer->error == FENCE_ENOQUORUM;
}

void sim_stats_answer(struct sim_stats *stats, const struct fence_answer *answer, bool several,
                      bool confirmed, bool reads)
{
    stats->not_ready += answer->error == FENCE_ENOTREADY;
    stats->busy += answer->error == FENCE_EBUSY;
    switch (answer->kind) {
    case FENCE_CALL_ACQUIRE:
        acquire(stats, answer, several, confirmed);
        break;
    case FENCE_CALL_EXTEND:
        extend(stats, answer);
        break;
    case FENCE_CALL_RELEASE:
        stats->released += answer->release.released;
        stats->released_lost += answer->error == 0 && !answer->release.released;
        stats->release_unknown += answer->error == FENCE_ENOQUORUM;
        break;
    case FENCE_CALL_WATCH: /* promises/watched.c counts the others */
        stats->watch_unknown += answer->error == FENCE_ENOQUORUM;
        stats->left += answer->error == FENCE_ELEFT;
        break;
    case FENCE_CALL_INSPECT:
        stats->inspected_held += answer->inspect.held;
        stats->inspected_free += answer->error == 0 && !answer->inspect.held;
        stats->inspect_unknown += answer->error == FENCE_ENOQUORUM;
        break;
    case FENCE_CALL_COUNT:
        count(stats, answer, reads);
        break;
    case FENCE_CALL_BREAK:
        break_grant(stats, answer);
        break;
    }
}
