#include "api/http/requests.h"

#include "api/http/limits.h"
#include "api/http/problem_answer.h"
#include "api/http/request_state.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    BODY_FIRST = 512, /* room for a body of unknown length; most are less */
};

static void answer_left(struct api_request *request)
{
    api_problem_answer(request, API_PROBLEM_LEFT);
}

void api_requests_init(struct api_requests *requests, const struct api_served *served,
                       const struct api_observer *observer, const struct api_transport *transport)
{
    *requests = (struct api_requests){
        .served = *served,
        .observer = *observer,
        .costly = {.left = answer_left},
        .transport = transport,
    };
}

/* ---- one request ----------------------------------------------------------------------------- */

size_t api_request_size(const struct api_incoming *head)
{
    return sizeof(struct api_request) + strlen(head->path) + 1 + strlen(head->subject) + 1 +
           api_headers_size(head->headers);
}

/* A request with a copy of @head, without the parts that requests of a server share. */
static struct api_request *make_request(const struct api_incoming *head, void *memory)
{
    assert((uintptr_t)memory % _Alignof(struct api_request) == 0);
    const size_t path_size = strlen(head->path) + 1;
    const size_t subject_size = strlen(head->subject) + 1;
    struct api_request *request = memory;
    request->exchange = head->exchange;
    request->metrics_only = head->metrics_only;
    request->came_us = api_request_now_us();
    request->method = api_method_parse(head->method);
    request->is_options = strcmp(head->method, "OPTIONS") == 0;
    request->headers = *head->headers;
    memcpy(request->path, head->path, path_size);
    memcpy(request->path + path_size, head->subject, subject_size);
    request->subject = request->path + path_size;
    api_headers_own(&request->headers, request->path + path_size + subject_size);
    request->too_large = api_headers_body_length(&request->headers) > API_BODY_MAX;
    return request;
}

struct api_request *api_request_begin(struct api_requests *requests,
                                      const struct api_incoming *head, void *memory)
{
    struct api_request *request = make_request(head, memory);
    request->parking = &requests->parking;
    request->line = &requests->costly;
    request->observer = &requests->observer;
    request->served = &requests->served;
    request->transport = requests->transport;
    return request;
}

struct api_request *api_request_begin_within(struct api_request *outer,
                                             const struct api_transport *transport,
                                             struct api_costly *line,
                                             const struct api_incoming *head, void *memory)
{
    struct api_request *request = make_request(head, memory);
    request->parking = outer->parking;
    request->line = line;
    request->observer = outer->observer;
    request->served = outer->served;
    request->transport = transport;
    request->batched = true;
    return request;
}

const char *api_request_headers_fault(const struct api_request *request, const char *version)
{
    return api_headers_fault(&request->headers, version);
}

bool api_request_wants_body(const struct api_request *request)
{
    const uint64_t length = api_headers_body_length(&request->headers);
    const bool asked = request->headers.value[API_HEADER_EXPECT] != NULL;
    return length <= (asked ? API_BODY_MAX : API_HTTP_DRAIN_MAX);
}

void api_request_refuse(struct api_request *request, const char *fault)
{
    assert(request->state == API_REQUEST_READING && request->body_len == 0);
    request->close_connection = true;
    request->state = API_REQUEST_HANDLING;
    if (fault != NULL)
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", fault);
    else
        api_problem_answer(request, API_PROBLEM_TOO_LARGE);
}

/* Makes room for @more bytes; false if memory is out. */
static bool body_reserve(struct api_request *request, size_t more)
{
    const size_t need = request->body_len + more;
    assert(need <= API_BODY_MAX);
    if (need <= request->body_size)
        return true;
    size_t size = request->body_size > 0 ? request->body_size * 2 : BODY_FIRST;
    const size_t announced = (size_t)api_headers_body_length(&request->headers);
    size = size < announced ? announced : size;
    size = size < need ? need : size;
    char *body = realloc(request->body, size);
    if (body == NULL)
        return false;
    request->body = body;
    request->body_size = size;
    return true;
}

/* While a body is arriving, a transport may not be able to take an answer. A too large body is
 * dropped, and refused at its end. A body that does not end is cut off. */
bool api_request_body_waits(const struct api_request *request)
{
    return request->state == API_REQUEST_READING && request->lined;
}

bool api_request_body_came(struct api_request *request, const char *data, size_t size)
{
    assert(request->state == API_REQUEST_READING);
    assert(request->body_len <= API_BODY_MAX);
    if (size > API_BODY_MAX - request->body_len)
        request->too_large = true;
    if (request->too_large) {
        request->dropped += size;
        if (request->dropped > API_HTTP_DRAIN_MAX)
            return false;
        api_costly_body_came(request);
        return true;
    }
    if (!body_reserve(request, size))
        return false;
    memcpy(request->body + request->body_len, data, size);
    request->body_len += size;
    assert(request->body_len <= request->body_size);
    api_costly_body_came(request);
    return true;
}

bool api_request_complete(struct api_request *request)
{
    assert(request->state == API_REQUEST_READING && !request->lined);
    request->state = API_REQUEST_HANDLING;
    api_dispatch(request->served, request);
    if (request->state == API_REQUEST_HANDLING)
        api_parking_add(request);
    return request->state != API_REQUEST_PARKED;
}

void api_request_left(struct api_request *request)
{
    const struct api_parking *parking = request->parking;
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_STREAMING);
    assert(!request->told_left);
    request->told_left = true;
    if (request->state == API_REQUEST_STREAMING)
        request->stream.left(request->stream.context, request);
    else if (request->batch != NULL)
        request->batch_left(request->batch);
    else if (parking->left != NULL)
        parking->left(parking->left_context, api_request_client(request));
}

void api_request_end(struct api_request *request)
{
    assert(request->state == API_REQUEST_READING || request->state == API_REQUEST_ANSWERED);
    assert(!request->lined && !request->costly);
    if (request->caller.done != NULL)
        request->caller.done(&request->caller);
    free(request->body);
    free(request->kept);
}

void *api_request_exchange(const struct api_request *request)
{
    return request->exchange;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void api_requests_leave(struct api_requests *requests)
{
    requests->served.leaving = true;
    for (struct api_request *request = requests->parking.first; request != NULL;
         request = request->next)
        request->close_connection = true;
}

struct api_request *api_requests_waiting(const struct api_requests *requests)
{
    struct api_request *request = requests->parking.first;
    while (request != NULL && !request->may_wait)
        request = request->next;
    return request;
}

/* Returns the next parked request to answer. A batch answers itself, after its last call. */
static struct api_request *next_to_stop(const struct api_parking *parking)
{
    struct api_request *request = parking->first;
    while (request != NULL && request->batch != NULL) {
        request->close_connection = true;
        request = request->next;
    }
    return request;
}

void api_requests_stop(struct api_requests *requests)
{
    struct api_parking *parking = &requests->parking;
    struct api_request *request;
    while ((request = next_to_stop(parking)) != NULL) {
        request->close_connection = true;
        api_problem_answer(request, API_PROBLEM_STOPPING);
    }
    api_costly_release(&requests->costly);
    assert(parking->count == 0);
}
