#include "fence/fleet/audit.h"

#include "fence/base/set.h"

#include <assert.h>
#include <string.h>

static uint32_t bit(enum fence_finding finding, bool found)
{
    return (uint32_t)found << finding;
}

void fence_audit_init(struct fence_audit *audit, unsigned n)
{
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    memset(audit, 0, sizeof(*audit));
    audit->n = n;
    audit->deadline_us = FENCE_MASTER_DEADLINE_US;
}

/* The next reading is compared with one that took little time. A slow one would hide a step in its
 * uncertainty. */
static void keep_if_quick(struct fence_audited *master, const struct fence_clock_reading *clock,
                          uint64_t deadline_us)
{
    if (master->clock.theirs_us == 0 || clock->after_us - clock->before_us <= deadline_us)
        master->clock = *clock;
}

/* A step of the clock shows once, between two probes, but keys expire by the new clock from then
 * on. So the finding stays. */
static uint32_t judge_clock(const struct fence_audit *audit, struct fence_audited *master,
                            const struct fence_clock_reading *clock, uint64_t now_us)
{
    if (clock->theirs_us != 0) {
        int64_t strayed_us =
            master->clock.theirs_us != 0 ? fence_clock_strayed_us(&master->clock, clock) : 0;
        if (strayed_us != 0) {
            master->strayed_us = strayed_us;
            master->strayed_until_us = now_us + FENCE_AUDIT_CLOCK_SHOWN_US;
        }
        keep_if_quick(master, clock, audit->deadline_us);
    }
    return bit(FENCE_FINDING_CLOCK, now_us < master->strayed_until_us);
}

/* The set of masters that are on the machine of another. */
static uint32_t sharing_a_host(const struct fence_audit *audit)
{
    uint32_t sharing = 0;
    for (unsigned i = 0; i < audit->n; i++)
        for (unsigned j = i + 1; j < audit->n; j++)
            if (audit->master[i].host[0] != '\0' &&
                strcmp(audit->master[i].host, audit->master[j].host) == 0)
                sharing |= fence_set_of(i) | fence_set_of(j);
    return sharing;
}

void fence_audit_probed(struct fence_audit *audit, unsigned i, const struct fence_facts *facts,
                        uint64_t now_us)
{
    assert(i < audit->n);
    struct fence_audited *master = &audit->master[i];
    master->replicas = facts->replicas;
    master->durable = facts->durable;
    memcpy(master->persistence, facts->persistence, sizeof(master->persistence));
    memcpy(master->host, facts->host, sizeof(master->host));
    assert(facts->findings >> FENCE_FINDINGS_OF_SERVER == 0);
    master->words = facts->finding_words;
    master->full = facts->full;
    master->findings = facts->findings | bit(FENCE_FINDING_REPLICAS, facts->replicas > 0) |
                       judge_clock(audit, master, &facts->clock, now_us);
    audit->same_host = sharing_a_host(audit);
}
