/* What the answer to a call on a lock becomes, for its client. */
#include "api/mhd/server.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void lock_that_was_found_is_answered_with_200(void **state)
{
    locks.next.acquire.found = true;
    assert_answered(locks_request("POST", "x", "", ""), 200, "\"token\":34");
}

static void grant_of_several_has_a_token_for_each(void **state)
{
    locks.next.lease.extensions_left = -1; /* not known */
    assert_int_equal(loop_ask(locks_request_several("{\"resources\":[\"b\",\"a\"]}")), 201);
    assert_said("{\"lock_id\":\"" LOCK_ID "\",\"ttl_ms\":30000,\"validity_ms\":29687,"
                "\"served_ms\":2,\"masters\":{\"granted\":3,\"total\":3},"
                "\"extensions_left\":null,\"grants\":[{\"resource\":\"b\",\"token\":100},"
                "{\"resource\":\"a\",\"token\":101}]}");
}

static void broken_lock_names_the_breaker(void **state)
{
    locks.next.error = FENCE_EBROKEN;
    locks.next.owner = "ops";
    assert_int_equal(loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     409);
    assert_said("urn:pawl:lock-broken");
    assert_said("\"by\":\"ops\"");
    locks.next.owner = "";
    assert_answered(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", ""), 409,
                    "\"by\":null");
}

static void mismatch_names_the_token_that_has_the_lock(void **state)
{
    locks.next.error = FENCE_EMISMATCH;
    assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", "If-Match: \"7\"\r\n", "")),
                     412);
    assert_said("urn:pawl:token-mismatch");
    assert_said("\"token\":34");
    locks.next.token = 0; /* the masters differ */
    assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", "If-Match: \"7\"\r\n", "")),
                     412);
    assert_said("\"token\":null");
}

static void grant_says_all_that_the_holder_needs(void **state)
{
    assert_answered(locks_request("POST", "x", "", ""), 201, "Fencing-Token: 34\r\n");
    assert_said("{\"resource\":\"x\",\"lock_id\":\"" LOCK_ID "\",\"token\":34,"
                "\"ttl_ms\":30000,\"validity_ms\":29687,\"served_ms\":2,"
                "\"masters\":{\"granted\":3,\"total\":3},\"extensions_left\":999}");
}

static void extension_leaves_out_the_token(void **state)
{
    assert_int_equal(loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     200);
    assert_said("{\"resource\":\"x\",\"ttl_ms\":30000,\"validity_ms\":29687,\"served_ms\":2,"
                "\"masters\":{\"granted\":3,\"total\":3},\"extensions_left\":999}");
}

static void inspection_of_a_held_lock_never_shows_its_id(void **state)
{
    locks.next.inspect.held = true;
    locks.next.inspect.waiters = 2;
    assert_int_equal(loop_ask(locks_request("GET", "x", ID_LINE, "")), 200);
    assert_said("{\"resource\":\"x\",\"held\":true,\"token\":34,\"owner\":\"w-1\","
                "\"remaining_ms\":1001,\"waiters\":2}");
    assert_false(loop_says(LOCK_ID));
}

static void inspection_shows_the_delay_and_why_a_name_is_closed(void **state)
{
    locks.next.inspect.held = true;
    locks.next.owner = "w-1\x1e"
                       "1000";
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_said("\"owner\":\"w-1\",\"remaining_ms\":1001,\"delay_ms\":1000,\"waiters\":0}");
    locks.next.remaining_ms = 1000;
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_said("\"remaining_ms\":1000,\"delay_ms\":1000,\"closed\":\"delay\",");
    locks.next.inspect.kept = true;
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_said("\"owner\":\"w-1\",\"remaining_ms\":1000,\"closed\":\"kept\",");
}

static void inspection_has_no_token_where_the_masters_differ(void **state)
{
    locks.next.inspect.held = true;
    locks.next.token = 0;
    assert_answered(locks_request("GET", "x", "", ""), 200, "\"token\":null");
}

static void held_says_when_to_retry_rounded_up(void **state)
{
    locks.next.error = FENCE_EHELD;
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "")), 409);
    assert_said("Content-Type: application/problem+json\r\n");
    assert_said("Retry-After: 2\r\n");
    assert_said("\"type\":\"urn:pawl:held\"");
    assert_said("\"retry_after_ms\":1001,\"owner\":\"w-1\"");
}

static void no_quorum_names_each_masters_part(void **state)
{
    locks.next.error = FENCE_ENOQUORUM;
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "")), 503);
    assert_said("\"masters\":[\"granted\",\"down\",\"timeout\"]");
}

/* Its request is out of libmicrohttpd's hands by then, and it sends no more, but would still read.
 */
static void expect_nothing_granted_to_who_left(const char *text)
{
    locks.parks = true;
    loop_send(loop.http, loop.fd, text);
    loop_turn_for(loop.http, 50);
    assert_int_equal(shutdown(loop.fd, SHUT_WR), 0);
    /* On a busy machine the end of the connection arrives a moment later. */
    for (int i = 0; i < 100 && !api_request_client_left(api_request_of_client(locks.seen.client));
         i++)
        loop_turn_for(loop.http, 10);
    assert_false(locks_answer_seen()); /* so what was granted is taken back ... */
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response),
                     503); /* ... and it has to be told so */
    assert_said("client-left");
    assert_false(loop_says("token"));
}

static void client_that_left_is_not_told_of_a_lock_that_is_taken_back(void **state)
{
    expect_nothing_granted_to_who_left(
        locks_request("POST", "orders/42", "", "{\"wait_ms\": 60000}"));
}

static void wait_that_was_ended_for_the_client_is_a_stop(void **state)
{
    locks.parks = true;
    loop_send(loop.http, loop.fd, locks_request("POST", "x", "", "{\"wait_ms\": 60000}"));
    loop_turn_for(loop.http, 50);
    assert_non_null(api_http_waiting(loop.http));
    locks.next.error = FENCE_ELEFT;
    assert_true(locks_answer_seen());
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 503);
    assert_said("urn:pawl:stopping");
}

static void client_that_left_is_not_told_of_several_that_are_taken_back(void **state)
{
    expect_nothing_granted_to_who_left(
        locks_request_several("{\"resources\": [\"a\", \"b\"], \"wait_ms\": 60000}"));
}

static void ttl_beyond_the_fleets_names_its_bound(void **state)
{
    locks.next.error = FENCE_ETTL;
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "")), 400);
    assert_said("ttl_ms is longer than the fleet allows. Send at most 300000.");
    assert_said("\"ttl_max_ms\":300000");
    locks.next.lease.delay_ms = 5000;
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "")), 400);
    assert_said("ttl_ms and delay_ms together are longer than the fleet allows. Send at most "
                "300000.");
}

static void busy_says_when_to_retry(void **state)
{
    locks.next.error = FENCE_EBUSY;
    assert_answered(locks_request("POST", "x", "", ""), 429, "Retry-After: 1\r\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(lock_that_was_found_is_answered_with_200),
    CASE(grant_of_several_has_a_token_for_each),
    CASE(broken_lock_names_the_breaker),
    CASE(mismatch_names_the_token_that_has_the_lock),
    CASE(grant_says_all_that_the_holder_needs),
    CASE(extension_leaves_out_the_token),
    CASE(inspection_of_a_held_lock_never_shows_its_id),
    CASE(inspection_shows_the_delay_and_why_a_name_is_closed),
    CASE(inspection_has_no_token_where_the_masters_differ),
    CASE(held_says_when_to_retry_rounded_up),
    CASE(no_quorum_names_each_masters_part),
    CASE(client_that_left_is_not_told_of_a_lock_that_is_taken_back),
    CASE(wait_that_was_ended_for_the_client_is_a_stop),
    CASE(client_that_left_is_not_told_of_several_that_are_taken_back),
    CASE(ttl_beyond_the_fleets_names_its_bound),
    CASE(busy_says_when_to_retry),
};

CASE_MAIN(cases, NULL, NULL)
