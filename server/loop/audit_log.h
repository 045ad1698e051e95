/* The audit log: who was granted, released or lost which lock, and which keys were refused. A line
 * of JSON each:
 *
 *     {"time":"2026-11-20T12:04:05.123Z","event":"grant","resource":"orders/42","token":34,
 *     "key":"deploy","owner":"worker-7","client":"10.0.0.3:40312","request_id":"3f2a...",
 *     "trace":"00-...","worker":1}
 *
 * Members that mean nothing for an event, or that nobody gave, are left out. No lock id is ever in
 * it. */
#ifndef SERVER_LOOP_AUDIT_LOG_H
#define SERVER_LOOP_AUDIT_LOG_H

#include "api/http/observer.h"
#include "fence/protocol/message.h"
#include "server/system/line_writer.h"
#include "server/system/random.h"

enum server_audit_event {
    SERVER_AUDIT_GRANT,      /* a new token */
    SERVER_AUDIT_FOUND,      /* a retry was given the lock that it has */
    SERVER_AUDIT_REGRANT,    /* an extension became a new grant */
    SERVER_AUDIT_RELEASE,    /* its holder gave it up */
    SERVER_AUDIT_LOSS,       /* its holder was told that it is lost */
    SERVER_AUDIT_UNANSWERED, /* a new token, whose client had gone before the answer. The lock of an
                              * acquire is released */
    SERVER_AUDIT_BREAK, /* an operator had masters end it, whatever was answered; @token is that of
                         * the grant */
    SERVER_AUDIT_REFUSED, /* a key, or the right that it lacks */
};

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

/* Keeps with the request of @call what its lines will need. Before the call is made. */
void server_audit_log_call(const struct server_audit_log *log, const struct fence_call *call);

/* What @answer says of a lock. Before its request is answered. @left: its client has gone, so
 * nobody is told what was granted or lost. */
void server_audit_log_answer(const struct server_audit_log *log, const struct fence_answer *answer,
                             bool left);

/* One event of one lock, for what is no answer to a call of a holder. @token 0: none. */
void server_audit_log_event(const struct server_audit_log *log, enum server_audit_event event,
                            const struct api_request *request, const char *resource, int64_t token,
                            const char *owner);

/* A request that was answered: refused keys are written down. */
void server_audit_log_observed(struct server_audit_log *log, const struct api_observed *observed);

/* To be called now and then: tells of callers without a key once their second is over. */
void server_audit_log_turn(struct server_audit_log *log);

/* The same at the end, whatever the time. */
void server_audit_log_end(struct server_audit_log *log);

#endif
