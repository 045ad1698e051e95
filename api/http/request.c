#include "api/http/request.h"

#include "api/http/cors.h"
#include "api/http/costly.h"
#include "api/http/parking.h"
#include "api/http/request_state.h"
#include "api/http/trace.h"
#include "api/mhd/shard.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum api_method api_request_method(const struct api_request *request)
{
    return request->match.route->method;
}

const char *api_request_param(const struct api_request *request, unsigned i)
{
    assert(i < API_PARAMS_MAX && request->match.params[i] != NULL);
    return request->match.params[i];
}

const char *api_request_header(const struct api_request *request, enum api_header header)
{
    assert(header < API_HEADERS);
    return request->headers.value[header];
}

const char *api_request_subject(const struct api_request *request)
{
    return request->subject;
}

const char *api_request_body(const struct api_request *request, size_t *ret_len)
{
    *ret_len = request->body_len;
    return request->body != NULL ? request->body : "";
}

const char *api_request_caller(const struct api_request *request)
{
    return request->caller.id != NULL ? request->caller.id : "";
}

struct api_caller *api_request_known(struct api_request *request)
{
    return request->access != NULL ? &request->caller : NULL;
}

bool api_request_permits(struct api_request *request, enum api_right right, const char *name)
{
    return request->access == NULL ||
           request->access->permits(request->access->context, request, right, name);
}

bool api_request_permits_name(struct api_request *request, const char *name)
{
    return api_request_permits(request, request->match.route->right, name);
}

struct visit {
    bool (*parameter)(void *context, const char *name, const char *value);
    void *context;
};

static enum MHD_Result visit_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    const struct visit *visit = context;
    (void)kind;
    return visit->parameter(visit->context, name != NULL ? name : "", value) ? MHD_YES : MHD_NO;
}

void api_request_query(const struct api_request *request,
                       bool (*visit)(void *context, const char *name, const char *value),
                       void *context)
{
    struct visit each = {visit, context};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, visit_parameter,
                                    &each);
}

void api_request_note(struct api_request *request, uint32_t number)
{
    request->note = number;
}

uint32_t api_request_noted(const struct api_request *request)
{
    return request->note;
}

void api_request_may_wait(struct api_request *request, unsigned locks)
{
    request->may_wait = true;
    request->wait_locks = locks;
    api_costly_ended(request);
}

uint64_t api_request_client(const struct api_request *request)
{
    return (uint64_t)(uintptr_t)request;
}

struct api_request *api_request_of_client(uint64_t client)
{
    return (struct api_request *)(uintptr_t)client;
}

/* api/http/cors.h. A page reads the answer only where its browser finds this. */
static bool add_sharing(const struct api_request *request, struct MHD_Response *response)
{
    if (request->varies && MHD_add_response_header(response, "Vary", "Origin") != MHD_YES)
        return false;
    if (!request->shared)
        return true;
    return MHD_add_response_header(response, "Access-Control-Allow-Origin",
                                   request->headers.value[API_HEADER_ORIGIN]) == MHD_YES &&
           MHD_add_response_header(response, "Access-Control-Expose-Headers", API_CORS_READ) ==
               MHD_YES;
}

static const char *header_for_logs(const struct api_request *request, enum api_header header,
                                   bool (*valid)(const char *text))
{
    const char *value = request->headers.value[header];
    return value != NULL && !request->headers.repeated[header] && valid(value) ? value : "";
}

const char *api_request_id(const struct api_request *request)
{
    return header_for_logs(request, API_HEADER_REQUEST_ID, api_request_id_valid);
}

const char *api_request_trace(const struct api_request *request)
{
    return header_for_logs(request, API_HEADER_TRACEPARENT, api_trace_valid);
}

void api_request_peer(const struct api_request *request, char ret_peer[static API_PEER_MAX])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";
    ret_peer[0] = '\0';
    if (request->connection == NULL ||
        getpeername(api_shard_socket(request->connection), &address.any, &len) < 0)
        return;
    if (address.any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
        (void)snprintf(ret_peer, API_PEER_MAX, "%s:%u", host, ntohs(address.v4.sin_port));
    } else if (address.any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
        (void)snprintf(ret_peer, API_PEER_MAX, "[%s]:%u", host, ntohs(address.v6.sin6_port));
    } else {
        (void)snprintf(ret_peer, API_PEER_MAX, "unix");
    }
}

void api_request_keep(struct api_request *request, const char *text)
{
    free(request->kept);
    request->kept = strdup(text);
}

const char *api_request_kept(const struct api_request *request)
{
    return request->kept != NULL ? request->kept : "";
}

/* NULL if memory is out. */
static struct MHD_Response *make_response(const struct api_request *request,
                                          const struct api_answer *answer)
{
    const enum MHD_ResponseMemoryMode mode =
        answer->is_lasting ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY;
    /* In these modes the buffer is only read; the parameter is not const for other modes' sake. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->len, (void *)(uintptr_t)answer->body, mode);
    if (response == NULL)
        return NULL;

    const char *type = answer->content_type != NULL ? answer->content_type : "application/json";
    bool made = MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
                MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES;
    made = made && add_sharing(request, response);
    const char *id = api_request_id(request);
    if (id[0] != '\0')
        made = made && MHD_add_response_header(response, api_header_name(API_HEADER_REQUEST_ID),
                                               id) == MHD_YES;
    if (request->close_connection)
        made = made && MHD_add_response_header(response, "Connection", "close") == MHD_YES;
    for (int i = 0; i < API_FIELDS_MAX && answer->fields[i].name != NULL; i++)
        made = made && MHD_add_response_header(response, answer->fields[i].name,
                                               answer->fields[i].value) == MHD_YES;
    if (!made) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

static void tell_observer(const struct api_request *request, const struct api_answer *answer)
{
    const struct api_observer *observer = request->observer;
    if (observer->answered == NULL)
        return;
    const struct api_observed observed = {
        .route = request->match.route,
        .method = request->method,
        .status = answer->status,
        .outcome = answer->outcome,
        .took_us = api_request_now_us() - request->came_us,
        .caller = api_request_caller(request),
        .request = request,
    };
    observer->answered(observer->context, &observed);
}

void api_request_answer(struct api_request *request, const struct api_answer *answer)
{
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    api_costly_ended(request);
    tell_observer(request, answer);
    request->status = answer->status;
    request->response = make_response(request, answer);
    if (request->state == API_REQUEST_PARKED)
        api_parking_answered(request);
    else
        api_request_queue(request);
}

bool api_request_client_left(const struct api_request *request)
{
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    return api_parking_has_left(request);
}
