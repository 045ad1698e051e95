#include "api/http/problem_answer.h"
#include "api/metrics/calls.h"
#include "api/metrics/process.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: localhost\r\n"

enum {
    TEXT_MAX = 64 * 1024,
    WAIT_MS = 200, /* for a head that does not end */
};

static struct api_request *kept;

static void grant(struct api_request *request, void *context)
{
    const struct api_answer answer = {
        .status = 201, .outcome = API_OUTCOME_GRANTED, .body = "{}", .len = 2};
    api_request_answer(request, &answer);
}

static void refuse(struct api_request *request, void *context)
{
    api_problem_answer(request, API_PROBLEM_TTL);
}

static void park(struct api_request *request, void *context)
{
    kept = request;
}

static const struct api_route items[] = {
    {API_POST, "/grant", grant, API_TAKES_NOTHING, API_RIGHT_NONE, "grant", API_CHEAP},
    {API_GET, "/refuse", refuse, API_TAKES_NOTHING, API_RIGHT_NONE, "refuse", API_CHEAP},
    {API_GET, "/park", park, API_TAKES_NOTHING, API_RIGHT_NONE, "park", API_CHEAP},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static struct api_call_counters counters;
static struct api_calls calls = {&routes, 1, &counters};
static struct api_http *http;
static int fd;
static char text[TEXT_MAX];

static int setup(void **state)
{
    memset(&counters, 0, sizeof(counters));
    const struct api_observer observer = api_calls_observer(&calls);
    http = loop_serve_observed(&routes, &observer, WAIT_MS);
    fd = loop_connect(http);
    return 0;
}

static int teardown(void **state)
{
    api_http_free(http);
    (void)close(fd);
    return 0;
}

static int ask(const char *request)
{
    char response[LOOP_RESPONSE_MAX];
    loop_send(http, fd, request);
    return loop_receive(http, fd, response);
}

static bool shows(const char *line)
{
    struct api_metrics_text writer;
    api_metrics_begin(&writer, text, sizeof(text));
    api_calls_write(&routes, 1, &counters, &writer);
    assert_false(writer.full);
    const char *found = strstr(text, line);
    return found != NULL && (found == text || found[-1] == '\n');
}

/* All answers that were counted. */
static uint64_t answers(void)
{
    uint64_t sum = 0;
    for (enum api_outcome outcome = 0; outcome < API_OUTCOMES; outcome++) {
        sum += api_counter_get(&counters.refused[outcome]);
        for (unsigned call = 0; call < API_CALLS_MAX; call++)
            sum += api_counter_get(&counters.answered[call][outcome]);
    }
    return sum;
}

static void answers_count_by_call_and_outcome(void **state)
{
    assert_int_equal(ask(HEAD("POST", "/grant") "\r\n"), 201);
    assert_int_equal(ask(HEAD("POST", "/grant") "\r\n"), 201);
    assert_int_equal(ask(HEAD("GET", "/refuse") "\r\n"), 400);
    assert_true(shows("pawl_calls_total{call=\"grant\",result=\"granted\"} 2\n"));
    assert_true(shows("pawl_calls_total{call=\"refuse\",result=\"invalid\"} 1\n"));
    assert_true(shows("pawl_call_duration_seconds_count{call=\"grant\"} 2\n"));
    assert_int_equal(answers(), 3);
}

/* A problem of the route's own, and one of those before its handler. */
static void problems_of_one_name_are_one_result(void **state)
{
    assert_int_equal(ask(HEAD("GET", "/refuse") "\r\n"), 400);
    assert_int_equal(ask(HEAD("GET", "/refuse?a=1") "\r\n"), 400);
    assert_true(shows("pawl_calls_total{call=\"refuse\",result=\"invalid\"} 2\n"));
}

static void what_reaches_no_route_counts_by_status(void **state)
{
    assert_int_equal(ask(HEAD("GET", "/nowhere") "\r\n"), 404);
    assert_int_equal(ask(HEAD("DELETE", "/grant") "\r\n"), 405);
    assert_int_equal(ask("GET /grant HTTP/1.1\r\nHost: example.com\r\n\r\n"), 403);
    assert_true(shows("pawl_requests_refused_total{status=\"404\",result=\"not-found\"} 1\n"));
    assert_true(
        shows("pawl_requests_refused_total{status=\"405\",result=\"method-not-allowed\"} 1\n"));
    assert_true(shows("pawl_requests_refused_total{status=\"403\",result=\"cross-site\"} 1\n"));
    assert_int_equal(answers(), 3);
}

static void bytes_that_are_no_request_count(void **state)
{
    assert_int_equal(ask("GET /grant HTTP/1.1\r\n\r\n"), 400);
    assert_true(shows("pawl_requests_refused_total{status=\"400\",result=\"invalid\"} 1\n"));
    assert_int_equal(answers(), 1);
}

static void head_that_does_not_end_counts_as_408(void **state)
{
    assert_int_equal(ask("GET /grant"), 408);
    assert_true(
        shows("pawl_requests_refused_total{status=\"408\",result=\"request-timeout\"} 1\n"));
    assert_int_equal(answers(), 1);
}

static void parked_request_counts_when_it_is_answered(void **state)
{
    char response[LOOP_RESPONSE_MAX];
    loop_send(http, fd, HEAD("GET", "/park") "\r\n");
    assert_int_equal(answers(), 0);
    api_problem_answer(kept, API_PROBLEM_HELD);
    assert_int_equal(answers(), 1);
    assert_int_equal(loop_receive(http, fd, response), 409);
    assert_true(shows("pawl_calls_total{call=\"park\",result=\"held\"} 1\n"));
    assert_int_equal(answers(), 1);
}

static void refused_keys_are_counted(void **state)
{
    assert_true(shows("pawl_keys_refused_total{result=\"key-required\"} 0\n"));
    const struct api_observer observer = api_calls_observer(&calls);
    struct api_observed observed = {
        .status = 401, .outcome = api_outcome_of_problem(API_PROBLEM_KEY_REQUIRED), .caller = ""};
    observer.answered(observer.context, &observed);
    observed.route = &items[0];
    observer.answered(observer.context, &observed);
    observed.outcome = api_outcome_of_problem(API_PROBLEM_NOT_ALLOWED);
    observer.answered(observer.context, &observed);
    assert_true(shows("pawl_keys_refused_total{result=\"key-required\"} 2\n"));
    assert_true(shows("pawl_keys_refused_total{result=\"not-allowed\"} 1\n"));
}

/* The output of `ls /proc/self/fd` beside its own descriptor. */
static void open_descriptors_are_those_of_the_process(void **state)
{
    static char before[TEXT_MAX], after[TEXT_MAX];
    struct api_metrics_text writer;
    api_metrics_begin(&writer, before, sizeof(before));
    api_process_write("1.2", &writer);
    const int more = dup(0);
    api_metrics_begin(&writer, after, sizeof(after));
    api_process_write("1.2", &writer);
    (void)close(more);
    const char *name = "\nprocess_open_fds ";
    assert_int_equal(strtol(strstr(after, name) + strlen(name), NULL, 10),
                     strtol(strstr(before, name) + strlen(name), NULL, 10) + 1);
    assert_non_null(strstr(after, "pawl_build_info{version=\"1.2\"} 1\n"));
}

static void start_of_the_process_lies_just_behind(void **state)
{
    struct api_metrics_text writer;
    api_metrics_begin(&writer, text, sizeof(text));
    api_process_write("", &writer);
    const char *name = "\nprocess_start_time_seconds ";
    const double started = strtod(strstr(text, name) + strlen(name), NULL);
    assert_true(started > (double)time(NULL) - 600 && started < (double)time(NULL) + 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(answers_count_by_call_and_outcome),
    CASE(problems_of_one_name_are_one_result),
    CASE(what_reaches_no_route_counts_by_status),
    CASE(bytes_that_are_no_request_count),
    CASE(head_that_does_not_end_counts_as_408),
    CASE(parked_request_counts_when_it_is_answered),
    CASE(refused_keys_are_counted),
    CASE(open_descriptors_are_those_of_the_process),
    CASE(start_of_the_process_lies_just_behind),
};

CASE_MAIN(cases, NULL, NULL)
