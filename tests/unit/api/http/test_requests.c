/* The routes behind a second door: a transport of this file's own, without a socket or a library.
 */
#include "api/http/batch.h"
#include "api/http/limits.h"
#include "api/http/problem_answer.h"
#include "api/http/requests.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One request of it, and the answer. */
struct visitor {
    struct api_request *request;
    void *memory;
    const char *parameter, *value; /* part of its query; NULL: none */
    bool gone, suspended;
    unsigned answers;
    unsigned status;
    bool closes;
    char body[API_PROBLEM_BODY_MAX];
    char fields[1024]; /* "name: value\n" for each */
};

static void take_answer(struct api_request *request, const struct api_response *response)
{
    struct visitor *visitor = api_request_exchange(request);
    size_t len = 0;
    visitor->answers++;
    visitor->status = response->status;
    visitor->closes = response->closes;
    (void)snprintf(visitor->body, sizeof(visitor->body), "%.*s", (int)response->len,
                   response->body);
    for (unsigned i = 0; i < response->fields_count; i++)
        len += (size_t)snprintf(visitor->fields + len, sizeof(visitor->fields) - len, "%s: %s\n",
                                response->fields[i].name, response->fields[i].value);
}

static bool has_left(const struct api_request *request)
{
    return ((const struct visitor *)api_request_exchange(request))->gone;
}

static int no_socket(const struct api_request *request)
{
    return -1;
}

static void visit_query(const struct api_request *request,
                        bool (*visit)(void *context, const char *name, const char *value),
                        void *context)
{
    const struct visitor *visitor = api_request_exchange(request);
    if (visitor->parameter != NULL)
        (void)visit(context, visitor->parameter, visitor->value);
}

static void suspend(struct api_request *request)
{
    ((struct visitor *)api_request_exchange(request))->suspended = true;
}

static void resume(struct api_request *request)
{
    ((struct visitor *)api_request_exchange(request))->suspended = false;
}

static const struct api_transport door = {
    .answer = take_answer,
    .has_left = has_left,
    .socket = no_socket,
    .query = visit_query,
    .suspend = suspend,
    .resume = resume,
};

static struct api_request *kept;
static uint64_t told_left;

static void echo(struct api_request *request, void *context)
{
    size_t len = 0;
    const char *body = api_request_body(request, &len);
    const struct api_answer answer = {.status = 200, .body = body, .len = len};
    api_request_answer(request, &answer);
}

static void keep(struct api_request *request, void *context)
{
    kept = request;
}

/* A batch of two: one that is kept, and one that is answered at once. */
static void gather(struct api_request *request, void *context)
{
    static const struct api_batch_call calls[] = {
        {.method = "GET", .path = "/keep"},
        {.method = "POST", .path = "/echo", .body = "[12]"},
    };
    struct api_batch *batch = NULL;
    (void)context;
    assert_int_equal(api_batch_new(request, &batch), 0);
    assert_int_equal(api_batch_add(batch, &calls[0]), 0);
    assert_int_equal(api_batch_add(batch, &calls[1]), 0);
    api_batch_run(batch);
}

static const struct api_route items[] = {
    {API_POST, "/echo", echo, API_TAKES_BODY, API_RIGHT_NONE, "echo", API_CHEAP},
    {API_GET, "/keep", keep, API_TAKES_NOTHING, API_RIGHT_NONE, "keep", API_CHEAP},
    {API_GET, "/gather", gather, API_TAKES_NOTHING, API_RIGHT_NONE, "gather", API_CHEAP},
    {API_GET, "/costly", keep, API_TAKES_NOTHING, API_RIGHT_NONE, "costly", API_COSTLY},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static struct api_requests requests;
static unsigned observed;

static void note_observed(void *context, const struct api_observed *answered)
{
    observed++;
}

static void note_left(void *context, uint64_t client)
{
    told_left = client;
}

static int setup(void **state)
{
    const struct api_served served = {.routes = &routes, .routes_count = 1};
    const struct api_observer observer = {.answered = note_observed};
    api_requests_init(&requests, &served, &observer, &door);
    requests.parking.left = note_left;
    kept = NULL;
    told_left = 0;
    observed = 0;
    return 0;
}

static void enter(struct visitor *visitor, const char *method, const char *path,
                  const char *content_length)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Host", "localhost");
    if (content_length != NULL)
        api_headers_add(&headers, "Content-Length", content_length);
    const struct api_incoming head = {
        .method = method, .path = path, .headers = &headers, .subject = "", .exchange = visitor};
    visitor->memory = calloc(1, api_request_size(&head));
    assert_non_null(visitor->memory);
    visitor->request = api_request_begin(&requests, &head, visitor->memory);
    assert_null(api_request_headers_fault(visitor->request, "HTTP/1.1"));
}

static void leave(struct visitor *visitor)
{
    api_request_end(visitor->request);
    free(visitor->memory);
}

static void route_is_served_with_the_body_that_came_in_pieces(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "POST", "/echo", "4");
    assert_true(api_request_wants_body(visitor.request));
    assert_true(api_request_body_came(visitor.request, "[1", 2));
    assert_true(api_request_body_came(visitor.request, "2]", 2));
    assert_true(api_request_complete(visitor.request));
    assert_int_equal(visitor.status, 200);
    assert_string_equal(visitor.body, "[12]");
    assert_non_null(strstr(visitor.fields, "Cache-Control: no-store\n"));
    assert_int_equal(observed, 1);
    leave(&visitor);
}

static void unknown_path_and_stray_parameter_are_problems(void **state)
{
    struct visitor lost = {0}, stray = {.parameter = "color", .value = "red"};
    enter(&lost, "GET", "/nowhere", NULL);
    assert_true(api_request_complete(lost.request));
    assert_int_equal(lost.status, 404);
    leave(&lost);
    enter(&stray, "GET", "/keep", NULL);
    assert_true(api_request_complete(stray.request));
    assert_int_equal(stray.status, 400);
    assert_non_null(strstr(stray.body, "color"));
    assert_int_equal(stray.answers, 1);
    assert_null(kept);
    leave(&stray);
}

static void kept_request_waits_until_it_is_answered(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "GET", "/keep", NULL);
    assert_false(api_request_complete(visitor.request));
    assert_int_equal(visitor.answers, 0);
    assert_int_equal(requests.parking.count, 1);
    api_problem_answer(kept, API_PROBLEM_HELD);
    assert_int_equal(visitor.status, 409);
    assert_int_equal(requests.parking.count, 0);
    leave(&visitor);
}

static void backend_learns_that_the_client_of_a_kept_request_left(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "GET", "/keep", NULL);
    assert_false(api_request_complete(visitor.request));
    assert_false(api_request_client_left(kept));
    visitor.gone = true;
    api_request_left(visitor.request);
    assert_true(told_left == api_request_client(kept));
    assert_true(api_request_client_left(kept));
    api_problem_answer(kept, API_PROBLEM_LEFT);
    leave(&visitor);
}

static void request_is_refused_before_its_body_is_read(void **state)
{
    struct visitor large = {0}, smuggled = {0};
    enter(&large, "POST", "/echo", "9999999");
    assert_false(api_request_wants_body(large.request));
    api_request_refuse(large.request, NULL);
    assert_int_equal(large.status, 413);
    assert_true(large.closes);
    leave(&large);
    enter(&smuggled, "POST", "/echo", "1");
    api_request_refuse(smuggled.request, "Send one length.");
    assert_int_equal(smuggled.status, 400);
    assert_non_null(strstr(smuggled.body, "Send one length."));
    leave(&smuggled);
}

static void body_without_end_is_cut_off(void **state)
{
    static char piece[API_BODY_MAX];
    struct visitor visitor = {0};
    size_t came = 0;
    enter(&visitor, "POST", "/echo", NULL);
    requests.costly.rests_until_us = 0;
    while (came <= API_HTTP_DRAIN_MAX &&
           api_request_body_came(visitor.request, piece, API_BODY_MAX))
        came += API_BODY_MAX;
    assert_in_range(came, API_HTTP_DRAIN_MAX, API_HTTP_DRAIN_MAX + API_BODY_MAX);
    leave(&visitor);
}

static void large_body_is_suspended_behind_a_costly_request_and_goes_on(void **state)
{
    static char piece[API_COSTLY_BODY + 1];
    struct visitor costly = {0}, large = {0};
    memset(piece, ' ', sizeof(piece));
    enter(&costly, "GET", "/costly", NULL);
    assert_false(api_request_complete(costly.request));
    enter(&large, "POST", "/echo", NULL);
    assert_true(api_request_body_came(large.request, piece, sizeof(piece)));
    assert_true(large.suspended);
    api_problem_answer(kept, API_PROBLEM_HELD);
    api_costly_turn(&requests.costly);
    assert_false(large.suspended);
    leave(&costly);
    assert_true(api_request_complete(large.request));
    leave(&large);
}

static void stop_answers_all_who_wait_and_leaving_ends_connections(void **state)
{
    struct visitor first = {0}, second = {0};
    enter(&first, "GET", "/keep", NULL);
    assert_false(api_request_complete(first.request));
    api_requests_leave(&requests);
    enter(&second, "GET", "/keep", NULL);
    assert_false(api_request_complete(second.request));
    api_request_may_wait(second.request, 1);
    assert_ptr_equal(api_requests_waiting(&requests), second.request);
    api_requests_stop(&requests);
    assert_int_equal(first.status, 503);
    assert_int_equal(second.status, 503);
    assert_true(first.closes && second.closes);
    assert_null(api_requests_waiting(&requests));
    leave(&first);
    leave(&second);
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void batch_is_answered_after_its_last_call(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "GET", "/gather", NULL);
    assert_false(api_request_complete(visitor.request));
    assert_int_equal(visitor.answers, 0);
    assert_int_equal(requests.parking.count, 2); /* the batch, and the call that is kept */
    const struct api_answer answer = {.status = 201, .body = "{}", .len = 2};
    api_request_answer(kept, &answer);
    assert_int_equal(visitor.answers, 1);
    assert_string_equal(visitor.body, "{\"responses\":[{\"status\":201,\"body\":{}},"
                                      "{\"status\":200,\"body\":[12]}]}");
    assert_int_equal(observed, 3);
    leave(&visitor);
}

static void backend_learns_of_each_call_that_the_client_of_its_batch_left(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "GET", "/gather", NULL);
    assert_false(api_request_complete(visitor.request));
    visitor.gone = true;
    api_request_left(visitor.request);
    assert_true(told_left == api_request_client(kept));
    assert_true(api_request_client_left(kept));
    api_problem_answer(kept, API_PROBLEM_LEFT);
    assert_int_equal(visitor.answers, 1);
    leave(&visitor);
}

static void stop_answers_the_calls_of_a_batch_and_then_the_batch(void **state)
{
    struct visitor visitor = {0};
    enter(&visitor, "GET", "/gather", NULL);
    assert_false(api_request_complete(visitor.request));
    api_requests_stop(&requests);
    assert_int_equal(visitor.answers, 1);
    assert_true(visitor.closes);
    assert_non_null(strstr(visitor.body, "\"status\":503"));
    leave(&visitor);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(route_is_served_with_the_body_that_came_in_pieces),
    CASE(unknown_path_and_stray_parameter_are_problems),
    CASE(kept_request_waits_until_it_is_answered),
    CASE(backend_learns_that_the_client_of_a_kept_request_left),
    CASE(request_is_refused_before_its_body_is_read),
    CASE(body_without_end_is_cut_off),
    CASE(large_body_is_suspended_behind_a_costly_request_and_goes_on),
    CASE(stop_answers_all_who_wait_and_leaving_ends_connections),
    CASE(batch_is_answered_after_its_last_call),
    CASE(backend_learns_of_each_call_that_the_client_of_its_batch_left),
    CASE(stop_answers_the_calls_of_a_batch_and_then_the_batch),
};

CASE_MAIN(cases, NULL, NULL)
