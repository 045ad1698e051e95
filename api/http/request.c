#include "api/http/request.h"

#include "api/http/cors.h"
#include "api/http/costly.h"
#include "api/http/parking.h"
#include "api/http/request_state.h"
#include "api/http/trace.h"
#include "api/http/transport.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
    assert((request->body == NULL) == (request->body_len == 0));
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
    assert(request->match.route != NULL);
    return api_request_permits(request, request->match.route->right, name);
}

void api_request_query(const struct api_request *request,
                       bool (*visit)(void *context, const char *name, const char *value),
                       void *context)
{
    request->transport->query(request, visit, context);
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
    assert(locks > 0 && !request->may_wait);
    assert(request->state == API_REQUEST_HANDLING || request->state == API_REQUEST_PARKED);
    request->may_wait = true;
    request->wait_locks = locks;
    api_costly_ended(request);
}

bool api_request_is_batched(const struct api_request *request)
{
    return request->batched;
}

uint64_t api_request_client(const struct api_request *request)
{
    return (uint64_t)(uintptr_t)request;
}

struct api_request *api_request_of_client(uint64_t client)
{
    assert(client != 0);
    return (struct api_request *)(uintptr_t)client;
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
    const int socket = request->transport->socket(request);
    if (socket < 0 || getpeername(socket, &address.any, &len) < 0)
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

static void add_field(struct api_response *response, const char *name, const char *value)
{
    assert(response->fields_count < API_RESPONSE_FIELDS_MAX && name != NULL && value != NULL);
    response->fields[response->fields_count++] = (struct api_field){name, value};
}

/* For api/http/cors.h: a page can read the answer only if its browser finds this header. */
static void add_sharing(const struct api_request *request, struct api_response *response)
{
    if (request->varies)
        add_field(response, "Vary", "Origin");
    if (!request->shared)
        return;
    add_field(response, "Access-Control-Allow-Origin", request->headers.value[API_HEADER_ORIGIN]);
    add_field(response, "Access-Control-Expose-Headers", API_CORS_READ);
}

static void make_response(const struct api_request *request, const struct api_answer *answer,
                          struct api_response *ret_response)
{
    *ret_response = (struct api_response){
        .status = answer->status,
        .body = answer->body,
        .len = answer->len,
        .is_lasting = answer->is_lasting,
        .closes = request->close_connection,
    };
    add_field(ret_response, "Content-Type",
              answer->content_type != NULL ? answer->content_type : "application/json");
    add_field(ret_response, "Cache-Control",
              answer->cache_control != NULL ? answer->cache_control : "no-store");
    add_sharing(request, ret_response);
    const char *id = api_request_id(request);
    if (id[0] != '\0')
        add_field(ret_response, api_header_name(API_HEADER_REQUEST_ID), id);
    for (int i = 0; i < API_FIELDS_MAX && answer->fields[i].name != NULL; i++)
        add_field(ret_response, answer->fields[i].name, answer->fields[i].value);
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
    struct api_response response;
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    assert(answer->status >= 200 && answer->status <= 599 && answer->body != NULL);
    api_costly_ended(request);
    tell_observer(request, answer);
    make_response(request, answer, &response);
    if (request->state == API_REQUEST_PARKED)
        api_parking_remove(request);
    request->state = API_REQUEST_ANSWERED;
    request->transport->answer(request, &response);
}

bool api_request_stream(struct api_request *request, const struct api_answer *head,
                        const struct api_stream_owner *owner)
{
    struct api_response response;
    assert(request->state == API_REQUEST_HANDLING && !request->batched && head->len == 0);
    request->close_connection = true;
    if (request->method == API_HEAD) {
        api_request_answer(request, head);
        return false;
    }
    api_costly_ended(request);
    tell_observer(request, head);
    make_response(request, head, &response);
    request->state = API_REQUEST_STREAMING;
    request->stream = *owner;
    request->transport->begin_stream(request, &response);
    return true;
}

bool api_request_client_left(const struct api_request *request)
{
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    return request->transport->has_left(request);
}
