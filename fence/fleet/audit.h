/* The audit: what is wrong with masters that vote anyway. Nothing here keeps a master from
 * voting. It is shown and logged, so that an operator can act in time.
 *
 * Not thread-safe; no I/O. */
#ifndef FENCE_FLEET_AUDIT_H
#define FENCE_FLEET_AUDIT_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

enum fence_finding {
    /* Below this are the findings of the server, in its own words (fence_facts.findings). */
    FENCE_FINDINGS_OF_SERVER = 16,
    FENCE_FINDING_REPLICAS = FENCE_FINDINGS_OF_SERVER, /* attached, and could be promoted */
    FENCE_FINDING_CLOCK,                               /* its clock moved against our boot clock */
    FENCE_FINDING_SAME_HOST, /* a finding about the fleet: some masters are one machine */
    FENCE_FINDINGS,
};

/* How long a clock that strayed stays on show, after the last time that it was seen to. */
#define FENCE_AUDIT_CLOCK_SHOWN_US (UINT64_C(600) * 1000 * 1000)

/* One master as it was last probed, perhaps on a connection that has ended since. */
struct fence_audited {
    uint32_t findings;               /* a set: bit f is enum fence_finding f */
    const struct fence_words *words; /* a finding of the server */
    bool full;                       /* it has no room for another lock */
    uint32_t replicas;
    bool durable;
    char
        persistence[sizeof(((struct fence_facts *)0)->persistence)]; /* "" before the first probe */
    char host[FENCE_HOST_MAX + 1];                                   /* "" likewise */

    struct fence_clock_reading clock; /* the last that was quick */
    int64_t strayed_us;               /* the error of the last wrong measurement */
    uint64_t strayed_until_us;        /* on show until then */
};

struct fence_audit {
    unsigned n;
    uint64_t deadline_us; /* a reading of a clock that took longer is a slow one */
    uint32_t same_host;   /* the set of masters that share a machine with another */
    struct fence_audited master[FENCE_MASTERS_MAX];
};

/* Of @n masters, 1 .. FENCE_MASTERS_MAX, none of them probed. The deadline is
 * FENCE_MASTER_DEADLINE_US; a caller may set another. */
void fence_audit_init(struct fence_audit *audit, unsigned n);

/* Master @i was probed, in a handshake or on a connection that stands, and @facts were found.
 * @now_us is CLOCK_BOOTTIME. */
void fence_audit_probed(struct fence_audit *audit, unsigned i, const struct fence_facts *facts,
                        uint64_t now_us);

/* The words for @finding: static, never NULL. @master, the one that has it or had it, may be NULL
 * where the finding is none of a server's. */
const struct fence_words *fence_finding_words(const struct fence_audited *master,
                                              enum fence_finding finding);

#endif
