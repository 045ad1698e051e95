#include "api/mhd/exchange.h"

#include "api/http/limits.h"
#include "api/http/problem_answer.h"
#include "api/http/request_state.h"
#include "api/mhd/connection.h"
#include "api/mhd/head.h"
#include "api/mhd/shard.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_FIRST = 512, /* room for a body of unknown length; most are less */
};

static struct api_exchanges *exchanges_of(const struct api_shard *shard)
{
    return shard->shards->user.context;
}

/* libmicrohttpd reads only through the connection. */
static struct api_connection *connection_of(const struct api_shard *shard,
                                            struct MHD_Connection *mhd)
{
    struct api_connection *connection =
        api_connections_find(shard->shards->user.connections, api_shard_socket(mhd));
    assert(connection != NULL && !connection->fresh);
    return connection;
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    api_headers_add(context, name, value);
    return MHD_YES;
}

static struct api_request *request_new(struct api_shard *shard, struct MHD_Connection *connection,
                                       const char *method, const char *url)
{
    struct api_headers headers = {0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, note_header, &headers);

    /* All that is kept of the request, without its body, in one piece. */
    const struct api_connection *from = connection_of(shard, connection);
    const char *subject = api_connection_subject(from);
    const size_t path_size = strlen(url) + 1, subject_size = strlen(subject) + 1;
    struct api_request *request =
        calloc(1, sizeof(*request) + path_size + subject_size + api_headers_size(&headers));
    if (request == NULL)
        return NULL;
    request->parking = &exchanges_of(shard)->parking;
    request->line = &exchanges_of(shard)->costly;
    request->door = from->door;
    request->observer = &exchanges_of(shard)->observer;
    request->shard = shard;
    request->connection = connection;
    request->came_us = api_request_now_us();
    request->method = api_method_parse(method);
    request->is_options = strcmp(method, "OPTIONS") == 0;
    memcpy(request->path, url, path_size);
    memcpy(request->path + path_size, subject, subject_size);
    request->subject = request->path + path_size;
    api_headers_own(&headers, request->path + path_size + subject_size);
    request->headers = headers;
    return request;
}

/* 0: not known, so not trusted either. */
static size_t head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL ? info->header_size : 0;
}

static enum MHD_Result note_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    (void)kind;
    api_head_word(context, name);
    api_head_word(context, value);
    return MHD_YES;
}

static enum MHD_Result note_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    api_head_field(context, name, value);
    return MHD_YES;
}

static bool is_hidden(struct MHD_Connection *connection, const char *method, const char *url,
                      const char *version)
{
    struct api_head head;
    api_head_begin(&head, method, head_size(connection));
    api_head_word(&head, url);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, note_parameter, &head);
    api_head_word(&head, version);
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, note_field, &head);
    return api_head_end(&head);
}

static const char *find_fault(const struct api_request *request, const char *method,
                              const char *url, const char *version)
{
    const char *fault = api_framing_fault(&request->headers, version);
    if (fault == NULL && is_hidden(request->connection, method, url, version))
        fault = "The head has a NUL, a header line that continues on the next line, or a header "
                "without a name. Send none of these.";
    return fault;
}

/* True if the announced body is too large to be read before the client is told. Either the client
 * asked first, or reading would take too long. */
static bool body_unwanted(const struct api_request *request)
{
    uint64_t length = api_framing_length(&request->headers);
    bool asked = request->headers.value[API_HEADER_EXPECT] != NULL;
    return length > (asked ? API_BODY_MAX : API_HTTP_DRAIN_MAX);
}

/* Refuses a request after its headers came, before its body is read. Such a body would not be
 * understood, or is not worth reading. The connection ends with the answer. */
static void refuse_unread(struct api_request *request, const char *fault)
{
    if (fault == NULL && !body_unwanted(request))
        return;

    api_connection_refused(connection_of(request->shard, request->connection));
    request->close_connection = true;
    request->state = API_REQUEST_HANDLING;
    if (fault != NULL)
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", fault);
    else
        api_problem_answer(request, API_PROBLEM_TOO_LARGE);
}

static enum MHD_Result headers_came(struct api_shard *shard, struct MHD_Connection *connection,
                                    const char *method, const char *url, const char *version,
                                    void **ret_request)
{
    struct api_request *request = request_new(shard, connection, method, url);
    if (request == NULL)
        return MHD_NO;
    *ret_request = request;
    request->too_large = api_framing_length(&request->headers) > API_BODY_MAX;
    refuse_unread(request, find_fault(request, method, url, version));
    return request->state == API_REQUEST_BROKEN ? MHD_NO : MHD_YES;
}

/* Makes room for @more bytes; false if memory is out. */
static bool body_reserve(struct api_request *request, size_t more)
{
    size_t need = request->body_len + more;
    if (need <= request->body_size)
        return true;
    size_t size = request->body_size > 0 ? request->body_size * 2 : BODY_FIRST;
    size_t announced = (size_t)api_framing_length(&request->headers);
    size = size < announced ? announced : size;
    size = size < need ? need : size;
    char *body = realloc(request->body, size);
    if (body == NULL)
        return false;
    request->body = body;
    request->body_size = size;
    return true;
}

/* libmicrohttpd cannot take an answer while a body comes in. A body that is too large is dropped,
 * and refused when it ends. A body that does not end is cut off. */
static enum MHD_Result body_came(struct api_request *request, const char *data, size_t size)
{
    if (size > API_BODY_MAX - request->body_len)
        request->too_large = true;
    if (request->too_large) {
        request->dropped += size;
        if (request->dropped > API_HTTP_DRAIN_MAX)
            return MHD_NO;
        api_costly_body_came(request);
        return MHD_YES;
    }
    if (!body_reserve(request, size))
        return MHD_NO;
    memcpy(request->body + request->body_len, data, size);
    request->body_len += size;
    api_costly_body_came(request);
    return MHD_YES;
}

/* After a 100 (Continue) libmicrohttpd looks for a body in what it has read. Bytes of a next
 * request have it call although the length is 0, when it can take no answer yet. It will call
 * again. */
static bool may_be_early(struct api_request *request)
{
    const bool early = request->headers.value[API_HEADER_EXPECT] != NULL && !request->called;
    request->called = true;
    return early;
}

static enum MHD_Result request_came(struct api_request *request)
{
    if (may_be_early(request))
        return MHD_YES;
    request->state = API_REQUEST_HANDLING;
    api_dispatch(&exchanges_of(request->shard)->served, request);
    if (request->state == API_REQUEST_HANDLING)
        api_parking_add(request);
    return request->state == API_REQUEST_BROKEN ? MHD_NO : MHD_YES;
}

/* libmicrohttpd calls this once with the headers, once with each piece of the body, and once at the
 * end. Then it calls in each turn until there is an answer. The parameters are its own.
 * NOLINTNEXTLINE(readability-function-size) */
enum MHD_Result api_exchange_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **request)
{
    struct api_request *known = *request;
    if (known == NULL)
        return headers_came(context, connection, method, url, version, request);

    if (*data_size > 0) {
        size_t size = *data_size;
        *data_size = 0;
        return body_came(known, data, size);
    }
    if (known->state == API_REQUEST_READING)
        return request_came(known);
    if (known->state == API_REQUEST_PARKED || known->state == API_REQUEST_PREPARED)
        api_parking_look(known);

    /* Called again although an answer was given: it could not be made. */
    return known->state == API_REQUEST_BROKEN ? MHD_NO : MHD_YES;
}

/* A parked one is freed when its answer comes. */
static void end_of(struct api_request *request)
{
    if (request->state == API_REQUEST_PARKED)
        api_parking_disconnected(request);
    else
        api_request_free(request);
}

void api_exchange_completed(void *context, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode why)
{
    const struct api_shard *shard = context;
    (void)why;
    api_connection_answered(connection_of(shard, connection));
    if (*request != NULL)
        end_of(*request);
    *request = NULL;
}

void api_exchange_connected(void *context, struct MHD_Connection *connection,
                            void **connection_context, enum MHD_ConnectionNotificationCode code)
{
    const struct api_shard *shard = context;
    (void)connection_context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        api_connections_remove(shard->shards->user.connections, api_shard_socket(connection));
}
