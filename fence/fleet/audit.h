/* The audit: what is wrong with masters that vote all the same. Nothing here keeps a master from
 * voting; it is shown and logged, so that an operator knows of it before it costs something.
 *
 * Not thread-safe; no I/O. */
#ifndef FENCE_FLEET_AUDIT_H
#define FENCE_FLEET_AUDIT_H

#include "fence/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

enum fence_finding {
    FENCE_FINDING_PERSISTENCE_UNKNOWN, /* CONFIG is refused */
    FENCE_FINDING_NO_AOF,              /* appendonly no */
    FENCE_FINDING_FSYNC,               /* appendfsync everysec or no */
    FENCE_FINDING_REWRITE,             /* no-appendfsync-on-rewrite yes */
    FENCE_FINDING_EVICTION,            /* it may drop keys to make room */
    FENCE_FINDING_MEMORY,              /* it has no room for another lock */
    FENCE_FINDING_REPLICAS,            /* something is attached that could be promoted */
    FENCE_FINDING_CLOCK,               /* its TIME moved against our boot clock */
    FENCE_FINDING_SAME_HOST,           /* of the fleet: some masters are one machine */
    FENCE_FINDINGS,
};

/* A machine-readable word, and a sentence that says what to do. Static, never NULL. */
const char *fence_finding_name(enum fence_finding finding);
const char *fence_finding_text(enum fence_finding finding);

/* How long a clock that strayed stays on show, after the last time that it was seen to. */
#define FENCE_AUDIT_CLOCK_SHOWN_US (UINT64_C(600) * 1000 * 1000)

/* One master as it was last looked at, perhaps on a connection that has ended since. */
struct fence_audited {
    uint32_t findings; /* a set: bit f is enum fence_finding f */
    uint32_t replicas;
    bool durable;
    char persistence[sizeof(((struct fence_facts *)0)->persistence)]; /* "" before the first look */
    char host[FENCE_HOST_MAX + 1];                                    /* "" likewise */

    struct fence_clock_reading clock; /* the last that was quick */
    int64_t strayed_us;               /* what the last wrong one was off by */
    uint64_t strayed_until_us;        /* on show until then */
};

struct fence_audit {
    unsigned n;
    uint32_t same_host; /* the set of masters that share a machine with another */
    struct fence_audited master[FENCE_MASTERS_MAX];
};

/* Of @n masters, 1 .. FENCE_MASTERS_MAX, none of them looked at. */
void fence_audit_init(struct fence_audit *audit, unsigned n);

/* Master @i was looked at, in a handshake or on a connection that stands, and @facts were found.
 * @now_us is CLOCK_BOOTTIME. */
void fence_audit_look(struct fence_audit *audit, unsigned i, const struct fence_facts *facts,
                      uint64_t now_us);

#endif
