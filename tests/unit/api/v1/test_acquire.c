/* What an acquire asks the backend for, and which acquires are refused. */
#include "api/mhd/server.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

#include <stdio.h>
#include <string.h>

static void acquire_without_a_body_takes_the_defaults(void **state)
{
    assert_int_equal(loop_ask(locks_request("POST", "orders/42", "", "")), 201);
    assert_int_equal(locks.seen.kind, FENCE_CALL_ACQUIRE);
    assert_string_equal(locks.resource, "orders/42");
    assert_string_equal(locks.lock_id, LOCK_ID);
    assert_string_equal(locks.owner, "");
    assert_int_equal(locks.seen.ttl_ms, 30000);
    assert_int_equal(locks.seen.wait_ms, 0);
}

static void acquire_passes_on_what_the_body_says(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("POST", "a%2Fb", "",
                               "{\"ttl_ms\":  100,\"wait_ms\":300000,\"owner\":\"w-7\"}")),
        201);
    assert_string_equal(locks.resource, "a/b");
    assert_string_equal(locks.owner, "w-7");
    assert_int_equal(locks.seen.ttl_ms, 100);
    assert_int_equal(locks.seen.wait_ms, 300000);
}

static void acquire_passes_on_the_lock_id_of_the_client(void **state)
{
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "")), 201);
    assert_false(locks.seen.idempotent);
    assert_int_equal(
        loop_ask(locks_request("POST", "x", "", "{\"lock_id\":\"0123456789012345678901-_\"}")),
        201);
    assert_string_equal(locks.lock_id, "0123456789012345678901-_");
    assert_true(locks.seen.idempotent);
}

static void wait_before_this_call_is_taken_from_a_header(void **state)
{
    static const struct {
        const char *header;
        uint32_t waited_ms;
    } rows[] = {
        {"", 0},
        {"Waited-Ms: 0\r\n", 0},
        {"Waited-Ms: 061234\r\n", 61234},
        {"Waited-Ms: 86400001\r\n", FENCE_WAITED_MAX_MS},
        {"Waited-Ms: 99999999999999999999999999\r\n", FENCE_WAITED_MAX_MS},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(loop_ask(locks_request("POST", "x", rows[i].header, "")), 201);
        assert_int_equal(locks.seen.waited_ms, rows[i].waited_ms);
    }
}

static void acquire_of_several_passes_on_all_of_them(void **state)
{
    assert_int_equal(
        loop_ask(locks_request_several("{\"resources\":[\"b\",\"a/x\"],\"ttl_ms\":500}")), 201);
    assert_int_equal(locks.group.count, 2);
    assert_string_equal(locks.resource, "b");
    assert_string_equal(locks.group.locks[1].resource, "a/x");
    assert_int_equal(locks.group.locks[1].slot, fence_slot("a/x", 3));
    assert_int_equal(locks.seen.ttl_ms, 500);
}

static void acquire_passes_on_the_delay_with_the_owner(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("POST", "x", "", "{\"delay_ms\":5000,\"owner\":\"w-7\"}")), 201);
    assert_string_equal(locks.owner, "w-7\x1e"
                                     "5000");
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "{\"delay_ms\":0}")), 201);
    assert_string_equal(locks.owner, "");
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "{\"delay_ms\":86400001}")), 400);
}

static void acquire_that_does_not_wait_is_not_told_first(void **state)
{
    locks.parks = true;
    loop_send(loop.http, loop.fd, locks_request("POST", "x", "", ""));
    loop_turn_for(loop.http, 50);
    assert_int_equal(api_http_parked(loop.http), 1);
    assert_null(api_http_waiting(loop.http));
    assert_true(locks_answer_seen());
}

static void wait_keeps_to_its_bounds(void **state)
{
    locks_assert_refused(locks_request("POST", "x", "", "{\"wait_ms\":-1}"), "wait_ms is -1");
    locks_assert_refused(locks_request("POST", "x", "", "{\"wait_ms\":300001}"), "to 300000");
}

static void wait_before_this_call_is_plain_digits(void **state)
{
    locks_assert_refused(locks_request("POST", "x", "Waited-Ms: 1.5\r\n", ""), "Waited-Ms");
    locks_assert_refused(locks_request("POST", "x", "Waited-Ms: -1\r\n", ""), "Waited-Ms");
    locks_assert_refused(locks_request("POST", "x", "Waited-Ms: \r\n", ""), "Waited-Ms");
}

static void owner_has_no_control_characters(void **state)
{
    locks_assert_refused(locks_request("POST", "x", "", "{\"owner\":\"a\\nb\"}"), "owner");
}

static void client_chosen_lock_id_keeps_to_its_alphabet_and_length(void **state)
{
    locks_assert_refused(
        locks_request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAAAAAAA!\"}"),
        "base64url");
    locks_assert_refused(locks_request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAA\"}"),
                         "from 22");
}

static void several_keep_to_the_bounds_and_name_each_once(void **state)
{
    locks_assert_refused(locks_request_several(""), "resources");
    locks_assert_refused(locks_request_several("{\"resources\":[\"a\"]}"), "2 to 64");
    locks_assert_refused(locks_request_several("{\"resources\":\"a\"}"), "array");
    locks_assert_refused(locks_request_several("{\"resources\":[\"a\",7]}"), "item 2");
    locks_assert_refused(locks_request_several("{\"resources\":[\"a\",\"b//c\"]}"), "Item 2");
    locks_assert_refused(locks_request_several("{\"resources\":[\"a\",\"b\",\"a\"]}"), "Item 3");
    char body[1024] = "{\"resources\":[\"n\"";
    for (unsigned i = 0; i < FENCE_GROUP_MAX; i++)
        (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), ",\"n%u\"", i);
    (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "]}");
    locks_assert_refused(locks_request_several(body), "2 to 64");
}

static void permits_keep_to_their_bounds(void **state)
{
    locks_assert_refused(locks_request_seat(""), "permits");
    locks_assert_refused(locks_request_seat("{\"permits\":0}"), "permits is 0");
    locks_assert_refused(locks_request_seat("{\"permits\":65}"), "from 1 to 64");
    assert_int_equal(loop_ask(locks_request_seat("{\"permits\":64}")), 201);
    assert_int_equal(locks.seen.seats, 64);
    assert_string_equal(locks.resource, "x");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(acquire_without_a_body_takes_the_defaults),
    CASE(acquire_passes_on_what_the_body_says),
    CASE(acquire_passes_on_the_lock_id_of_the_client),
    CASE(wait_before_this_call_is_taken_from_a_header),
    CASE(acquire_of_several_passes_on_all_of_them),
    CASE(acquire_passes_on_the_delay_with_the_owner),
    CASE(acquire_that_does_not_wait_is_not_told_first),
    CASE(wait_keeps_to_its_bounds),
    CASE(wait_before_this_call_is_plain_digits),
    CASE(owner_has_no_control_characters),
    CASE(client_chosen_lock_id_keeps_to_its_alphabet_and_length),
    CASE(several_keep_to_the_bounds_and_name_each_once),
    CASE(permits_keep_to_their_bounds),
};

CASE_MAIN(cases, NULL, NULL)
