/* The audit of the service: the findings of the fence in each probe. The log gets a line when a
 * finding appears or disappears, and not at each probe. */
#ifndef SERVER_LOOP_AUDIT_H
#define SERVER_LOOP_AUDIT_H

#include "fence/fleet/audit.h"

struct server_audit {
    struct fence_audit found;
    uint32_t logged[FENCE_MASTERS_MAX]; /* findings of each master that the log has */
    bool same_host_logged;
    bool tells;
};

/* Starts an audit of @n masters. @tells: the audit also writes to the log. */
void server_audit_init(struct server_audit *audit, unsigned n, bool tells);

/* Master @i, at @address, was probed and has @facts; @now_us is server_clock_us(). */
void server_audit_probed(struct server_audit *audit, unsigned i, const char *address,
                         const struct fence_facts *facts, uint64_t now_us);

#endif
