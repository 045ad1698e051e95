/* The words for what fence/fleet/audit.h finds. */
#include "fence/fleet/audit.h"

static const struct {
    const char *name;
    const char *text;
} findings[FENCE_FINDINGS] = {
    [FENCE_FINDING_PERSISTENCE_UNKNOWN] =
        {"persistence-unknown",
         "It refuses CONFIG GET, so it counts as one that forgets when it restarts. Allow it to "
         "pawld's user (ACL: +config|get)."},
    [FENCE_FINDING_NO_AOF] =
        {"no-aof", "A restart forgets everything, and until pawld has taken it back it does not "
                   "vote. Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite "
                   "no."},
    [FENCE_FINDING_FSYNC] =
        {"fsync", "A crash may forget the last writes, so after a restart it does not vote until "
                  "pawld has taken it back. Set appendfsync always and no-appendfsync-on-rewrite "
                  "no."},
    [FENCE_FINDING_REWRITE] =
        {"fsync-on-rewrite", "While its AOF is rewritten a crash may forget the last writes, so "
                             "after a restart it does not vote until pawld has taken it back. Set "
                             "no-appendfsync-on-rewrite no."},
    [FENCE_FINDING_EVICTION] =
        {"eviction", "When its memory is full it may drop locks that are held, or its marker with "
                     "all counters. Set maxmemory-policy noeviction."},
    [FENCE_FINDING_MEMORY] =
        {"memory-full", "Its memory is full, so it grants no lock until others end; those that are "
                        "held can be released. Raise its maxmemory."},
    [FENCE_FINDING_REPLICAS] =
        {"replicas", "Replicas are attached to it. One that is promoted in its place has forgotten "
                     "whatever had not reached it. Detach them, or see to it that nothing promotes "
                     "them."},
    [FENCE_FINDING_CLOCK] =
        {"clock", "Its wall clock, by which locks expire, did not keep step with this machine's "
                  "boot clock. Have it slewed and never stepped. If all masters show this at once, "
                  "it was this machine that stood still."},
    [FENCE_FINDING_SAME_HOST] =
        {"same-host", "Some masters are one machine, and fail together. Except to try things out, "
                      "give each a machine of its own."},
};

const char *fence_finding_name(enum fence_finding finding)
{
    return findings[finding].name;
}

const char *fence_finding_text(enum fence_finding finding)
{
    return findings[finding].text;
}
