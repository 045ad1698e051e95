/* What a request about a lock asks the backend for, and which requests are refused. */
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

static void default_ttl_is_no_longer_than_the_fleet_allows(void **state)
{
    locks.fleet.ttl_max_ms = 2000;
    assert_int_equal(loop_ask(locks_request("POST", "orders/42", "", "")), 201);
    assert_int_equal(locks.seen.ttl_ms, 2000);
    locks.fleet.ttl_max_ms = 300000;
    assert_int_equal(loop_ask(locks_request("POST", "orders/42", "", "")), 201);
    assert_int_equal(locks.seen.ttl_ms, 30000);
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

static void extend_passes_on_id_token_and_ttl(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 9007199254740991\r\n",
                               "{\"ttl_ms\":5000}")),
        200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_EXTEND);
    assert_string_equal(locks.lock_id, LOCK_ID);
    assert_true(locks.seen.token == FENCE_TOKEN_MAX);
    assert_int_equal(locks.seen.ttl_ms, 5000);
}

static void release_passes_on_the_id(void **state)
{
    locks.next.release.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_string_equal(locks.lock_id, LOCK_ID);
    assert_said("{\"resource\":\"x\",\"released\":true}");
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

static void release_passes_on_how_long_it_keeps_the_name_closed(void **state)
{
    locks.next.release.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=50000", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(locks.seen.keep_ms, 50000);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.keep_ms, 0);
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=86400001", ID_LINE, "")), 400);
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=1&force=true", ID_LINE, "")), 400);
    assert_said("A break opens the name immediately");
}

static void lock_id_of_kept_locks_is_nobodys(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("POST", "x", "", "{\"lock_id\":\"" FENCE_KEPT_ID "\"}")), 400);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", "Lock-Id: " FENCE_KEPT_ID "\r\n", "")),
                     400);
}

/* No reader is to believe that the token was looked at. */
static void release_with_if_match_is_refused(void **state)
{
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE "If-Match: \"34\"\r\n", "")),
                     400);
    assert_said("If-Match is for a break, with ?force=true");
    assert_int_equal(loop_ask(locks_request("DELETE", "x", "If-Match: *\r\n", "")), 400);
    assert_said("If-Match is for a break, with ?force=true");
    assert_int_equal(locks.calls, 0);
}

static void token_of_a_release_is_well_formed(void **state)
{
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(locks.calls, 1);
    assert_int_equal(
        loop_ask(locks_request("DELETE", "x", ID_LINE "Fencing-Token: \"34\"\r\n", "")), 400);
    assert_said("The Fencing-Token header must be a whole number");
    assert_int_equal(locks.calls, 1);
}

static void break_passes_on_the_token(void **state)
{
    locks.next.breaks.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", "If-Match: \"34\"\r\n", "")),
                     200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_BREAK);
    assert_int_equal(locks.seen.token, 34);
    assert_said("{\"resource\":\"x\",\"released\":true,\"token\":34}");
}

static void break_needs_the_token_in_if_match(void **state)
{
    static const char *const bad[] = {"34", "\"\"", "\"0\"", "\"034\"", "W/\"34\"", "*", "\""};
    char line[64];
    assert_answered(locks_request("DELETE", "x?force=true", ID_LINE, ""), 428,
                    "urn:pawl:token-required");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(line, sizeof(line), "If-Match: %s\r\n", bad[i]);
        assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", line, "")), 400);
    }
    assert_answered(locks_request("DELETE", "x?force=1234", ID_LINE, ""), 400,
                    "force must be true");
    assert_answered(locks_request("DELETE", "x?force=false", ID_LINE, ""), 400,
                    "force must be true");
    assert_int_equal(loop_ask(locks_request("DELETE", "x?other=true", ID_LINE, "")), 400);
    assert_int_equal(locks.calls, 0);
}

static void inspect_needs_the_name_alone(void **state)
{
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_INSPECT);
    assert_said("{\"resource\":\"x\",\"held\":false}");
}

static void service_that_drains_grants_nothing_and_serves_holders(void **state)
{
    locks.backend.draining = true;
    assert_answered(locks_request("POST", "x", "", ""), 503, "urn:pawl:stopping");
    assert_said("Retry-After: ");
    assert_int_equal(loop_ask(locks_request_several("{\"resources\":[\"b\",\"a\"]}")), 503);
    assert_int_equal(locks.calls, 0);
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "{\"ttl_ms\":1}")), 400);
    assert_int_equal(loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     200);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_int_equal(locks.calls, 3);
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

static void assert_refused(const char *text, const char *word)
{
    assert_int_equal(loop_ask(text), 400);
    assert_int_equal(locks.calls, 0);
    assert_said(word);
}

static void bad_names_are_refused(void **state)
{
    assert_refused(locks_request("GET", "", "", ""), "resource");
    assert_refused(locks_request("GET", "a//b", "", ""), "resource");
    assert_refused(locks_request("GET", "%2e%2e/x", "", ""), "resource");
    assert_refused(locks_request("GET", "a%20b", "", ""), "resource");
}

static void ttl_and_wait_keep_to_their_bounds(void **state)
{
    assert_refused(locks_request("POST", "x", "", "{\"ttl_ms\":99}"), "ttl_ms is 99");
    assert_refused(locks_request("POST", "x", "", "{\"wait_ms\":-1}"), "wait_ms is -1");
    assert_refused(locks_request("POST", "x", "", "{\"wait_ms\":300001}"), "to 300000");
}

static void wait_before_this_call_is_plain_digits(void **state)
{
    assert_refused(locks_request("POST", "x", "Waited-Ms: 1.5\r\n", ""), "Waited-Ms");
    assert_refused(locks_request("POST", "x", "Waited-Ms: -1\r\n", ""), "Waited-Ms");
    assert_refused(locks_request("POST", "x", "Waited-Ms: \r\n", ""), "Waited-Ms");
}

static void owner_has_no_control_characters(void **state)
{
    assert_refused(locks_request("POST", "x", "", "{\"owner\":\"a\\nb\"}"), "owner");
}

static void client_chosen_lock_id_keeps_to_its_alphabet_and_length(void **state)
{
    assert_refused(locks_request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAAAAAAA!\"}"),
                   "base64url");
    assert_refused(locks_request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAA\"}"),
                   "from 22");
}

static void several_keep_to_the_bounds_and_name_each_once(void **state)
{
    assert_refused(locks_request_several(""), "resources");
    assert_refused(locks_request_several("{\"resources\":[\"a\"]}"), "2 to 64");
    assert_refused(locks_request_several("{\"resources\":\"a\"}"), "array");
    assert_refused(locks_request_several("{\"resources\":[\"a\",7]}"), "item 2");
    assert_refused(locks_request_several("{\"resources\":[\"a\",\"b//c\"]}"), "Item 2");
    assert_refused(locks_request_several("{\"resources\":[\"a\",\"b\",\"a\"]}"), "Item 3");
    char body[1024] = "{\"resources\":[\"n\"";
    for (unsigned i = 0; i < FENCE_GROUP_MAX; i++)
        (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), ",\"n%u\"", i);
    (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "]}");
    assert_refused(locks_request_several(body), "2 to 64");
}

static void permits_keep_to_their_bounds(void **state)
{
    assert_refused(locks_request_seat(""), "permits");
    assert_refused(locks_request_seat("{\"permits\":0}"), "permits is 0");
    assert_refused(locks_request_seat("{\"permits\":65}"), "from 1 to 64");
    assert_int_equal(loop_ask(locks_request_seat("{\"permits\":64}")), 201);
    assert_int_equal(locks.seen.seats, 64);
    assert_string_equal(locks.resource, "x");
}

static void seat_is_not_acquired_by_its_name(void **state)
{
    assert_refused(locks_request("POST", "x%231", "", ""), "resource");
    assert_int_equal(loop_ask(locks_request("GET", "x%231", "", "")), 200);
    assert_string_equal(locks.resource, "x#1");
}

static void extend_and_release_need_a_lock_id(void **state)
{
    assert_refused(locks_request("DELETE", "x", "", ""), "Lock-Id");
    assert_refused(locks_request("DELETE", "x", "Lock-Id: short\r\n", ""), "Lock-Id");
    assert_refused(locks_request("PATCH", "x", "Fencing-Token: 34\r\n", ""), "Lock-Id");
}

static void extend_needs_a_token_in_plain_digits(void **state)
{
    assert_refused(locks_request("PATCH", "x", ID_LINE, ""), "Fencing-Token");
    static const char *const malformed[] = {"0",
                                            "-1",
                                            "+1",
                                            "01",
                                            "1.0",
                                            "0x1",
                                            "1,2",
                                            "9007199254740992",
                                            "",
                                            "1e3",
                                            "99999999999999999999"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        char lines[128];
        (void)snprintf(lines, sizeof(lines), ID_LINE "Fencing-Token: %s\r\n", malformed[i]);
        assert_refused(locks_request("PATCH", "x", lines, ""), "9007199254740991");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(acquire_without_a_body_takes_the_defaults),
    CASE(default_ttl_is_no_longer_than_the_fleet_allows),
    CASE(acquire_passes_on_what_the_body_says),
    CASE(acquire_passes_on_the_lock_id_of_the_client),
    CASE(wait_before_this_call_is_taken_from_a_header),
    CASE(acquire_of_several_passes_on_all_of_them),
    CASE(extend_passes_on_id_token_and_ttl),
    CASE(release_passes_on_the_id),
    CASE(acquire_passes_on_the_delay_with_the_owner),
    CASE(release_passes_on_how_long_it_keeps_the_name_closed),
    CASE(lock_id_of_kept_locks_is_nobodys),
    CASE(release_with_if_match_is_refused),
    CASE(token_of_a_release_is_well_formed),
    CASE(break_passes_on_the_token),
    CASE(break_needs_the_token_in_if_match),
    CASE(inspect_needs_the_name_alone),
    CASE(service_that_drains_grants_nothing_and_serves_holders),
    CASE(acquire_that_does_not_wait_is_not_told_first),
    CASE(bad_names_are_refused),
    CASE(ttl_and_wait_keep_to_their_bounds),
    CASE(wait_before_this_call_is_plain_digits),
    CASE(owner_has_no_control_characters),
    CASE(client_chosen_lock_id_keeps_to_its_alphabet_and_length),
    CASE(several_keep_to_the_bounds_and_name_each_once),
    CASE(permits_keep_to_their_bounds),
    CASE(seat_is_not_acquired_by_its_name),
    CASE(extend_and_release_need_a_lock_id),
    CASE(extend_needs_a_token_in_plain_digits),
};

CASE_MAIN(cases, NULL, NULL)
