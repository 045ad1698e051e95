#include "tests/sim/adversary/stats.h"

#include "fence/protocol/error.h"

static void done(struct stats *stats, const struct fence_answer *answer)
{
    switch (answer->kind) {
    case FENCE_CALL_ACQUIRE:
        stats->granted++;
        stats->granted_several += answer->acquire.group != NULL;
        stats->granted_found += answer->acquire.found;
        break;
    case FENCE_CALL_EXTEND:
        stats->extended++;
        break;
    case FENCE_CALL_RELEASE:
        stats->released += answer->release.released;
        stats->released_lost += !answer->release.released;
        break;
    case FENCE_CALL_INSPECT:
    case FENCE_CALL_WATCH:
        stats->inspected++;
        break;
    case FENCE_CALL_COUNT:
        stats->counted++;
        break;
    case FENCE_CALL_BREAK:
        stats->broken += answer->breaks.released;
        break;
    }
}

void stats_answer(struct stats *stats, const struct fence_answer *answer)
{
    if (answer->error == 0)
        done(stats, answer);
    stats->held += answer->error == FENCE_EHELD;
    stats->wait_timeout += answer->error == FENCE_EWAITTIMEOUT;
    stats->contended += answer->error == FENCE_ECONTENDED;
    stats->no_quorum += answer->error == FENCE_ENOQUORUM;
    stats->too_slow += answer->error == FENCE_ETOOSLOW;
    stats->not_ready += answer->error == FENCE_ENOTREADY;
    stats->lock_lost += answer->error == FENCE_ELOCKLOST;
    stats->lock_broken += answer->error == FENCE_EBROKEN;
    stats->mismatched += answer->error == FENCE_EMISMATCH;
    stats->exhausted += answer->error == FENCE_EEXHAUSTED;
    stats->busy += answer->error == FENCE_EBUSY;
    stats->ttl_too_long += answer->error == FENCE_ETTL;
    stats->left += answer->error == FENCE_ELEFT;
    stats->too_many_waiters += answer->error == FENCE_EWAITERS;
}
