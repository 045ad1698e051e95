/* The audit log: who was granted, released or lost which lock, and which keys were refused. A line
 * of JSON each:
 *
 *     {"time":"2026-11-20T12:04:05.123Z","event":"grant","resource":"orders/42","token":34,
 *     "key":"deploy","owner":"worker-7","client":"10.0.0.3:40312","request_id":"3f2a...",
 *     "trace":"00-...","worker":1}
 *
 * Members that mean nothing for an event, or that no caller gave, are left out. No lock id is ever
 * in it. */
#ifndef SERVER_LOOP_AUDIT_LOG_H
#define SERVER_LOOP_AUDIT_LOG_H

#include "api/http/observer.h"
#include "server/loop/lock_event.h"
#include "server/system/line_writer.h"
#include "server/system/random.h"

enum {
    SERVER_AUDIT_LINE_MAX = 4096,     /* bytes of a line */
    SERVER_AUDIT_STRANGERS_MAX = 100, /* lines of a second, of one worker, about callers without a
                                       * key: they could fill a disk. One more says how many more
                                       * there were: {"event":"refused","why":"key-required",
                                       * "more":23} */
};

/* One worker's. Zeroed, it writes nothing. */
struct server_audit_log {
    struct server_line_writer *writer; /* borrowed; NULL: nothing is written */
    struct server_random *random;      /* for ids of requests that have none */
    unsigned worker;                   /* from 1 on */
    uint64_t strangers_since_us;       /* when the present second began */
    unsigned strangers, more;          /* callers without a key, in it: written, and not written */
};

/* For server/loop/lock_event.h; the context is a struct server_audit_log. Extensions are not
 * written down, nor are acquires that wait or got nothing. */
struct server_listening server_audit_log_listening(struct server_audit_log *log);

/* A request that was answered: refused keys are written down. */
void server_audit_log_observed(struct server_audit_log *log, const struct api_observed *observed);

/* To be called now and then: tells of callers without a key once their second is over. */
void server_audit_log_turn(struct server_audit_log *log);

/* The same at the end, whatever the time. */
void server_audit_log_end(struct server_audit_log *log);

#endif
