#include "api/mhd/server.h"
#include "api/v1/locks.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOCK_ID "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID_LINE "Lock-Id: " LOCK_ID "\r\n"

/* A backend that notes the call, and gives the answer that the test has set. */
static struct fence_call seen; /* its strings are copied to these */
static char seen_resource[FENCE_RESOURCE_MAX + 1];
static char seen_lock_id[FENCE_LOCK_ID_MAX + 1];
static char seen_owner[FENCE_OWNER_MAX + 1];
static struct fence_group seen_group;
static unsigned calls;
static struct fence_answer next;
static bool parks; /* the test answers, later */

/* Gives what the test has set to the call that was seen last. False: its client has gone. */
static bool answer_seen(void)
{
    const bool left = api_request_client_left(api_request_of_client(seen.client));
    struct fence_answer answer = next;
    answer.group = seen.group ? &seen_group : NULL;
    answer.kind = seen.kind;
    answer.client = seen.client;
    answer.resource = seen_resource;
    answer.lock_id = seen_lock_id;
    api_locks_answer(&answer, left);
    return !left;
}

static void take_call(void *context, const struct fence_call *call)
{
    calls++;
    seen = *call;
    (void)snprintf(seen_resource, sizeof(seen_resource), "%s", call->resource);
    (void)snprintf(seen_lock_id, sizeof(seen_lock_id), "%s", call->lock_id);
    (void)snprintf(seen_owner, sizeof(seen_owner), "%s", call->owner);

    if (call->group)
        seen_group = *call->group;
    for (unsigned k = 0; call->group && k < call->group->count; k++)
        seen_group.locks[k].token = 100 + k;

    if (!parks)
        (void)answer_seen();
}

static void new_lock_id(void *context, char ret[static FENCE_LOCK_ID_LEN + 1])
{
    memcpy(ret, LOCK_ID, FENCE_LOCK_ID_LEN + 1);
}

static struct fence_fleet fleet;

static struct api_backend backend = {
    .call = take_call, .fleet = &fleet, .new_lock_id = new_lock_id};
static struct api_routes routes;

static int setup(void **state)
{
    calls = 0;
    parks = false;
    backend.draining = false;
    fleet.ttl_max_ms = 0; /* not known yet */
    next = (struct fence_answer){
        .extensions_left = 999,
        .owner = "w-1",
        .token = 34,
        .ttl_ms = 30000,
        .validity_ms = 29687,
        .served_ms = 2,
        .remaining_ms = 1001,
        .granted = 3,
        .total = 3,
        .ttl_max_ms = 300000,
        .parts = {FENCE_PART_GRANTED, FENCE_PART_DOWN, FENCE_PART_TIMEOUT},
    };
    routes = api_locks_routes(&backend);
    loop_begin(loop_serve(&routes, 0));
    return 0;
}

/* A request with these header lines and this body; valid until the next. */
static const char *request(const char *method, const char *resource, const char *lines,
                           const char *body)
{
    static char text[1024];
    (void)snprintf(text, sizeof(text),
                   "%s /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s",
                   method, resource, lines, strlen(body), body);
    return text;
}

static const char *request_several(const char *body)
{
    static char text[2048];
    (void)snprintf(text, sizeof(text),
                   "POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    return text;
}

static const char *request_seat(const char *body)
{
    static char text[2048];
    (void)snprintf(text, sizeof(text),
                   "POST /v1/semaphores/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   strlen(body), body);
    return text;
}

static void acquire_without_a_body_takes_the_defaults(void **state)
{
    assert_int_equal(loop_ask(request("POST", "orders/42", "", "")), 201);
    assert_int_equal(seen.kind, FENCE_CALL_ACQUIRE);
    assert_string_equal(seen_resource, "orders/42");
    assert_string_equal(seen_lock_id, LOCK_ID);
    assert_string_equal(seen_owner, "");
    assert_int_equal(seen.ttl_ms, 30000);
    assert_int_equal(seen.wait_ms, 0);
}

static void default_ttl_is_no_longer_than_the_fleet_allows(void **state)
{
    fleet.ttl_max_ms = 2000;
    assert_int_equal(loop_ask(request("POST", "orders/42", "", "")), 201);
    assert_int_equal(seen.ttl_ms, 2000);
    fleet.ttl_max_ms = 300000;
    assert_int_equal(loop_ask(request("POST", "orders/42", "", "")), 201);
    assert_int_equal(seen.ttl_ms, 30000);
}

static void acquire_passes_on_what_the_body_says(void **state)
{
    assert_int_equal(loop_ask(request("POST", "a%2Fb", "",
                                      "{\"ttl_ms\":  100,\"wait_ms\":300000,\"owner\":\"w-7\"}")),
                     201);
    assert_string_equal(seen_resource, "a/b");
    assert_string_equal(seen_owner, "w-7");
    assert_int_equal(seen.ttl_ms, 100);
    assert_int_equal(seen.wait_ms, 300000);
}

static void acquire_passes_on_the_lock_id_of_the_client(void **state)
{
    assert_int_equal(loop_ask(request("POST", "x", "", "")), 201);
    assert_false(seen.idempotent);
    assert_int_equal(
        loop_ask(request("POST", "x", "", "{\"lock_id\":\"0123456789012345678901-_\"}")), 201);
    assert_string_equal(seen_lock_id, "0123456789012345678901-_");
    assert_true(seen.idempotent);
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
        assert_int_equal(loop_ask(request("POST", "x", rows[i].header, "")), 201);
        assert_int_equal(seen.waited_ms, rows[i].waited_ms);
    }
}

static void lock_that_was_found_is_answered_with_200(void **state)
{
    next.found = true;
    assert_answered(request("POST", "x", "", ""), 200, "\"token\":34");
}

static void acquire_of_several_passes_on_all_of_them(void **state)
{
    assert_int_equal(loop_ask(request_several("{\"resources\":[\"b\",\"a/x\"],\"ttl_ms\":500}")),
                     201);
    assert_int_equal(seen_group.count, 2);
    assert_string_equal(seen_resource, "b");
    assert_string_equal(seen_group.locks[1].resource, "a/x");
    assert_int_equal(seen_group.locks[1].slot, fence_slot("a/x", 3));
    assert_int_equal(seen.ttl_ms, 500);
}

static void grant_of_several_has_a_token_for_each(void **state)
{
    next.extensions_left = -1; /* not known */
    assert_int_equal(loop_ask(request_several("{\"resources\":[\"b\",\"a\"]}")), 201);
    assert_said("{\"lock_id\":\"" LOCK_ID "\",\"ttl_ms\":30000,\"validity_ms\":29687,"
                "\"served_ms\":2,\"masters\":{\"granted\":3,\"total\":3},"
                "\"extensions_left\":null,\"grants\":[{\"resource\":\"b\",\"token\":100},"
                "{\"resource\":\"a\",\"token\":101}]}");
}

static void extend_passes_on_id_token_and_ttl(void **state)
{
    assert_int_equal(loop_ask(request("PATCH", "x", ID_LINE "Fencing-Token: 9007199254740991\r\n",
                                      "{\"ttl_ms\":5000}")),
                     200);
    assert_int_equal(seen.kind, FENCE_CALL_EXTEND);
    assert_string_equal(seen_lock_id, LOCK_ID);
    assert_true(seen.token == FENCE_TOKEN_MAX);
    assert_int_equal(seen.ttl_ms, 5000);
}

static void release_passes_on_the_id(void **state)
{
    next.released = true;
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(seen.kind, FENCE_CALL_RELEASE);
    assert_string_equal(seen_lock_id, LOCK_ID);
    assert_said("{\"resource\":\"x\",\"released\":true}");
}

static void acquire_passes_on_the_delay_with_the_owner(void **state)
{
    assert_int_equal(loop_ask(request("POST", "x", "", "{\"delay_ms\":5000,\"owner\":\"w-7\"}")),
                     201);
    assert_string_equal(seen_owner, "w-7\x1e"
                                    "5000");
    assert_int_equal(loop_ask(request("POST", "x", "", "{\"delay_ms\":0}")), 201);
    assert_string_equal(seen_owner, "");
    assert_int_equal(loop_ask(request("POST", "x", "", "{\"delay_ms\":86400001}")), 400);
}

static void release_passes_on_how_long_it_keeps_the_name_closed(void **state)
{
    next.released = true;
    assert_int_equal(loop_ask(request("DELETE", "x?keep_ms=50000", ID_LINE, "")), 200);
    assert_int_equal(seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(seen.keep_ms, 50000);
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(seen.keep_ms, 0);
    assert_int_equal(loop_ask(request("DELETE", "x?keep_ms=86400001", ID_LINE, "")), 400);
    assert_int_equal(loop_ask(request("DELETE", "x?keep_ms=1&force=true", ID_LINE, "")), 400);
    assert_said("a break opens the name at once");
}

static void lock_id_of_kept_locks_is_nobodys(void **state)
{
    assert_int_equal(loop_ask(request("POST", "x", "", "{\"lock_id\":\"" FENCE_KEPT_ID "\"}")),
                     400);
    assert_int_equal(loop_ask(request("DELETE", "x", "Lock-Id: " FENCE_KEPT_ID "\r\n", "")), 400);
}

/* No reader is to believe that the token was looked at. */
static void release_with_if_match_is_refused(void **state)
{
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE "If-Match: \"34\"\r\n", "")), 400);
    assert_said("If-Match is for a break, with ?force=true");
    assert_int_equal(loop_ask(request("DELETE", "x", "If-Match: *\r\n", "")), 400);
    assert_said("If-Match is for a break, with ?force=true");
    assert_int_equal(calls, 0);
}

static void token_of_a_release_is_well_formed(void **state)
{
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE "Fencing-Token: 34\r\n", "")), 200);
    assert_int_equal(seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(calls, 1);
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE "Fencing-Token: \"34\"\r\n", "")),
                     400);
    assert_said("The Fencing-Token header must be a whole number");
    assert_int_equal(calls, 1);
}

static void break_passes_on_the_token(void **state)
{
    next.released = true;
    assert_int_equal(loop_ask(request("DELETE", "x?force=true", "If-Match: \"34\"\r\n", "")), 200);
    assert_int_equal(seen.kind, FENCE_CALL_BREAK);
    assert_int_equal(seen.token, 34);
    assert_said("{\"resource\":\"x\",\"released\":true,\"token\":34}");
}

static void break_needs_the_token_in_if_match(void **state)
{
    static const char *const bad[] = {"34", "\"\"", "\"0\"", "\"034\"", "W/\"34\"", "*", "\""};
    char line[64];
    assert_answered(request("DELETE", "x?force=true", ID_LINE, ""), 428, "urn:pawl:token-required");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(line, sizeof(line), "If-Match: %s\r\n", bad[i]);
        assert_int_equal(loop_ask(request("DELETE", "x?force=true", line, "")), 400);
    }
    assert_answered(request("DELETE", "x?force=1234", ID_LINE, ""), 400, "force must be true");
    assert_answered(request("DELETE", "x?force=false", ID_LINE, ""), 400, "force must be true");
    assert_int_equal(loop_ask(request("DELETE", "x?other=true", ID_LINE, "")), 400);
    assert_int_equal(calls, 0);
}

static void broken_lock_names_the_breaker(void **state)
{
    next.error = FENCE_EBROKEN;
    next.owner = "ops";
    assert_int_equal(loop_ask(request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")), 409);
    assert_said("urn:pawl:lock-broken");
    assert_said("\"by\":\"ops\"");
    next.owner = "";
    assert_answered(request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", ""), 409, "\"by\":null");
}

static void mismatch_names_the_token_that_has_the_lock(void **state)
{
    next.error = FENCE_EMISMATCH;
    assert_int_equal(loop_ask(request("DELETE", "x?force=true", "If-Match: \"7\"\r\n", "")), 412);
    assert_said("urn:pawl:token-mismatch");
    assert_said("\"token\":34");
    next.token = 0; /* the masters differ */
    assert_int_equal(loop_ask(request("DELETE", "x?force=true", "If-Match: \"7\"\r\n", "")), 412);
    assert_said("\"token\":null");
}

static void inspect_needs_the_name_alone(void **state)
{
    assert_int_equal(loop_ask(request("GET", "x", "", "")), 200);
    assert_int_equal(seen.kind, FENCE_CALL_INSPECT);
    assert_said("{\"resource\":\"x\",\"held\":false}");
}

static void grant_says_all_that_the_holder_needs(void **state)
{
    assert_answered(request("POST", "x", "", ""), 201, "Fencing-Token: 34\r\n");
    assert_said("{\"resource\":\"x\",\"lock_id\":\"" LOCK_ID "\",\"token\":34,"
                "\"ttl_ms\":30000,\"validity_ms\":29687,\"served_ms\":2,"
                "\"masters\":{\"granted\":3,\"total\":3},\"extensions_left\":999}");
}

static void extension_leaves_out_the_token(void **state)
{
    assert_int_equal(loop_ask(request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")), 200);
    assert_said("{\"resource\":\"x\",\"ttl_ms\":30000,\"validity_ms\":29687,\"served_ms\":2,"
                "\"masters\":{\"granted\":3,\"total\":3},\"extensions_left\":999}");
}

static void inspection_of_a_held_lock_never_shows_its_id(void **state)
{
    next.held = true;
    next.waiters = 2;
    assert_int_equal(loop_ask(request("GET", "x", ID_LINE, "")), 200);
    assert_said("{\"resource\":\"x\",\"held\":true,\"token\":34,\"owner\":\"w-1\","
                "\"remaining_ms\":1001,\"waiters\":2}");
    assert_false(loop_says(LOCK_ID));
}

static void inspection_shows_the_delay_and_why_a_name_is_closed(void **state)
{
    next.held = true;
    next.owner = "w-1\x1e"
                 "1000";
    assert_int_equal(loop_ask(request("GET", "x", "", "")), 200);
    assert_said("\"owner\":\"w-1\",\"remaining_ms\":1001,\"delay_ms\":1000,\"waiters\":0}");
    next.remaining_ms = 1000;
    assert_int_equal(loop_ask(request("GET", "x", "", "")), 200);
    assert_said("\"remaining_ms\":1000,\"delay_ms\":1000,\"closed\":\"delay\",");
    next.kept = true;
    assert_int_equal(loop_ask(request("GET", "x", "", "")), 200);
    assert_said("\"owner\":\"w-1\",\"remaining_ms\":1000,\"closed\":\"kept\",");
}

static void inspection_has_no_token_where_the_masters_differ(void **state)
{
    next.held = true;
    next.token = 0;
    assert_answered(request("GET", "x", "", ""), 200, "\"token\":null");
}

static void held_says_when_to_retry_rounded_up(void **state)
{
    next.error = FENCE_EHELD;
    assert_int_equal(loop_ask(request("POST", "x", "", "")), 409);
    assert_said("Content-Type: application/problem+json\r\n");
    assert_said("Retry-After: 2\r\n");
    assert_said("\"type\":\"urn:pawl:held\"");
    assert_said("\"retry_after_ms\":1001,\"owner\":\"w-1\"");
}

static void no_quorum_names_each_masters_part(void **state)
{
    next.error = FENCE_ENOQUORUM;
    assert_int_equal(loop_ask(request("POST", "x", "", "")), 503);
    assert_said("\"masters\":[\"granted\",\"down\",\"timeout\"]");
}

/* Its request is out of libmicrohttpd's hands by then, and it sends no more, but would still read.
 */
static void expect_nothing_granted_to_who_left(const char *text)
{
    parks = true;
    loop_send(loop.http, loop.fd, text);
    loop_turn_for(loop.http, 50);
    assert_int_equal(shutdown(loop.fd, SHUT_WR), 0);
    assert_false(answer_seen()); /* so what was granted is undone ... */
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response),
                     503); /* ... and it has to be told so */
    assert_said("client-left");
    assert_false(loop_says("token"));
}

static void client_that_left_is_not_told_of_a_lock_that_is_taken_back(void **state)
{
    expect_nothing_granted_to_who_left(request("POST", "orders/42", "", "{\"wait_ms\": 60000}"));
}

static void service_that_drains_grants_nothing_and_serves_holders(void **state)
{
    backend.draining = true;
    assert_answered(request("POST", "x", "", ""), 503, "urn:pawl:stopping");
    assert_said("Retry-After: ");
    assert_int_equal(loop_ask(request_several("{\"resources\":[\"b\",\"a\"]}")), 503);
    assert_int_equal(calls, 0);
    assert_int_equal(loop_ask(request("POST", "x", "", "{\"ttl_ms\":1}")), 400);
    assert_int_equal(loop_ask(request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")), 200);
    assert_int_equal(loop_ask(request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(loop_ask(request("GET", "x", "", "")), 200);
    assert_int_equal(calls, 3);
}

static void wait_that_was_ended_for_the_client_is_a_stop(void **state)
{
    parks = true;
    loop_send(loop.http, loop.fd, request("POST", "x", "", "{\"wait_ms\": 60000}"));
    loop_turn_for(loop.http, 50);
    assert_non_null(api_http_waiting(loop.http));
    next.error = FENCE_ELEFT;
    assert_true(answer_seen());
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 503);
    assert_said("urn:pawl:stopping");
}

static void acquire_that_does_not_wait_is_not_told_first(void **state)
{
    parks = true;
    loop_send(loop.http, loop.fd, request("POST", "x", "", ""));
    loop_turn_for(loop.http, 50);
    assert_int_equal(api_http_parked(loop.http), 1);
    assert_null(api_http_waiting(loop.http));
    assert_true(answer_seen());
}

static void client_that_left_is_not_told_of_several_that_are_taken_back(void **state)
{
    expect_nothing_granted_to_who_left(
        request_several("{\"resources\": [\"a\", \"b\"], \"wait_ms\": 60000}"));
}

static void ttl_beyond_the_fleets_names_its_bound(void **state)
{
    next.error = FENCE_ETTL;
    assert_int_equal(loop_ask(request("POST", "x", "", "")), 400);
    assert_said("ttl_ms is longer than the fleet allows; ask for at most 300000.");
    assert_said("\"ttl_max_ms\":300000");
    next.delay_ms = 5000;
    assert_int_equal(loop_ask(request("POST", "x", "", "")), 400);
    assert_said("ttl_ms and delay_ms together are longer than the fleet allows; ask for at most "
                "300000.");
}

static void busy_says_when_to_retry(void **state)
{
    next.error = FENCE_EBUSY;
    assert_answered(request("POST", "x", "", ""), 429, "Retry-After: 1\r\n");
}

static void assert_refused(const char *text, const char *word)
{
    assert_int_equal(loop_ask(text), 400);
    assert_int_equal(calls, 0);
    assert_said(word);
}

static void bad_names_are_refused(void **state)
{
    assert_refused(request("GET", "", "", ""), "resource");
    assert_refused(request("GET", "a//b", "", ""), "resource");
    assert_refused(request("GET", "%2e%2e/x", "", ""), "resource");
    assert_refused(request("GET", "a%20b", "", ""), "resource");
}

static void ttl_and_wait_keep_to_their_bounds(void **state)
{
    assert_refused(request("POST", "x", "", "{\"ttl_ms\":99}"), "ttl_ms is 99");
    assert_refused(request("POST", "x", "", "{\"wait_ms\":-1}"), "wait_ms is -1");
    assert_refused(request("POST", "x", "", "{\"wait_ms\":300001}"), "to 300000");
}

static void wait_before_this_call_is_plain_digits(void **state)
{
    assert_refused(request("POST", "x", "Waited-Ms: 1.5\r\n", ""), "Waited-Ms");
    assert_refused(request("POST", "x", "Waited-Ms: -1\r\n", ""), "Waited-Ms");
    assert_refused(request("POST", "x", "Waited-Ms: \r\n", ""), "Waited-Ms");
}

static void owner_has_no_control_characters(void **state)
{
    assert_refused(request("POST", "x", "", "{\"owner\":\"a\\nb\"}"), "owner");
}

static void client_chosen_lock_id_keeps_to_its_alphabet_and_length(void **state)
{
    assert_refused(request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAAAAAAA!\"}"),
                   "base64url");
    assert_refused(request("POST", "x", "", "{\"lock_id\":\"AAAAAAAAAAAAAAAAAAAAA\"}"), "from 22");
}

static void several_keep_to_the_bounds_and_name_each_once(void **state)
{
    assert_refused(request_several(""), "resources");
    assert_refused(request_several("{\"resources\":[\"a\"]}"), "2 to 64");
    assert_refused(request_several("{\"resources\":\"a\"}"), "array");
    assert_refused(request_several("{\"resources\":[\"a\",7]}"), "item 2");
    assert_refused(request_several("{\"resources\":[\"a\",\"b//c\"]}"), "Item 2");
    assert_refused(request_several("{\"resources\":[\"a\",\"b\",\"a\"]}"), "Item 3");
    char body[1024] = "{\"resources\":[\"n\"";
    for (unsigned i = 0; i < FENCE_GROUP_MAX; i++)
        (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), ",\"n%u\"", i);
    (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "]}");
    assert_refused(request_several(body), "2 to 64");
}

static void permits_keep_to_their_bounds(void **state)
{
    assert_refused(request_seat(""), "permits");
    assert_refused(request_seat("{\"permits\":0}"), "permits is 0");
    assert_refused(request_seat("{\"permits\":65}"), "from 1 to 64");
    assert_int_equal(loop_ask(request_seat("{\"permits\":64}")), 201);
    assert_int_equal(seen.seats, 64);
    assert_string_equal(seen_resource, "x");
}

static void seat_is_not_acquired_by_its_name(void **state)
{
    assert_refused(request("POST", "x%231", "", ""), "resource");
    assert_int_equal(loop_ask(request("GET", "x%231", "", "")), 200);
    assert_string_equal(seen_resource, "x#1");
}

static void extend_and_release_need_a_lock_id(void **state)
{
    assert_refused(request("DELETE", "x", "", ""), "Lock-Id");
    assert_refused(request("DELETE", "x", "Lock-Id: short\r\n", ""), "Lock-Id");
    assert_refused(request("PATCH", "x", "Fencing-Token: 34\r\n", ""), "Lock-Id");
}

static void extend_needs_a_token_in_plain_digits(void **state)
{
    assert_refused(request("PATCH", "x", ID_LINE, ""), "Fencing-Token");
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
        assert_refused(request("PATCH", "x", lines, ""), "9007199254740991");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(acquire_without_a_body_takes_the_defaults),
    CASE(default_ttl_is_no_longer_than_the_fleet_allows),
    CASE(acquire_passes_on_what_the_body_says),
    CASE(acquire_passes_on_the_lock_id_of_the_client),
    CASE(wait_before_this_call_is_taken_from_a_header),
    CASE(lock_that_was_found_is_answered_with_200),
    CASE(acquire_of_several_passes_on_all_of_them),
    CASE(grant_of_several_has_a_token_for_each),
    CASE(extend_passes_on_id_token_and_ttl),
    CASE(release_passes_on_the_id),
    CASE(acquire_passes_on_the_delay_with_the_owner),
    CASE(release_passes_on_how_long_it_keeps_the_name_closed),
    CASE(lock_id_of_kept_locks_is_nobodys),
    CASE(release_with_if_match_is_refused),
    CASE(token_of_a_release_is_well_formed),
    CASE(break_passes_on_the_token),
    CASE(break_needs_the_token_in_if_match),
    CASE(broken_lock_names_the_breaker),
    CASE(mismatch_names_the_token_that_has_the_lock),
    CASE(inspect_needs_the_name_alone),
    CASE(grant_says_all_that_the_holder_needs),
    CASE(extension_leaves_out_the_token),
    CASE(inspection_of_a_held_lock_never_shows_its_id),
    CASE(inspection_shows_the_delay_and_why_a_name_is_closed),
    CASE(inspection_has_no_token_where_the_masters_differ),
    CASE(held_says_when_to_retry_rounded_up),
    CASE(no_quorum_names_each_masters_part),
    CASE(client_that_left_is_not_told_of_a_lock_that_is_taken_back),
    CASE(service_that_drains_grants_nothing_and_serves_holders),
    CASE(wait_that_was_ended_for_the_client_is_a_stop),
    CASE(acquire_that_does_not_wait_is_not_told_first),
    CASE(client_that_left_is_not_told_of_several_that_are_taken_back),
    CASE(ttl_beyond_the_fleets_names_its_bound),
    CASE(busy_says_when_to_retry),
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
