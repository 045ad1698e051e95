/* GET /v1/locks while masters die, freeze, restart, or keep SCAN from us. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/listed.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <string.h>

enum {
    TTL_MAX_MS = 60000,
    LOCKS = 50,
    AT_A_TIME = 6, /* more pages than one server makes at a time */
};

static uint16_t serve_with_locks(void)
{
    const uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    listed_put(LISTED_ALL, "lock/", LOCKS, LISTED_ID_A);
    return port;
}

static void assert_complete(uint16_t port)
{
    const uint16_t ports[] = {port, 0};
    (void)listed_read(ports, "", 7);
    for (unsigned i = 1; i <= LOCKS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "lock/%u", i);
        if (listed_times(name) != 1)
            fail_msg("%s was listed %zu times", name, listed_times(name));
    }
}

/* A page of the listing with a limit of 7 that goes on after the page that was read last. */
static const struct http_response *go_on(uint16_t port, const struct http_response *page)
{
    char query[512];
    snprintf(query, sizeof(query), "?limit=7&cursor=%s", http_string(page, "next_cursor"));
    return listed_page(port, query);
}

static void listing_is_complete_while_masters_are_down(void **state)
{
    const uint16_t port = serve_with_locks();
    redis_fleet_kill(fleet, 0);
    masters_wait(port, 0, "down", "unreachable");
    assert_complete(port);
    redis_fleet_kill(fleet, 3);
    masters_wait(port, 3, "down", "unreachable");
    assert_complete(port);
}

static void listing_without_a_majority_is_503(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    masters_wait(port, 0, "down", "unreachable");
    masters_wait(port, 1, "down", "unreachable");
    const struct http_response *response = call(port, "GET", "/v1/locks", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 1);
    const json_t *masters = json_object_get(response->json, "masters");
    assert_int_equal(json_array_size(masters), 3);
    assert_string_equal(json_string_value(json_array_get(masters, 1)), "down");
}

static void listing_before_the_fleet_is_known_is_503(void **state)
{
    struct pawl_service service = fleet_serve_early();
    EXPECT_PROBLEM(call(service.port, "GET", "/v1/locks", NULL, NULL), 503, "not-ready", 0);
}

static void cursor_is_outdated_when_its_master_restarted(void **state)
{
    const uint16_t port = serve_with_locks();
    const struct http_response *page = listed_page(port, "?limit=7");
    EXPECT_JSON(page, 200, 2);
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    char query[512];
    snprintf(query, sizeof(query), "?limit=7&cursor=%s", http_string(page, "next_cursor"));
    masters_wait(port, 0, "active", NULL);
    const struct http_response *response = listed_page(port, query);
    EXPECT_PROBLEM(response, 400, "invalid", 0);
    assert_non_null(strstr(http_string(response, "detail"), "Restart the listing"));
    assert_complete(port);
}

static void cursor_is_good_after_another_master_restarted(void **state)
{
    const uint16_t port = serve_with_locks();
    const struct http_response *page = listed_page(port, "?limit=7");
    redis_fleet_kill(fleet, 1);
    EXPECT_JSON(go_on(port, page), 200, 2);
}

static uint16_t losing; /* the service that lose_the_first() is to have noticed it at */

static void lose_the_first(void)
{
    redis_fleet_kill(fleet, 0);
    masters_wait(losing, 0, "down", "unreachable");
}

static void another_master_is_walked_when_one_goes_down(void **state)
{
    losing = serve_with_locks();
    const uint16_t ports[] = {losing, 0};
    assert_true(listed_read_while(ports, "", 7, lose_the_first) >= LOCKS);
    for (unsigned i = 1; i <= LOCKS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "lock/%u", i);
        assert_in_range(listed_times(name), 1, 2);
    }
}

static void cursor_is_good_at_another_server(void **state)
{
    uint16_t first = fleet_init_and_serve(TTL_MAX_MS).port;
    uint16_t second = fleet_serve().port;
    masters_wait_all_active(second, fleet->n);
    listed_put(LISTED_ALL, "lock/", LOCKS, LISTED_ID_A);
    const uint16_t ports[] = {first, second, 0};
    assert_int_equal(listed_read(ports, "", 7), LOCKS);
}

static void master_that_keeps_scan_from_us_is_named(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    fleet_command(0, "ACL SETUSER default -scan");
    const struct http_response *response = call(port, "GET", "/v1/locks", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 1);
    assert_non_null(strstr(http_string(response, "detail"), "SCAN"));
    const json_t *masters = json_object_get(response->json, "masters");
    assert_string_equal(json_string_value(json_array_get(masters, 0)), "refused");
    call_grant(port, "goes-on", NULL);
    assert_int_equal(masters_active(port), fleet->n);
}

static void master_that_keeps_mget_from_us_is_named(void **state)
{
    const uint16_t port = serve_with_locks();
    fleet_command(0, "ACL SETUSER default -mget");
    const struct http_response *response = call(port, "GET", "/v1/locks", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 1);
    assert_non_null(strstr(http_string(response, "detail"), "MGET"));
}

/* No other caller asks for a lock here: it is the listing itself that finds out. */
static void master_that_froze_holds_up_no_listing_for_long(void **state)
{
    const uint16_t port = serve_with_locks();
    redis_fleet_pause(fleet, 0);
    const uint64_t began_ms = wait_now_ms();
    const struct http_response *response = call(port, "GET", "/v1/locks", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 1);
    assert_in_range(wait_now_ms() - began_ms, 0, 2000);
    assert_complete(port);
    redis_fleet_resume(fleet, 0);
}

static void pages_beyond_those_made_at_a_time_wait_for_their_turn(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct http *pages[AT_A_TIME];
    redis_fleet_pause(fleet, 0); /* so that they last */
    for (int i = 0; i < AT_A_TIME; i++)
        pages[i] = call_begin(port, "GET", "/v1/locks", "");
    for (int i = 0; i < AT_A_TIME; i++)
        assert_int_not_equal(call_end(pages[i])->status, 429);
    redis_fleet_resume(fleet, 0);
    masters_wait_all_active(port, fleet->n);
    assert_int_equal(listed_page(port, "")->status, 200);
}

static void client_that_leaves_its_listing_does_no_harm(void **state)
{
    const uint16_t port = serve_with_locks();
    for (int i = 0; i < 50; i++)
        http_close(call_begin(port, "GET", "/v1/locks?limit=7", ""));
    assert_complete(port);
}

static void server_that_stops_ends_a_listing(void **state)
{
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    redis_fleet_pause(fleet, 0);
    struct http *page = call_begin(service.port, "GET", "/v1/locks", "");
    wait_ms(50);
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(call_end(page)->status, 503);
    redis_fleet_resume(fleet, 0);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(listing_is_complete_while_masters_are_down, 5, REDIS_VOLATILE),
    FLEET_CASE(listing_without_a_majority_is_503, 3, REDIS_VOLATILE),
    FLEET_CASE(listing_before_the_fleet_is_known_is_503, 3, REDIS_VOLATILE),
    FLEET_CASE(cursor_is_outdated_when_its_master_restarted, 3, REDIS_ALWAYS),
    FLEET_CASE(cursor_is_good_after_another_master_restarted, 3, REDIS_VOLATILE),
    FLEET_CASE(another_master_is_walked_when_one_goes_down, 3, REDIS_VOLATILE),
    FLEET_CASE(cursor_is_good_at_another_server, 3, REDIS_VOLATILE),
    FLEET_CASE(master_that_keeps_scan_from_us_is_named, 3, REDIS_VOLATILE),
    FLEET_CASE(master_that_keeps_mget_from_us_is_named, 3, REDIS_VOLATILE),
    FLEET_CASE(master_that_froze_holds_up_no_listing_for_long, 3, REDIS_VOLATILE),
    FLEET_CASE(pages_beyond_those_made_at_a_time_wait_for_their_turn, 3, REDIS_VOLATILE),
    FLEET_CASE(client_that_leaves_its_listing_does_no_harm, 3, REDIS_VOLATILE),
    FLEET_CASE(server_that_stops_ends_a_listing, 3, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
