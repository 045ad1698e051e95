/* Clients that go away while they wait. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

enum {
    LEAVERS = 1000,
    GONE_MS = 1000,                /* a queue of them is empty by then */
    SEND_BUFFER = 4 * 1024 * 1024, /* as much as the kernel lets us have */
};

static struct pawl_service service;

static int start(void **state)
{
    line_may_be_long();
    fleet_start(3, REDIS_VOLATILE);
    pawl_init_new(fleet);
    service = fleet_serve_all(); /* so that a try at a lock that is held counts nothing anywhere */
    return 0;
}

static void wait_for_length(const char *resource, int64_t length, unsigned most_ms)
{
    assert_true(line_becomes(service.port, resource, length, most_ms));
}

static struct http *begin_to_wait(const char *path)
{
    return call_begin(service.port, "POST", path, "{\"wait_ms\": 60000}");
}

static void waiter_that_leaves_is_out_of_the_line(void **state)
{
    struct grant holder = call_grant(service.port, "one", NULL);
    struct http *first = begin_to_wait("/v1/locks/one");
    wait_for_length("one", 1, 2000);
    struct http *second = begin_to_wait("/v1/locks/one");
    wait_for_length("one", 2, 2000);
    http_close(first);
    wait_for_length("one", 1, GONE_MS);
    call_give_back(service.port, "one", &holder);
    struct grant next = grant_of(call_end(second));
    assert_true(next.token > holder.token);
}

/* Sends requests until the kernels of both sides take no more. */
static void send_far_ahead(const struct http *http)
{
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int fd = http_fd(http);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BUFFER}, sizeof(int));
    while (send(fd, request, strlen(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
}

/* Its end stands behind bytes that do not fit into what pawld has not read. */
static void waiter_that_leaves_behind_what_it_sent_ahead_is_out_of_the_line(void **state)
{
    struct grant holder = call_grant(service.port, "ahead", NULL);
    struct http *waiter = begin_to_wait("/v1/locks/ahead");
    wait_for_length("ahead", 1, 2000);
    send_far_ahead(waiter);
    http_close(waiter);
    wait_for_length("ahead", 0, GONE_MS);
    call_give_back(service.port, "ahead", &holder);
    struct grant next = call_grant(service.port, "ahead", NULL);
    assert_int_equal(next.token, holder.token + 1);
    call_give_back(service.port, "ahead", &next);
}

static void thousand_that_leave_leave_nothing_behind(void **state)
{
    static struct http *leavers[LEAVERS];
    struct grant holder = call_grant(service.port, "many", NULL);
    for (int i = 0; i < LEAVERS; i++)
        leavers[i] = begin_to_wait("/v1/locks/many");
    wait_for_length("many", LEAVERS, 20000);
    struct http *last = begin_to_wait("/v1/locks/many");
    wait_for_length("many", LEAVERS + 1, 2000);
    const uint64_t left_ms = wait_now_ms();
    for (int i = 0; i < LEAVERS; i++)
        http_close(leavers[i]);
    wait_for_length("many", 1, 10 * GONE_MS);
    print_message("%d were out of the line after %d ms\n", LEAVERS, (int)(wait_now_ms() - left_ms));
    call_give_back(service.port, "many", &holder);
    struct grant next = grant_of(call_end(last));
    assert_int_equal(next.token, holder.token + 1); /* so none of them was granted anything */
}

/* It left while the service was asleep, and the lock became free meanwhile: whichever of the two is
 * noticed first, no caller holds the lock afterwards. */
static void lock_is_not_kept_for_one_that_has_left(void **state)
{
    call_grant(service.port, "asleep", NULL);
    struct http *waiter = begin_to_wait("/v1/locks/asleep");
    wait_for_length("asleep", 1, 2000);
    process_signal(service.process, SIGSTOP);
    for (unsigned i = 0; i < fleet->n; i++)
        fleet_command(i, "DEL pawl:lock:asleep");
    http_close(waiter);
    process_signal(service.process, SIGCONT);
    const struct http_response *response =
        call_acquire(service.port, "asleep", "{\"wait_ms\": 2000}");
    EXPECT_JSON(response, 201, 8);
}

static void one_more_than_may_wait_is_refused_at_once(void **state)
{
    const char *const options[] = {"--max-waiters", "2", NULL};
    struct pawl_service small = pawld_start(fleet, options);
    pawl_wait_ready(small);
    call_grant(small.port, "room", NULL);
    struct http *waiters[2];
    for (int i = 0; i < 2; i++)
        waiters[i] = call_begin(small.port, "POST", "/v1/locks/room", "{\"wait_ms\": 60000}");
    assert_true(line_becomes(small.port, "room", 2, 2000));
    const struct http_response *response =
        call_acquire(small.port, "other/room", "{\"wait_ms\": 60000}");
    EXPECT_PROBLEM(response, 429, "too-many-waiters", 1);
    http_close(waiters[0]);
    assert_true(line_becomes(small.port, "room", 1, GONE_MS));
    EXPECT_JSON(call_acquire(small.port, "other/room", "{\"wait_ms\": 60000}"), 201, 8);
    http_close(waiters[1]);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(waiter_that_leaves_is_out_of_the_line),
    cmocka_unit_test(waiter_that_leaves_behind_what_it_sent_ahead_is_out_of_the_line),
    cmocka_unit_test(thousand_that_leave_leave_nothing_behind),
    cmocka_unit_test(lock_is_not_kept_for_one_that_has_left),
    cmocka_unit_test(one_more_than_may_wait_is_refused_at_once),
};

CASE_MAIN(cases, start, fleet_teardown)
