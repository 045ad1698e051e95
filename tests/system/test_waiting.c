/* wait_ms: a request that waits until the lock becomes free, or its time is up. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"

#include <poll.h>

enum {
    CROWD = 2000,
    SERVERS = 4,
    AT_ONCE = 8, /* that wait from the start */
    SERVED = 20,
    KNOWN_MS = FENCE_NEXT_MS + 25, /* after a grant: by then all servers know its number */
};

static uint16_t port;

static int start(void **state)
{
    line_may_be_long();
    fleet_start(3, REDIS_VOLATILE);
    port = pawld_start_new(fleet).port;
    return 0;
}

/* Begins to acquire, and returns when the call stands in a line of @length. */
static struct http *wait_in_line(const char *path, const char *resource, const char *body,
                                 int64_t length)
{
    struct http *http = call_begin(port, "POST", path, body);
    assert_true(line_becomes(port, resource, length, 2000));
    return http;
}

static void waiter_is_granted_when_the_holder_releases(void **state)
{
    struct grant holder = call_grant(port, "release", NULL);
    struct http *waiter = wait_in_line("/v1/locks/release", "release", "{\"wait_ms\": 10000}", 1);
    wait_ms(100);
    call_give_back(port, "release", &holder);
    const uint64_t released_ms = wait_now_ms();
    const struct http_response *response = call_end(waiter);
    assert_in_range(wait_now_ms() - released_ms, 0, 1000);
    EXPECT_JSON(response, 201, 8);
    assert_true(grant_of(response).token > holder.token);
    assert_int_equal(line_length(port, "release"), 0);

    /* The wait is in served_ms, and costs nothing of the validity. */
    assert_in_range(http_integer(call_inspect(port, "release"), "remaining_ms"), 28000, 30000);
}

static void wait_is_served_time_and_not_validity(void **state)
{
    call_grant(port, "served", "{\"ttl_ms\": 500}");
    const struct http_response *response =
        call_acquire(port, "served", "{\"ttl_ms\": 1000, \"wait_ms\": 5000}");
    EXPECT_JSON(response, 201, 8);
    assert_in_range(http_integer(response, "served_ms"), 300, 2000);
    assert_in_range(http_integer(response, "validity_ms"), 800, 1000 - 12);
}

static void waiter_is_granted_when_the_lease_runs_out(void **state)
{
    struct grant holder = call_grant(port, "expiry", "{\"ttl_ms\": 500}");
    const uint64_t began_ms = wait_now_ms();
    struct grant next = call_grant(port, "expiry", "{\"wait_ms\": 10000}");
    assert_in_range(wait_now_ms() - began_ms, 300, 2000);
    assert_true(next.token > holder.token);
}

static void wait_that_was_too_short_is_told(void **state)
{
    call_grant(port, "timeout", "{\"ttl_ms\": 20000, \"owner\": \"long worker\"}");
    const uint64_t began_ms = wait_now_ms();
    const struct http_response *response =
        call_acquire(port, "timeout", "{\"wait_ms\": 300, \"owner\": \"other\"}");
    assert_in_range(wait_now_ms() - began_ms, 299, 1500);
    EXPECT_PROBLEM(response, 409, "wait-timeout", 3);
    assert_string_equal(http_string(response, "resource"), "timeout");
    assert_string_equal(http_string(response, "owner"), "long worker");
    assert_in_range(http_integer(response, "retry_after_ms"), 15000, 20000);
    EXPECT_HEADER(response, "Retry-After", "20");
    assert_int_equal(line_length(port, "timeout"), 0);
}

static void who_waits_zero_does_not_wait(void **state)
{
    call_grant(port, "zero", NULL);
    const uint64_t began_ms = wait_now_ms();
    EXPECT_PROBLEM(call_acquire(port, "zero", "{\"wait_ms\": 0}"), 409, "held", 3);
    assert_in_range(wait_now_ms() - began_ms, 0, 2000); /* and not until the lease ends */
}

static void who_does_not_wait_is_refused_although_others_wait(void **state)
{
    struct grant holder = call_grant(port, "impatient", NULL);
    struct http *waiter =
        wait_in_line("/v1/locks/impatient", "impatient", "{\"wait_ms\": 10000}", 1);
    EXPECT_PROBLEM(call_acquire(port, "impatient", NULL), 409, "held", 3);
    call_give_back(port, "impatient", &holder);
    EXPECT_JSON(call_end(waiter), 201, 8);
}

static void waiters_are_served_in_the_order_in_which_they_came(void **state)
{
    enum {
        WAITERS = 5
    };
    struct http *line[WAITERS];
    struct grant holder = call_grant(port, "line", NULL);
    for (int i = 0; i < WAITERS; i++)
        line[i] = wait_in_line("/v1/locks/line", "line", "{\"wait_ms\": 10000}", i + 1);
    for (int i = 0; i < WAITERS; i++) {
        call_give_back(port, "line", &holder);
        struct grant next = grant_of(call_end(line[i]));
        assert_true(next.token > holder.token);
        holder = next;
        assert_int_equal(line_length(port, "line"), WAITERS - 1 - i);
    }
}

/* How many of the connections have something to read: an answer, or their end. NULL has not. */
static int answered(struct http *const *clients, unsigned count)
{
    static struct pollfd fds[CROWD];
    for (unsigned i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = clients[i] ? http_fd(clients[i]) : -1, .events = POLLIN};
    return poll(fds, count, 0);
}

static void crowd_of_waiters_is_served_one_by_one_in_order(void **state)
{
    static struct http *line[CROWD];
    struct grant holder = call_grant(port, "crowd", "{\"ttl_ms\": 120000}");
    for (int i = 0; i < CROWD; i++)
        line[i] = wait_in_line("/v1/locks/crowd", "crowd",
                               "{\"wait_ms\": 300000, \"ttl_ms\": 120000}", i + 1);
    for (unsigned i = 0; i < CROWD; i++) {
        assert_int_equal(answered(line + i, CROWD - i), 0);
        call_give_back(port, "crowd", &holder);
        struct grant next = grant_of(call_end(line[i]));
        assert_true(next.token > holder.token);
        holder = next;
    }
    assert_int_equal(line_length(port, "crowd"), 0);
}

static void waiters_of_other_names_do_not_wait_for_each_other(void **state)
{
    struct grant first = call_grant(port, "apart/1", NULL);
    call_grant(port, "apart/2", NULL);
    struct http *waiter = wait_in_line("/v1/locks/apart/2", "apart/2", "{\"wait_ms\": 10000}", 1);
    struct http *other = wait_in_line("/v1/locks/apart/1", "apart/1", "{\"wait_ms\": 10000}", 1);
    call_give_back(port, "apart/1", &first);
    EXPECT_JSON(call_end(other), 201, 8);
    assert_int_equal(line_length(port, "apart/2"), 1);
    http_close(waiter);
}

static void waiter_is_granted_what_was_released_through_another_server(void **state)
{
    struct pawl_service second = fleet_serve();
    struct grant holder = call_grant(second.port, "servers", NULL);
    struct http *waiter = wait_in_line("/v1/locks/servers", "servers", "{\"wait_ms\": 10000}", 1);
    wait_ms(FENCE_FIRST_LOOK_US * (1 + FENCE_LOOK_SPREADS) / 1000); /* it has told the masters */
    call_give_back(second.port, "servers", &holder);
    const uint64_t released_ms = wait_now_ms();
    struct grant next = grant_of(call_end(waiter));
    assert_in_range(wait_now_ms() - released_ms, 0, FENCE_LOOK_US / 1000 - 1); /* it was told */
    assert_true(next.token > holder.token);
    EXPECT_PROBLEM(call_acquire(second.port, "servers", NULL), 409, "held", 3);
}

/* Which of the connections is the first to have something to read. */
static unsigned first_answered(struct http *const *clients, unsigned count)
{
    unsigned i = 0;
    while (!answered(clients, count))
        wait_ms(1);
    while (!answered(&clients[i], 1))
        i++;
    return i;
}

/* The @i-th that comes: each other one comes to the first server. */
static struct http *come(const uint16_t ports[static SERVERS], unsigned i)
{
    const unsigned s = i % 2 ? 0 : 1 + i / 2 % (SERVERS - 1);
    return call_begin(ports[s], "POST", "/v1/locks/tickets", "{\"wait_ms\": 60000}");
}

/* A waiter comes after each grant. Those that wait from the start came while one holder had the
 * lock, and have no order between servers. */
static void waiters_of_several_servers_are_served_in_the_order_in_which_they_came(void **state)
{
    struct http *line[AT_ONCE + SERVED] = {NULL};
    uint16_t ports[SERVERS] = {port};
    unsigned came = 0;
    for (unsigned s = 1; s < SERVERS; s++)
        ports[s] = fleet_serve().port;
    struct grant holder = call_grant(port, "tickets", NULL);
    for (; came < AT_ONCE; came++)
        line[came] = come(ports, came);
    for (unsigned served = 0; served < SERVED; served++) {
        wait_ms(KNOWN_MS);
        call_give_back(port, "tickets", &holder);
        const unsigned who = served < AT_ONCE ? first_answered(line, AT_ONCE) : served;
        holder = grant_of(call_end(line[who]));
        line[who] = NULL;
        wait_ms(KNOWN_MS);
        line[came] = come(ports, came);
        came++;
    }
    while (came-- > 0)
        if (line[came])
            http_close(line[came]);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(waiter_is_granted_when_the_holder_releases),
    cmocka_unit_test(wait_is_served_time_and_not_validity),
    cmocka_unit_test(waiter_is_granted_when_the_lease_runs_out),
    cmocka_unit_test(wait_that_was_too_short_is_told),
    cmocka_unit_test(who_waits_zero_does_not_wait),
    cmocka_unit_test(who_does_not_wait_is_refused_although_others_wait),
    cmocka_unit_test(waiters_are_served_in_the_order_in_which_they_came),
    cmocka_unit_test(crowd_of_waiters_is_served_one_by_one_in_order),
    cmocka_unit_test(waiters_of_other_names_do_not_wait_for_each_other),
    cmocka_unit_test(waiter_is_granted_what_was_released_through_another_server),
    cmocka_unit_test(waiters_of_several_servers_are_served_in_the_order_in_which_they_came),
};

CASE_MAIN(cases, start, fleet_teardown)
