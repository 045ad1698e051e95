#include "api/http/request.h"

#include "api/http/request_state.h"
#include "api/http/watch.h"

#include <assert.h>
#include <stdlib.h>

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

const char *api_request_body(const struct api_request *request, size_t *ret_len)
{
    *ret_len = request->body_len;
    return request->body != NULL ? request->body : "";
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

uint64_t api_request_client(const struct api_request *request)
{
    return (uint64_t)(uintptr_t)request;
}

struct api_request *api_request_of_client(uint64_t client)
{
    return (struct api_request *)(uintptr_t)client;
}

void api_request_park(struct api_request *request)
{
    struct api_parking *parking = request->parking;
    request->state = API_REQUEST_PARKED;
    request->next = parking->first;
    request->link = &parking->first;
    if (request->next != NULL)
        request->next->link = &request->next;
    parking->first = request;
    parking->count++;
    request->room->rooms->hovering++;
}

static void unpark(struct api_request *request)
{
    *request->link = request->next;
    if (request->next != NULL)
        request->next->link = request->link;
    request->parking->count--;
}

static void request_free(struct api_request *request)
{
    if (request->response != NULL)
        MHD_destroy_response(request->response);
    free(request->body);
    free(request);
}

/* NULL if memory is out. */
static struct MHD_Response *make_response(const struct api_answer *answer, bool close_connection)
{
    /* With MUST_COPY the buffer is only read; the parameter is not const for other modes' sake. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->len, (void *)(uintptr_t)answer->body, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return NULL;

    const char *type = answer->content_type != NULL ? answer->content_type : "application/json";
    bool made = MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
                MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES;
    if (close_connection)
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

static void queue_response(struct api_request *request)
{
    request->state = API_REQUEST_BROKEN;
    if (request->response != NULL &&
        MHD_queue_response(request->connection, request->status, request->response) == MHD_YES)
        request->state = API_REQUEST_ANSWERED;
}

/* The answer to a parked request came: what can be done with it outside a look. */
static void answer_parked(struct api_request *request)
{
    unpark(request);
    request->room->due = API_ROOM_ANSWER_ROUNDS;
    if (request->connection == NULL) {
        request_free(request);
    } else if (request->suspended) {
        api_watch_remove(request->parking->watch_fd, api_room_socket(request->connection));
        queue_response(request);
        MHD_resume_connection(request->connection);
    } else {
        request->room->rooms->hovering--;
        request->state = API_REQUEST_PREPARED;
    }
}

void api_request_answer(struct api_request *request, const struct api_answer *answer)
{
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    request->status = answer->status;
    request->response = make_response(answer, request->close_connection);
    if (request->state == API_REQUEST_PARKED)
        answer_parked(request);
    else
        queue_response(request);
}

void api_request_look(struct api_request *request)
{
    if (request->state == API_REQUEST_PREPARED) {
        queue_response(request);
        return;
    }
    assert(request->state == API_REQUEST_PARKED && !request->suspended);
    if (++request->looks < API_HOVER_LOOKS)
        return;
    request->suspended = true;
    request->room->rooms->hovering--;
    MHD_suspend_connection(request->connection);
    api_watch_add(request->parking->watch_fd, api_room_socket(request->connection), request);
}

void api_request_left(struct api_request *request)
{
    const struct api_parking *parking = request->parking;
    if (parking->left != NULL)
        parking->left(parking->left_context, api_request_client(request));
}

bool api_request_client_left(const struct api_request *request)
{
    assert(request->state == API_REQUEST_PARKED || request->state == API_REQUEST_HANDLING);
    return request->connection == NULL ||
           (request->suspended && api_watch_has_left(api_room_socket(request->connection)));
}

void api_request_close(struct api_request *request)
{
    if (request->state != API_REQUEST_PARKED) {
        request_free(request);
        return;
    }
    assert(!request->suspended); /* libmicrohttpd does not see a suspended client leave */
    request->room->rooms->hovering--;
    request->connection = NULL;
    api_request_left(request); /* which may answer it, and so free it */
}
