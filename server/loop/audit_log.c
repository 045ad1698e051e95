#include "server/loop/audit_log.h"

#include "api/http/request.h"
#include "api/http/trace.h"
#include "api/json/writer.h"
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

static const char refused_event[] = "refused";

/* NULL: no line is written. */
static const char *const event_names[] = {
    [SERVER_HAPPENED_GRANT] = "grant",     [SERVER_HAPPENED_FOUND] = "found",
    [SERVER_HAPPENED_REGRANT] = "regrant", [SERVER_HAPPENED_UNANSWERED] = "unanswered",
    [SERVER_HAPPENED_EXTENSION] = NULL,    [SERVER_HAPPENED_RELEASE] = "release",
    [SERVER_HAPPENED_LOSS] = "loss",       [SERVER_HAPPENED_BREAK] = "break",
    [SERVER_HAPPENED_REFUSAL] = NULL,      [SERVER_HAPPENED_WAIT] = NULL,
};

static void begin_audit_line(struct api_writer *writer, char *line, const char *event)
{
    char when[SERVER_LOG_TIME_MAX];
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    server_log_time(&now, when);
    api_writer_init(writer, line, SERVER_AUDIT_LINE_MAX);
    api_write_object(writer, NULL);
    api_write_string(writer, "time", when);
    api_write_string(writer, "event", event);
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

static bool is_writing(const void *context)
{
    const struct server_audit_log *log = context;
    return log->writer != NULL;
}

/* Writes how long the name stays closed after the lease, or the release. @answer may be NULL. */
static void write_closing(struct api_writer *writer, const struct fence_answer *answer)
{
    if (answer && answer->lease.delay_ms > 0)
        api_write_integer(writer, "delay_ms", answer->lease.delay_ms);
    if (answer && answer->release.keep_ms > 0)
        api_write_integer(writer, "keep_ms", answer->release.keep_ms);
}

static void write_happened(void *context, const struct server_happened *happened)
{
    const struct server_audit_log *log = context;
    char line[SERVER_AUDIT_LINE_MAX + 1];
    struct api_writer writer;
    assert(happened->what < sizeof(event_names) / sizeof(event_names[0]));
    if (!log->writer || !event_names[happened->what])
        return;
    begin_audit_line(&writer, line, event_names[happened->what]);
    api_write_string(&writer, "resource", happened->resource);
    if (happened->token > 0 && happened->what != SERVER_HAPPENED_LOSS)
        api_write_integer(&writer, "token", happened->token);
    write_closing(&writer, happened->answer);
    write_given(&writer, "key", api_request_caller(happened->request));
    write_given(&writer, "owner", happened->owner);
    write_request(log, &writer, happened->request);
    end_audit_line(log, &writer, line);
}

struct server_listening server_audit_log_listening(struct server_audit_log *log)
{
    return (struct server_listening){
        .listens = is_writing, .happened = write_happened, .context = log};
}

static void tell_more(struct server_audit_log *log)
{
    char line[SERVER_AUDIT_LINE_MAX + 1];
    struct api_writer writer;
    begin_audit_line(&writer, line, refused_event);
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

/* Counts a caller without a key. Reports whether to write a line about it. */
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
    begin_audit_line(&writer, line, refused_event);
    api_write_string(&writer, "why", api_outcome_name(observed->outcome));
    if (observed->route)
        api_write_string(&writer, "route", observed->route->pattern);
    write_given(&writer, "key", api_request_caller(observed->request));
    write_request(log, &writer, observed->request);
    end_audit_line(log, &writer, line);
}
