/* The words for what fence/fleet/audit.h finds by itself. */
#include "fence/fleet/audit.h"

#include <assert.h>

static const struct fence_words own_findings[] = {
    [FENCE_FINDING_REPLICAS - FENCE_FINDINGS_OF_SERVER] =
        {"replicas",
         "It has replicas. A promoted replica lacks the writes that it had not received. "
         "Detach the replicas, or make sure that nothing promotes them."},
    [FENCE_FINDING_CLOCK - FENCE_FINDINGS_OF_SERVER] =
        {"clock", "Its wall clock, which expires locks, jumped or drifted against the boot clock "
                  "of this machine. Let NTP slew the clock, never step it. If all masters show "
                  "this at once, this machine was paused."},
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
