/* Named counters over HTTP: on five masters, and on a file. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/counted.h"
#include "tests/system/fleet.h"
#include "tests/system/listed.h"
#include "tests/system/masters.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <string.h>

enum {
    MASTERS = 5,
    TTL_MAX_MS = 60000, /* longer than a case may take: no call waits for it */
    RUN_MS = 1500,
    BACK_MS = 8000, /* a master that forgot is back by then, on a busy machine too */
    LEFT_ALONE = 20,
};

static struct pawl_service service;

/* @options: more of them, ended by NULL. */
static void serve(const char *const options[])
{
    service = fleet ? pawld_start(fleet, options) : pawld_start_at(workdir.data, options);
    pawl_wait_ready(service);
}

static void serve_anew(const char *const options[])
{
    assert_int_equal(process_stop(service.process), 0);
    serve(options);
}

static int start_on_masters(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    service = fleet_init_and_serve(TTL_MAX_MS);
    return 0;
}

static int start_on_a_file(void **state)
{
    (void)workdir_setup(state);
    serve((const char *const[]){"--workers", "2", NULL});
    return 0;
}

static int64_t count(const char *name)
{
    return call_value(call_count(service.port, name, NULL));
}

static int64_t read_counter(const char *name)
{
    return call_value(call_read_counter(service.port, name));
}

/* False: a busy machine missed a deadline, and a gap may follow. */
static bool counts_without_gaps(const char *name)
{
    static const struct {
        const char *body;
        int64_t count;
        int64_t value;
    } steps[] = {{NULL, 1, 1},
                 {"", 1, 2},
                 {"{\"count\": 100}", 100, 102},
                 {"{}", 1, 103},
                 {"{\"count\": 1000000}", 1000000, 1000103}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const struct http_response *response = call_count_once(service.port, name, steps[i].body);
        if (response->status != 200)
            return false;
        EXPECT_JSON(response, 200, 3);
        assert_string_equal(http_string(response, "name"), name);
        assert_int_equal(http_integer(response, "value"), steps[i].value);
        assert_int_equal(http_integer(response, "count"), steps[i].count);
    }
    return true;
}

static void counter_begins_at_1_and_goes_on_by_as_many_as_are_asked_for(void **state)
{
    assert_true(counts_without_gaps("orders/1") || counts_without_gaps("orders/2") ||
                counts_without_gaps("orders/3"));
}

static void reading_shows_the_last_value_and_takes_none(void **state)
{
    const int64_t value = call_value(call_count(service.port, "orders/42", "{\"count\": 7}"));
    for (int again = 0; again < 3; again++) {
        const struct http_response *response = call_read_counter(service.port, "orders%2F42");
        EXPECT_JSON(response, 200, 2);
        assert_string_equal(http_string(response, "name"), "orders/42");
        assert_int_equal(http_integer(response, "value"), value);
    }
    struct http *http = http_connect(service.port);
    struct http_response response;
    static const char head[] = "HEAD /v1/counters/orders/42 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_true(http_send(http, head, sizeof(head) - 1));
    http_receive(http, true, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    http_close(http);
}

static void counter_that_was_never_counted_is_404(void **state)
{
    for (int again = 0; again < 2; again++) {
        const struct http_response *response = call_read_counter(service.port, "never");
        EXPECT_PROBLEM(response, 404, "no-such-counter", 1);
        assert_string_equal(http_string(response, "name"), "never");
    }
}

static void counter_and_lock_of_one_name_know_nothing_of_each_other(void **state)
{
    const int64_t value = call_value(call_count(service.port, "shared", "{\"count\": 1000}"));
    struct grant grant = call_grant(service.port, "shared", NULL);
    assert_true(grant.token < value);
    assert_int_equal(read_counter("shared"), value);
    call_give_back(service.port, "shared", &grant);
}

static void bad_input_counts_nothing(void **state)
{
    static const char *const bodies[] = {
        "{\"count\": 0}",
        "{\"count\": 1000001}",
        "{\"count\": -1}",
        "{\"count\": 1.5}",
        "{\"count\": \"1\"}",
        "{\"count\": 1, \"to\": 2}",
        "[1]",
        "1",
    };
    static const char path[] = "/v1/counters/bad";
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        EXPECT_PROBLEM(call_count(service.port, "bad", bodies[i]), 400, "invalid", 0);
    EXPECT_PROBLEM(call_count(service.port, "bad?count=1", NULL), 400, "invalid", 0);
    EXPECT_PROBLEM(call_count(service.port, "bad//bad", NULL), 400, "invalid", 0);
    EXPECT_PROBLEM(call_read_counter(service.port, "bad/.."), 400, "invalid", 0);
    EXPECT_PROBLEM(
        call(service.port, "POST", path, "Content-Type: text/plain\r\n", "{\"count\": 1}"), 415,
        "unsupported-media-type", 0);
    EXPECT_PROBLEM(call(service.port, "POST", path, "Origin: http://other.example\r\n", NULL), 403,
                   "cross-site", 0);
    EXPECT_PROBLEM(call(service.port, "DELETE", path, NULL, NULL), 405, "method-not-allowed", 0);
    EXPECT_PROBLEM(call_read_counter(service.port, "bad"), 404, "no-such-counter", 1);
}

static void counters_are_listed_by_prefix_page_by_page(void **state)
{
    static const unsigned limits[] = {1, 2, 7, 50, 0};
    const uint16_t ports[] = {service.port, 0};
    char name[32];
    assert_int_equal(listed_read_counters(ports, "", 0), 0);
    for (unsigned i = 1; i <= 30; i++) {
        char body[32];
        snprintf(name, sizeof(name), "page/%u", i);
        snprintf(body, sizeof(body), "{\"count\": %u}", i);
        (void)call_value(call_count(service.port, name, body));
    }
    (void)count("other");
    struct grant grant = call_grant(service.port, "page/lock", NULL); /* not listed here */
    for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
        assert_int_equal(listed_read_counters(ports, "page/", limits[k]), 30);
        for (unsigned i = 1; i <= 30; i++) {
            snprintf(name, sizeof(name), "page/%u", i);
            assert_int_equal(listed_times(name), 1);
            assert_true(listed_number(name) >= i);
            assert_int_equal(listed_number(name), read_counter(name));
        }
    }
    assert_int_equal(listed_read_counters(ports, "", 0), 31);
    assert_int_equal(listed_read_counters(ports, "page/3", 0), 2);
    assert_int_equal(listed_read_counters(ports, "none", 0), 0);
    call_give_back(service.port, "page/lock", &grant);
}

static void cursor_of_locks_is_none_of_counters(void **state)
{
    char path[512];
    for (unsigned i = 1; i <= 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "cursor/%u", i);
        (void)count(name);
    }
    const struct http_response *response =
        call(service.port, "GET", "/v1/counters?limit=1", NULL, NULL);
    EXPECT_JSON(response, 200, 2);
    snprintf(path, sizeof(path), "/v1/locks?limit=1&cursor=%s",
             http_string(response, "next_cursor"));
    EXPECT_PROBLEM(call(service.port, "GET", path, NULL, NULL), 400, "invalid", 0);
    EXPECT_PROBLEM(call(service.port, "GET", "/v1/counters?limit=0", NULL, NULL), 400, "invalid",
                   0);
    EXPECT_PROBLEM(call(service.port, "GET", "/v1/counters?prefix=a//", NULL, NULL), 400, "invalid",
                   0);
}

static bool is_counted_on_all(void *name)
{
    (void)count(name);
    for (unsigned i = 0; fleet && i < MASTERS; i++)
        if (redis_fleet_integer(fleet, i, "HEXISTS pawl:fleet n:%s", name) == 0)
            return false;
    return true;
}

/* A master that joins late, or misses a deadline, lacks the name, and has room for another one. */
static void count_on_all(char *name)
{
    assert_true(wait_until(is_counted_on_all, name, MASTERS_WAIT_LONG_MS));
}

static void no_more_counters_are_made_than_allowed(void **state)
{
    serve_anew((const char *const[]){"--max-counters", "2", "--ask", "all", NULL});
    count_on_all("one");
    count_on_all("two");
    const int64_t two = count("two");
    const struct http_response *response = call_count(service.port, "three", NULL);
    EXPECT_PROBLEM(response, 409, "too-many-counters", 2);
    assert_string_equal(http_string(response, "name"), "three");
    assert_non_null(strstr(http_string(response, "detail"), "--max-counters"));
    assert_true(count("two") > two);
    EXPECT_PROBLEM(call_read_counter(service.port, "three"), 404, "no-such-counter", 1);
    serve_anew((const char *const[]){"--max-counters", "3", "--ask", "all", NULL});
    count_on_all("three");
    EXPECT_PROBLEM(call_count(service.port, "four", NULL), 409, "too-many-counters", 2);
}

static void values_go_on_after_a_restart_of_pawld(void **state)
{
    for (int again = 0; again < 3; again++) {
        const int64_t value = call_value(call_count(service.port, "kept", "{\"count\": 10}"));
        serve_anew(NULL);
        assert_int_equal(read_counter("kept"), value);
        assert_true(count("kept") > value);
    }
}

static void values_go_on_after_a_crash_of_pawld(void **state)
{
    for (int again = 0; again < 3; again++) {
        const int64_t value = count("kept");
        process_kill(service.process);
        serve(NULL);
        assert_true(count("kept") > value);
    }
}

/* The core goes on with what was asked: nothing is undone. */
static void clients_that_leave_do_no_harm(void **state)
{
    int64_t value = count("left");
    for (int again = 0; again < LEFT_ALONE; again++) {
        http_close(call_begin(service.port, "POST", "/v1/counters/left", "{\"count\": 5}"));
        const int64_t next = count("left");
        assert_in_range(next, value + 1, INT64_MAX);
        value = next;
    }
}

static void values_of_many_clients_are_distinct_and_in_order(void **state)
{
    uint16_t ports[] = {service.port, service.port, 0};
    if (fleet)
        ports[1] = fleet_serve().port;
    const size_t calls = counted_run(ports, "many", RUN_MS, NULL);
    assert_in_range(calls, COUNTED_CLIENTS, SIZE_MAX);
    print_message("%zu calls were given values\n", calls);
}

static void flush_and_kill(void)
{
    fleet_command(1, "FLUSHALL");
    redis_fleet_kill(fleet, 3);
}

static void values_stay_distinct_and_in_order_while_masters_forget_and_die(void **state)
{
    const uint16_t ports[] = {service.port, fleet_serve().port, 0};
    const size_t calls = counted_run(ports, "many", 2 * RUN_MS, flush_and_kill);
    assert_in_range(calls, COUNTED_CLIENTS, SIZE_MAX);
}

static void wiped_master_is_told_of_the_counters(void **state)
{
    const unsigned wiped = 2;
    const int64_t value = call_value(call_count(service.port, "orders", "{\"count\": 1000}"));
    fleet_command(wiped, "FLUSHALL");
    masters_wait_marked(wiped, BACK_MS);
    masters_wait_within(service.port, wiped, "active", NULL, BACK_MS);
    assert_true(redis_fleet_integer(fleet, wiped, "HEXISTS pawl:fleet n:orders") == 1);
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    assert_true(read_counter("orders") >= value);
    assert_true(count("orders") > value);
}

static void counting_goes_on_with_two_of_five_down_and_stops_with_three(void **state)
{
    int64_t value = count("orders");
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 4);
    assert_true(count("orders") > value);
    redis_fleet_kill(fleet, 2);
    const struct http_response *response = call_count_once(service.port, "orders", NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 2);
    assert_int_equal(json_array_size(json_object_get(response->json, "masters")), MASTERS);
    assert_null(strstr(http_string(response, "detail"), "lock"));
    EXPECT_PROBLEM(call(service.port, "GET", "/v1/counters/orders", NULL, NULL), 503, "no-quorum",
                   2);
}

static void field_that_was_written_by_hand_is_named(void **state)
{
    (void)count("orders");
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "HSET pawl:fleet n:orders twelve");
    const struct http_response *response = call_count(service.port, "orders", NULL);
    EXPECT_PROBLEM(response, 409, "foreign-counter", 2);
    assert_non_null(strstr(http_string(response, "detail"), "n:orders of pawl:fleet"));
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "HSET pawl:fleet n:orders 9007199254740990");
    assert_int_equal(count("orders"), INT64_C(9007199254740991));
    response = call_count(service.port, "orders", NULL);
    EXPECT_PROBLEM(response, 409, "counter-used-up", 2);
    assert_int_equal(read_counter("orders"), INT64_C(9007199254740991));
}

/* A master that is asked later than others may take in a name that those refuse. Each such name
 * fills a place somewhere, so in the end all masters are full. That blocks no holder. */
static void refused_names_are_in_nobodys_way_when_masters_die(void **state)
{
    serve_anew((const char *const[]){"--max-counters", "2", NULL});
    const int64_t one = count("one"), two = count("two");
    for (unsigned name = 0; name <= 2 * MASTERS; name++) {
        char refused[16];
        snprintf(refused, sizeof(refused), "refused%u", name);
        (void)call_count(service.port, refused, NULL);
    }
    EXPECT_PROBLEM(call_count(service.port, "last", NULL), 409, "too-many-counters", 2);
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    assert_true(count("one") > one);
    assert_true(count("two") > two);
    assert_true(read_counter("one") > one);
}

static void field_that_was_written_by_hand_keeps_no_master_from_being_taken_back(void **state)
{
    const unsigned wiped = 2;
    const int64_t value = count("orders");
    (void)count("mangled");
    for (unsigned i = 0; i < MASTERS; i++) /* any three have both */
        fleet_command(i, i < wiped ? "HSET pawl:fleet n:mangled twelve"
                                   : "HSET pawl:fleet n:mangled 12");
    fleet_command(wiped, "FLUSHALL");
    masters_wait_marked(wiped, BACK_MS);
    masters_wait_within(service.port, wiped, "active", NULL, BACK_MS);
    assert_true(count("orders") > value);
    const struct http_response *page = call(service.port, "GET", "/v1/counters", NULL, NULL);
    assert_int_equal(page->status, 200);
    assert_int_equal(json_array_size(json_object_get(page->json, "counters")), 2);
}

#define ON_MASTERS(name)                                                                           \
    {                                                                                              \
#name "_on_masters", name, start_on_masters, fleet_teardown, NULL                          \
    }
#define ON_BOTH(name)                                                                              \
    ON_MASTERS(name),                                                                              \
    {                                                                                              \
#name "_on_a_file", name, start_on_a_file, workdir_teardown, NULL                          \
    }

static const struct CMUnitTest cases[] = {
    ON_BOTH(counter_begins_at_1_and_goes_on_by_as_many_as_are_asked_for),
    ON_BOTH(reading_shows_the_last_value_and_takes_none),
    ON_BOTH(counter_that_was_never_counted_is_404),
    ON_BOTH(counter_and_lock_of_one_name_know_nothing_of_each_other),
    ON_BOTH(bad_input_counts_nothing),
    ON_BOTH(counters_are_listed_by_prefix_page_by_page),
    ON_BOTH(cursor_of_locks_is_none_of_counters),
    ON_BOTH(no_more_counters_are_made_than_allowed),
    ON_BOTH(values_go_on_after_a_restart_of_pawld),
    ON_BOTH(values_go_on_after_a_crash_of_pawld),
    ON_BOTH(clients_that_leave_do_no_harm),
    ON_BOTH(values_of_many_clients_are_distinct_and_in_order),
    ON_MASTERS(values_stay_distinct_and_in_order_while_masters_forget_and_die),
    ON_MASTERS(wiped_master_is_told_of_the_counters),
    ON_MASTERS(counting_goes_on_with_two_of_five_down_and_stops_with_three),
    ON_MASTERS(field_that_was_written_by_hand_is_named),
    ON_MASTERS(refused_names_are_in_nobodys_way_when_masters_die),
    ON_MASTERS(field_that_was_written_by_hand_keeps_no_master_from_being_taken_back),
};

CASE_MAIN(cases, NULL, NULL)
