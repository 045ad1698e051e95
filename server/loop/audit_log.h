/* The audit log: who was granted, released or lost which lock, and which keys were refused. Each
 * event is a line of JSON:
 *
 *     {"time":"2026-11-20T12:04:05.123Z","event":"grant","resource":"orders/42","token":34,
 *     "key":"deploy","owner":"worker-7","client":"10.0.0.3:40312","request_id":"3f2a...",
 *     "trace":"00-...","worker":1}
 *
 * A line leaves out members that an event does not have, or that no caller gave. The log never has
 * a lock id. */
#ifndef SERVER_LOOP_AUDIT_LOG_H
#define SERVER_LOOP_AUDIT_LOG_H

#include "api/http/observer.h"
#include "server/loop/lock_event.h"
#include "server/system/line_writer.h"
#include "server/system/random.h"

enum {
    SERVER_AUDIT_LINE_MAX = 4096,     /* bytes of a line */
    SERVER_AUDIT_STRANGERS_MAX = 100, /* lines in a second, of one worker, about callers without
                                       * a key: such callers could fill a disk. One more line
                                       * counts the rest:
                                       * {"event":"refused","why":"key-required", "more":23} */
};

/* The audit log of one worker. If all is zero, it writes nothing. */
struct server_audit_log {
    struct server_line_writer *writer; /* borrowed; NULL: nothing is written */
    struct server_random *random;      /* for ids of requests that have none */
    unsigned worker;                   /* from 1 on */
    uint64_t strangers_since_us;       /* when the current second began */
    unsigned strangers, more;          /* callers without a key in this second: with a line, and
                                        * without */
};

/* Listens to server/loop/lock_event.h; the context is a struct server_audit_log. It writes no line
 * for an extension, for an acquire that waits, or for an acquire that got nothing. */
struct server_listening server_audit_log_listening(struct server_audit_log *log);

/* A request was answered: writes a line if its key was refused. */
void server_audit_log_observed(struct server_audit_log *log, const struct api_observed *observed);

/* Writes the line about callers without a key once their second is over. Call it now and then. */
void server_audit_log_turn(struct server_audit_log *log);

/* Does the same at the end, whatever the time. */
void server_audit_log_end(struct server_audit_log *log);

#endif
