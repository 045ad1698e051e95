/* /livez, /readyz and /v1/fleet, and who may vote: a master that is not what it should be stays
 * out, and says why. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/copies.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
};

/* One of three is out: the others go on without it. */
static void expect_two_votes(uint16_t port)
{
    struct grant grant = call_grant(port, "two", NULL);
    expect_masters(call_extend(port, "two", &grant, NULL), 2, MASTERS);
    call_give_back(port, "two", &grant);
    assert_int_equal(masters_active(port), 2);
}

static void expect_not_ready(uint16_t port)
{
    const struct http_response *response = call(port, "GET", "/readyz", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "not-ready", 0);
    EXPECT_HEADER(response, "Retry-After", "1");
    assert_int_equal(call_acquire(port, "nobody", NULL)->status, 503);
    assert_int_equal(call(port, "GET", "/livez", NULL, NULL)->status, 200);
}

/* For each master: a probe is enough. */
static bool round_trips_are_known(void *arg)
{
    const uint16_t *port = arg;
    const struct http_response *response = call(*port, "GET", "/v1/fleet", NULL, NULL);
    return !strstr(response->body, "\"round_trip_us\":null");
}

/* As the server itself says. */
static void expect_named(unsigned i, const char *server, const char *version)
{
    char line[64];
    snprintf(line, sizeof(line), "\r\n%s_version:%s\r\n", server, version);
    redisReply *info = redis_fleet_command(fleet, i, "INFO server");
    if (!strstr(info->str, line))
        fail_msg("%s %s is not the server of %s", server, version, info->str);
    freeReplyObject(info);
}

static void fleet_that_is_well_is_shown(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    masters_wait_all_active(port, MASTERS);
    assert_true(wait_until(round_trips_are_known, &port, 3000));
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    EXPECT_JSON(response, 200, 16);
    assert_true(strlen(http_string(response, "version")) > 0);
    assert_int_equal(strlen(http_string(response, "fleet_id")), FENCE_ID_HEX_LEN);
    assert_int_equal(http_integer(response, "n"), 3);
    assert_int_equal(http_integer(response, "majority"), 2);
    assert_int_equal(http_integer(response, "active"), 3);
    assert_true(http_boolean(response, "ready"));
    assert_int_equal(http_integer(response, "ttl_max_ms"), 300000);

    const json_t *masters = json_object_get(response->json, "masters");
    assert_int_equal(json_array_size(masters), MASTERS);
    for (unsigned i = 0; i < MASTERS; i++) {
        json_t *master = json_array_get(masters, i);
        const char *address, *state_name, *role, *server, *version, *run_id, *persistence;
        int member, durable, round_trip_us;
        assert_int_equal(json_unpack(master, "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:i}",
                                     "member", &member, "address", &address, "state", &state_name,
                                     "role", &role, "server", &server, "version", &version,
                                     "run_id", &run_id, "persistence", &persistence, "durable",
                                     &durable, "round_trip_us", &round_trip_us),
                         0);
        assert_int_equal(member, i + 1);
        assert_string_equal(address, fleet->master[i].url);
        assert_string_equal(state_name, "active");
        assert_string_equal(role, "master");
        expect_named(i, server, version);
        assert_int_equal(strlen(run_id), FENCE_ID_HEX_LEN);
        assert_string_equal(persistence, "none");
        assert_false(durable);
        assert_in_range(round_trip_us, 1, 1000000);
        assert_true(json_is_null(json_object_get(master, "reason")));
        assert_true(json_is_null(json_object_get(master, "detail")));
        assert_true(json_is_null(json_object_get(master, "last_failure")));
    }
}

static void service_that_is_well_is_alive_and_ready(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    const struct http_response *response = call(port, "GET", "/livez", NULL, NULL);
    EXPECT_JSON(response, 200, 1);
    assert_string_equal(http_string(response, "status"), "alive");
    response = call(port, "GET", "/readyz", NULL, NULL);
    EXPECT_JSON(response, 200, 1);
    assert_string_equal(http_string(response, "status"), "ready");
}

struct shown {
    uint16_t port;
    unsigned i;
    const char *persistence;
    bool durable;
};

static bool is_shown(void *arg)
{
    const struct shown *wanted = arg;
    const struct http_response *response = call(wanted->port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *masters = json_object_get(response->json, "masters");
    const json_t *master = json_array_get(masters, wanted->i);
    const char *persistence = json_string_value(json_object_get(master, "persistence"));
    return persistence && strcmp(persistence, wanted->persistence) == 0 &&
           json_is_true(json_object_get(master, "durable")) == wanted->durable;
}

static void persistence_is_shown(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    fleet_command(0, "CONFIG SET appendonly yes");
    fleet_command(0, "CONFIG SET appendfsync always");
    fleet_command(1, "CONFIG SET appendonly yes");
    struct shown wanted[MASTERS] = {
        {port, 0, "always", true}, {port, 1, "everysec", false}, {port, 2, "none", false}};
    for (unsigned i = 0; i < MASTERS; i++)
        assert_true(wait_until(is_shown, &wanted[i], MASTERS_WAIT_MS)); /* by looks */
    masters_wait_all_active(port, MASTERS);
}

static void fleet_that_was_never_made_is_not_served(void **state)
{
    uint16_t port = fleet_serve_early().port;
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait(port, i, "refused", "blank");
    expect_not_ready(port);
    const struct http_response *response = call_acquire(port, "nobody", NULL);
    EXPECT_PROBLEM(response, 503, "not-ready", 1);
    response = call(port, "GET", "/v1/fleet", NULL, NULL);
    assert_true(json_is_null(json_object_get(response->json, "fleet_id")));
    assert_true(json_is_null(json_object_get(response->json, "ttl_max_ms")));
    assert_false(http_boolean(response, "ready"));

    pawl_init_new(fleet); /* and it comes by itself when the fleet is made */
    masters_wait_all_active(port, MASTERS);
    assert_int_equal(call_grant(port, "first", NULL).token, 1);
}

/* It needs a majority of others, who tell it what it lacks. */
static void blank_master_does_not_vote_before_two_others_are_active(void **state)
{
    pawl_init_new(fleet);
    fleet_command(1, "DEL pawl:fleet");
    redis_fleet_pause(fleet, 2);
    uint16_t port = fleet_serve_early().port;
    masters_wait(port, 1, "refused", "blank");
    expect_not_ready(port);
    assert_int_equal(redis_fleet_integer(fleet, 1, "DBSIZE"), 0);
    redis_fleet_resume(fleet, 2);
    masters_wait_all_active(port, MASTERS);
    assert_int_equal(call_grant(port, "first", NULL).token, 1);
}

static void replica_stays_out(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    freeReplyObject(
        redis_fleet_command(fleet, 2, "REPLICAOF 127.0.0.1 %u", (unsigned)fleet->master[0].port));
    /* As where a failover demoted it: the connection breaks. Now it has the marker of master 1. */
    fleet_command(2, "CLIENT KILL TYPE normal");
    masters_wait(port, 2, "refused", "replica");
    expect_two_votes(port);
}

static void server_given_twice_votes_once(void **state)
{
    pawl_init_new(fleet);
    redis_fleet_readdress(fleet, 2, fleet->master[0].url);
    uint16_t port = fleet_serve_early().port;
    masters_wait(port, 2, "refused", "same-server");
    masters_wait(port, 0, "active", NULL);
    expect_two_votes(port);
}

static void member_of_another_fleet_stays_out(void **state)
{
    pawl_init_new(fleet);
    freeReplyObject(redis_fleet_command(fleet, 1, "HSET pawl:fleet fleet %s",
                                        "0123456789abcdef0123456789abcdef01234567"));
    uint16_t port = fleet_serve_early().port;
    masters_wait(port, 1, "refused", "other-fleet");
    expect_two_votes(port);
}

static void swap_first_two(void)
{
    char *first = strdup(fleet->master[0].url);
    redis_fleet_readdress(fleet, 0, fleet->master[1].url);
    redis_fleet_readdress(fleet, 1, first);
    free(first);
}

static void masters_in_another_order_stay_out(void **state)
{
    pawl_init_new(fleet);
    swap_first_two();
    uint16_t port = fleet_serve_early().port;
    wait_ms(200); /* whatever it comes to, no caller may be granted anything */
    expect_not_ready(port);
    assert_in_range(masters_active(port), 0, 1);
}

static void member_in_anothers_place_stays_out(void **state)
{
    pawl_init_new(fleet);
    swap_first_two();
    uint16_t port = fleet_serve_early().port;
    masters_wait(port, 0, "refused", "other-member");
    masters_wait(port, 1, "refused", "other-member");
    for (unsigned i = 2; i < 5; i++)
        masters_wait(port, i, "active", NULL);
    expect_masters(call_acquire(port, "three", NULL), 3, 5);
}

/* Of A B C D E it is told A B C E D. E is blank, and D, which is member 4, is well. */
static void a_blank_master_is_not_made_the_member_that_a_wrong_list_says(void **state)
{
    pawl_init_new(fleet);
    freeReplyObject(redis_fleet_command(fleet, 4, "FLUSHALL"));
    char *last = strdup(fleet->master[4].url);
    redis_fleet_readdress(fleet, 4, fleet->master[3].url);
    redis_fleet_readdress(fleet, 3, last);
    const struct pawl_service service = fleet_serve_early();
    pawl_wait_ready(service);
    masters_wait(service.port, 4, "refused", "other-member");
    masters_wait(service.port, 3, "refused", "list-order");
    wait_ms(1000);
    assert_int_equal(redis_fleet_integer(fleet, 4, "EXISTS pawl:fleet"), 0);
    char order[128];
    snprintf(order, sizeof(order), "another order than the fleet: use .*%u, [^,]*%u$",
             (unsigned)fleet->master[3].port, (unsigned)fleet->master[4].port);
    assert_true(process_wrote(service.process, order));
    free(last);
}

static bool is_synced(void *arg)
{
    redisReply *info = redis_fleet_command(fleet, 0, "INFO replication");
    const bool synced = strstr(info->str, "master_link_status:up") != NULL;
    freeReplyObject(info);
    return synced;
}

/* The list is right: the place that the copy claims has its own master. */
static void copy_of_another_member_keeps_nobody_else_out(void **state)
{
    pawl_init_new(fleet);
    const struct pawl_service service = fleet_serve_early();
    masters_wait_all_active(service.port, MASTERS);
    char replicaof[64];
    (void)snprintf(replicaof, sizeof(replicaof), "REPLICAOF 127.0.0.1 %u",
                   (unsigned)fleet->master[1].port);
    fleet_command(1, "CONFIG SET repl-diskless-sync-delay 0");
    fleet_command(0, replicaof);
    assert_true(wait_until(is_synced, NULL, 10000));
    fleet_command(0, "REPLICAOF NO ONE");
    masters_wait(service.port, 0, "refused", "other-member");
    fleet_command(3, "FLUSHALL");
    masters_wait_marked(3, MASTERS_WAIT_MS);
    masters_wait(service.port, 3, "active", NULL);
    call_grant(service.port, "three", NULL);
    fleet_command(0, "FLUSHALL");
    masters_wait_all_active(service.port, MASTERS);
}

/* The longest lease is five minutes here, and no call waits for it. */

static void master_that_restarted_does_not_vote_without_two_others(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    masters_wait_all_active(port, MASTERS);
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    redis_fleet_restart(fleet, 0, true);
    masters_wait(port, 0, "refused", "forgot"); /* its disk may lack the last second */
    EXPECT_PROBLEM(call_acquire(port, "one", NULL), 503, "no-quorum", 2);
}

/* One other master is left that has the lock: too few to name its holder, or to keep it where
 * somebody else asks at the same time. But no caller gets it. */
static void flushed_master_of_a_bare_majority_grants_nothing_twice(void **state)
{
    pawl_init_new(fleet);
    uint16_t port = fleet_serve().port;
    masters_wait_all_active(port, MASTERS);
    struct grant held = call_grant(port, "flushed", NULL);
    unsigned flushed = copies_master("flushed", 0);
    fleet_command(flushed, "FLUSHALL");
    for (int i = 0; i < 20; i++)
        assert_int_not_equal(call_acquire_once(port, "flushed", NULL)->status, 201);
    masters_wait_marked(flushed, MASTERS_WAIT_MS);
    masters_wait_all_active(port, MASTERS);
    assert_int_not_equal(call_acquire(port, "flushed", NULL)->status, 201);
    call_keep(port, "flushed", &held, NULL);
    EXPECT_PROBLEM(call_acquire(port, "flushed", NULL), 409, "held", 3);
    call_expect_held(port, "flushed", &held);
    call_give_back(port, "flushed", &held);
    assert_true(call_grant(port, "flushed", NULL).token > held.token);
}

#define THREE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    THREE(fleet_that_is_well_is_shown),
    THREE(service_that_is_well_is_alive_and_ready),
    THREE(persistence_is_shown),
    THREE(fleet_that_was_never_made_is_not_served),
    THREE(blank_master_does_not_vote_before_two_others_are_active),
    THREE(replica_stays_out),
    THREE(server_given_twice_votes_once),
    THREE(member_of_another_fleet_stays_out),
    THREE(masters_in_another_order_stay_out),
    FLEET_CASE(member_in_anothers_place_stays_out, 5, REDIS_VOLATILE),
    FLEET_CASE(a_blank_master_is_not_made_the_member_that_a_wrong_list_says, 5, REDIS_VOLATILE),
    FLEET_CASE(copy_of_another_member_keeps_nobody_else_out, 5, REDIS_VOLATILE),
    FLEET_CASE(master_that_restarted_does_not_vote_without_two_others, MASTERS, REDIS_EVERYSEC),
    THREE(flushed_master_of_a_bare_majority_grants_nothing_twice),
};

CASE_MAIN(cases, NULL, NULL)
