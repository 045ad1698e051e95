#include "server/loop/audit_log.h"

#include "api/http/request.h"
#include "api/http/trace.h"
#include "api/json/writer.h"
#include "fence/protocol/error.h"
#include "fence/protocol/owner.h"
#include "server/system/clock.h"
#include "server/system/log_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
    STATUS_NO_KEY = 401,
    STATUS_NO_RIGHT = 403,
    STRANGERS_US = 1000 * 1000,
    FRESH_ID_MAX = 17, /* bytes of an id that is made here, terminated */
};

static const char *const event_names[] = {
    [SERVER_AUDIT_GRANT] = "grant",     [SERVER_AUDIT_FOUND] = "found",
    [SERVER_AUDIT_REGRANT] = "regrant", [SERVER_AUDIT_RELEASE] = "release",
    [SERVER_AUDIT_LOSS] = "loss",       [SERVER_AUDIT_BREAK] = "break",
    [SERVER_AUDIT_REFUSED] = "refused", [SERVER_AUDIT_UNANSWERED] = "unanswered",
};

static void begin_audit_line(struct api_writer *writer, char *line, enum server_audit_event event)
{
    char when[SERVER_LOG_TIME_MAX];
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    server_log_time(&now, when);
    api_writer_init(writer, line, SERVER_AUDIT_LINE_MAX);
    api_write_object(writer, NULL);
    api_write_string(writer, "time", when);
    api_write_string(writer, "event", event_names[event]);
}

static void write_given(struct api_writer *writer, const char *name, const char *text)
{
    if (text[0] != '\0')
        api_write_string(writer, name, text);
}

static void write_request(const struct server_audit_log *log, struct api_writer *writer,
                          const struct api_request *request)
{
    char peer[API_PEER_MAX];
    char fresh[FRESH_ID_MAX];
    char trace[API_TRACE_MAX + 1];
    const char *id = api_request_id(request);
    api_request_peer(request, peer);
    write_given(writer, "client", peer);
    if (id[0] == '\0') {
        (void)snprintf(fresh, sizeof(fresh), "%016" PRIx64, server_random_u64(log->random));
        id = fresh;
    }
    api_write_string(writer, "request_id", id);
    (void)snprintf(trace, sizeof(trace), "%.*s", API_TRACE_MAX, api_request_trace(request));
    write_given(writer, "trace", trace);
}

static void end_audit_line(const struct server_audit_log *log, struct api_writer *writer,
                           char *line)
{
    assert(log->writer && log->worker >= 1);
    api_write_integer(writer, "worker", log->worker);
    api_write_end(writer);
    line[writer->len] = '\n';
    server_line_writer_add(log->writer, line, writer->len + 1);
}

void server_audit_log_event(const struct server_audit_log *log, enum server_audit_event event,
                            const struct api_request *request, const char *resource, int64_t token,
                            const char *owner)
{
    char line[SERVER_AUDIT_LINE_MAX + 1];
    struct api_writer writer;
    assert(event < sizeof(event_names) / sizeof(event_names[0]));
    if (!log->writer)
        return;
    begin_audit_line(&writer, line, event);
    api_write_string(&writer, "resource", resource);
    if (token > 0)
        api_write_integer(&writer, "token", token);
    write_given(&writer, "key", api_request_caller(request));
    write_given(&writer, "owner", owner);
    write_request(log, &writer, request);
    end_audit_line(log, &writer, line);
}

void server_audit_log_call(const struct server_audit_log *log, const struct fence_call *call)
{
    char label[FENCE_OWNER_MAX + 1];
    if (!log->writer || call->origin != FENCE_ORIGIN_CLIENT || call->kind != FENCE_CALL_ACQUIRE)
        return;
    (void)fence_owner_split(call->owner, label);
    if (label[0] != '\0')
        api_request_keep(api_request_of_client(call->client), label);
}

static void log_grant(const struct server_audit_log *log, const struct fence_answer *answer,
                      const struct api_request *request, bool left)
{
    const enum server_audit_event event = left            ? SERVER_AUDIT_UNANSWERED
                                          : answer->found ? SERVER_AUDIT_FOUND
                                                          : SERVER_AUDIT_GRANT;
    const char *owner = api_request_kept(request);
    if (left && answer->found)
        return; /* no token is new */
    const bool several = answer->group && answer->mode == FENCE_MODE_PLAIN;
    if (!several)
        server_audit_log_event(log, event, request, answer->resource, answer->token, owner);
    for (unsigned k = 0; several && k < answer->group->count; k++)
        server_audit_log_event(log, event, request, answer->group->locks[k].resource,
                               answer->group->locks[k].token, owner);
}

static void log_extension(const struct server_audit_log *log, const struct fence_answer *answer,
                          const struct api_request *request, bool left)
{
    char label[FENCE_OWNER_MAX + 1] = "";
    if (!answer->error && answer->anew) {
        (void)fence_owner_split(answer->owner, label);
        server_audit_log_event(log, left ? SERVER_AUDIT_UNANSWERED : SERVER_AUDIT_REGRANT, request,
                               answer->resource, answer->token, label);
    }
    if (!left && (answer->error == FENCE_ELOCKLOST || answer->error == FENCE_EBROKEN))
        server_audit_log_event(log, SERVER_AUDIT_LOSS, request, answer->resource, 0, "");
}

void server_audit_log_answer(const struct server_audit_log *log, const struct fence_answer *answer,
                             bool left)
{
    const struct api_request *request = api_request_of_client(answer->client);
    if (!log->writer)
        return;
    if (answer->kind == FENCE_CALL_ACQUIRE && !answer->error)
        log_grant(log, answer, request, left);
    else if (answer->kind == FENCE_CALL_EXTEND)
        log_extension(log, answer, request, left);
    else if (answer->kind == FENCE_CALL_RELEASE && !answer->error && answer->released)
        server_audit_log_event(log, SERVER_AUDIT_RELEASE, request, answer->resource, 0, "");
    else if (answer->kind == FENCE_CALL_BREAK && answer->sent != 0)
        server_audit_log_event(log, SERVER_AUDIT_BREAK, request, answer->resource,
                               answer->error == FENCE_EMISMATCH ? 0 : answer->token, "");
}

static void tell_more(struct server_audit_log *log)
{
    char line[SERVER_AUDIT_LINE_MAX + 1];
    struct api_writer writer;
    begin_audit_line(&writer, line, SERVER_AUDIT_REFUSED);
    api_write_string(&writer, "why", api_problem_name(API_PROBLEM_KEY_REQUIRED));
    api_write_integer(&writer, "more", log->more);
    end_audit_line(log, &writer, line);
}

void server_audit_log_turn(struct server_audit_log *log)
{
    const uint64_t now_us = log->strangers > 0 ? server_clock_us() : 0;
    if (log->strangers == 0 || now_us - log->strangers_since_us < STRANGERS_US)
        return;
    if (log->more > 0)
        tell_more(log);
    log->strangers = 0;
    log->more = 0;
}

void server_audit_log_end(struct server_audit_log *log)
{
    if (log->more > 0)
        tell_more(log);
    log->more = 0;
}

/* Whether a line about one more is to be written. */
static bool count_stranger(struct server_audit_log *log)
{
    server_audit_log_turn(log);
    if (log->strangers == 0)
        log->strangers_since_us = server_clock_us();
    if (log->strangers < SERVER_AUDIT_STRANGERS_MAX) {
        log->strangers++;
        return true;
    }
    log->more++;
    return false;
}

void server_audit_log_observed(struct server_audit_log *log, const struct api_observed *observed)
{
    char line[SERVER_AUDIT_LINE_MAX + 1];
    struct api_writer writer;
    if (!log->writer || !observed->request ||
        (observed->status != STATUS_NO_KEY && observed->status != STATUS_NO_RIGHT) ||
        (observed->status == STATUS_NO_KEY && !count_stranger(log)))
        return;
    begin_audit_line(&writer, line, SERVER_AUDIT_REFUSED);
    api_write_string(&writer, "why", api_outcome_name(observed->outcome));
    if (observed->route)
        api_write_string(&writer, "route", observed->route->pattern);
    write_given(&writer, "key", api_request_caller(observed->request));
    write_request(log, &writer, observed->request);
    end_audit_line(log, &writer, line);
}
