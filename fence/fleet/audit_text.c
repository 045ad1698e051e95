/* The words for what fence/fleet/audit.h finds by itself. */
#include "fence/fleet/audit.h"

#include <assert.h>

static const struct fence_words own_findings[] = {
    [FENCE_FINDING_REPLICAS - FENCE_FINDINGS_OF_SERVER] =
        {"replicas",
         "Replicas are attached to it. A replica that is promoted in its place lacks the "
         "writes that had not reached it. Detach them, or make sure that nothing "
         "promotes them."},
    [FENCE_FINDING_CLOCK - FENCE_FINDINGS_OF_SERVER] =
        {"clock", "Its wall clock, by which locks expire, did not keep step with this machine's "
                  "boot clock. Have it slewed and never stepped. If all masters show this at once, "
                  "this machine stood still."},
    [FENCE_FINDING_SAME_HOST - FENCE_FINDINGS_OF_SERVER] =
        {"same-host", "Some masters are one machine, and fail together. Except to try things out, "
                      "give each a machine of its own."},
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
