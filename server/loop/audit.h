/* The audit as the service keeps it: what the fence finds in each probe. A line goes into the log
 * when a finding appears or goes away, and not at each probe. */
#ifndef SERVER_LOOP_AUDIT_H
#define SERVER_LOOP_AUDIT_H

#include "fence/fleet/audit.h"

struct server_audit {
    struct fence_audit found;
    uint32_t logged[FENCE_MASTERS_MAX]; /* findings of each master that were logged last */
    bool same_host_logged;
    bool tells;
};

/* Of @n masters. @tells: also in the log. */
void server_audit_init(struct server_audit *audit, unsigned n, bool tells);

/* Master @i, at @address, was probed, and @facts were found; @now_us is server_clock_us(). */
void server_audit_probed(struct server_audit *audit, unsigned i, const char *address,
                         const struct fence_facts *facts, uint64_t now_us);

#endif
