/* The words for what fence/fleet/audit.h finds by itself. */
#include "fence/fleet/audit.h"

#include <assert.h>

static const struct fence_words own_findings[] = {
    [FENCE_FINDING_REPLICAS - FENCE_FINDINGS_OF_SERVER] =
        {"replicas",
         "This master has replicas. A promoted replica lacks the writes that the replica has not "
         "received. Detach the replicas, or make sure that they are never promoted."},
    [FENCE_FINDING_CLOCK - FENCE_FINDINGS_OF_SERVER] =
        {"clock",
         "The wall clock of this master, which expires locks, jumped or drifted against the boot "
         "clock of pawld's machine. Configure NTP to slew the clock, and never to step it. If all "
         "masters show this problem at the same time, pawld's machine was paused."},
    [FENCE_FINDING_SAME_HOST - FENCE_FINDINGS_OF_SERVER] =
        {"same-host", "Some masters are on one machine and fail together. In production, give each "
                      "master its own machine."},
};

const struct fence_words *fence_finding_words(const struct fence_audited *master,
                                              enum fence_finding finding)
{
    assert(finding < FENCE_FINDINGS);
    if (finding >= FENCE_FINDINGS_OF_SERVER)
        return &own_findings[finding - FENCE_FINDINGS_OF_SERVER];
    assert(master && master->words);
    return &master->words[finding];
}
