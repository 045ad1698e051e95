/* A client that asks again with its own lock id, since the first answer was lost. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/copies.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <string.h>

#define OWN_ID   "own-id-of-the-client-000001"
#define OTHER_ID "own-id-of-another-client-02"
#define OWN      "{\"lock_id\": \"" OWN_ID "\", \"ttl_ms\": 20000}"
#define OTHER    "{\"lock_id\": \"" OTHER_ID "\"}"

enum {
    TTL_MAX_MS = 30000,
    MASTERS = 5,
    MAJORITY = 3,
};

/* Two servers over one fleet: a retry may land on either. */
static uint16_t port;
static uint16_t port_of_other;

static void serve_twice(void)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    port_of_other = fleet_serve().port;
}

/* If a master was late, the lock is on another one than those that a retry asks first. Then a
 * part of it is taken again, and the answer is 201. Not so where all are asked. */
static void serve_all(void)
{
    fleet_init(TTL_MAX_MS);
    port = fleet_serve_all().port;
}

/* A grant, whether the lock was found or taken. */
static struct grant either_way(const struct http_response *response)
{
    assert_true(response->status == 200 || response->status == 201);
    assert_string_equal(http_string(response, "lock_id"), OWN_ID);
    struct grant grant = {.token = http_integer(response, "token")};
    snprintf(grant.lock_id, sizeof(grant.lock_id), "%s", OWN_ID);
    return grant;
}

static void second_answer_is_the_lock_that_the_first_one_was(void **state)
{
    serve_all();
    const struct http_response *response = call_acquire(port, "r", OWN);
    EXPECT_JSON(response, 201, 8);
    struct grant first = grant_of(response);
    assert_string_equal(first.lock_id, OWN_ID);
    wait_ms(300);
    response = call_acquire(port, "r", OWN);
    EXPECT_JSON(response, 200, 8);
    assert_string_equal(http_string(response, "lock_id"), OWN_ID);
    assert_int_equal(http_integer(response, "token"), first.token);
    assert_true(http_integer(response, "validity_ms") <= first.validity_ms - 290);
    call_give_back(port, "r", &first);
}

static void another_server_gives_the_same(void **state)
{
    serve_twice();
    struct grant first = call_grant(port, "r", OWN);
    copies_wait("r", MAJORITY, MASTERS);
    struct grant second = either_way(call_acquire(port_of_other, "r", OWN));
    assert_true(second.token >= first.token);
    call_keep(port_of_other, "r", &second, "{\"ttl_ms\": 20000}");
    call_give_back(port, "r", &second);
    copies_wait("r", 0, 0);
}

static void to_everybody_else_it_is_held(void **state)
{
    serve_twice();
    struct grant holder = call_grant(port, "r", OWN);
    EXPECT_PROBLEM(call_acquire(port, "r", OTHER), 409, "held", 3);
    EXPECT_PROBLEM(call_acquire(port_of_other, "r", NULL), 409, "held", 3);
    call_give_back(port, "r", &holder);
}

static void after_its_release_it_is_a_new_grant(void **state)
{
    serve_twice();
    struct grant first = call_grant(port, "r", OWN);
    call_give_back(port, "r", &first);
    const struct http_response *response = call_acquire(port, "r", OWN);
    EXPECT_JSON(response, 201, 8);
    assert_true(http_integer(response, "token") > first.token);
}

static void what_a_majority_lost_is_taken_anew(void **state)
{
    serve_twice();
    struct grant first = call_grant(port, "r", OWN);
    for (unsigned k = 0; k < MAJORITY; k++)
        fleet_command(copies_master("r", 0), "DEL pawl:lock:r");
    const struct http_response *response = call_acquire(port, "r", OWN);
    EXPECT_JSON(response, 201, 8);
    assert_true(http_integer(response, "token") >= first.token);
}

/* Asked twice at once: both get the lock, and one release is the end of it. */
static void two_at_once_share_one_lock(void **state)
{
    serve_twice();
    for (int round = 0; round < 20; round++) {
        struct http *asked = call_begin(port_of_other, "POST", "/v1/locks/r", OWN);
        struct grant one = either_way(call_acquire(port, "r", OWN));
        struct grant two = either_way(call_end(asked));
        call_give_back(port, "r", one.token > two.token ? &one : &two);
        struct grant other = call_grant(port, "r", OTHER);
        assert_true(other.token > one.token && other.token > two.token);
        call_give_back(port, "r", &other);
    }
}

/* A holder that waits in line, and asks again while it does, gets one lock. */
static void waiter_may_ask_again(void **state)
{
    serve_all();
    struct grant holder = call_grant(port, "r", OTHER);
    struct http *waiter = call_begin(port, "POST", "/v1/locks/r",
                                     "{\"lock_id\": \"" OWN_ID "\", \"wait_ms\": 10000}");
    wait_ms(50);
    struct http *again = call_begin(port, "POST", "/v1/locks/r",
                                    "{\"lock_id\": \"" OWN_ID "\", \"wait_ms\": 10000}");
    wait_ms(50);
    call_give_back(port, "r", &holder);
    const struct http_response *response = call_end(waiter);
    EXPECT_JSON(response, 201, 8);
    int64_t token = http_integer(response, "token");
    response = call_end(again);
    EXPECT_JSON(response, 200, 8);
    assert_int_equal(http_integer(response, "token"), token);
}

static bool all_vote(void *arg)
{
    unsigned voting = 0;
    const char *at = call(port, "GET", "/v1/fleet", NULL, NULL)->body;
    while ((at = strstr(at, "\"state\":\"active\"")) != NULL) {
        at++;
        voting++;
    }
    return voting == MASTERS;
}

/* Data that were stored before a master restarted were counted under its last incarnation. */
static void masters_that_restarted_still_know_it(void **state)
{
    serve_twice();
    struct grant first = call_grant(port, "r", OWN);
    for (unsigned k = 0; k < 2; k++) {
        const unsigned i = copies_master("r", k);
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, true);
    }
    assert_true(wait_until(all_vote, NULL, 10000));
    struct grant second = either_way(call_acquire(port, "r", OWN));
    assert_true(second.token >= first.token);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(second_answer_is_the_lock_that_the_first_one_was, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(another_server_gives_the_same, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(to_everybody_else_it_is_held, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(after_its_release_it_is_a_new_grant, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(what_a_majority_lost_is_taken_anew, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(two_at_once_share_one_lock, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(waiter_may_ask_again, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(masters_that_restarted_still_know_it, MASTERS, REDIS_ALWAYS),
};

CASE_MAIN(cases, NULL, NULL)
