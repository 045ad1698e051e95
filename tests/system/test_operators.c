/* The procedures of server/UPGRADE.md, as they stand there. Those that are not here are in
 * test_init.c, test_rejoin.c, test_move_fleet.c and test_pages. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <string.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000, /* nothing here waits for it */
};

#define TTL "{\"ttl_ms\":1000}"

/* Locks the one name and gives it back; its tokens must rise, at any server. */
static void work(uint16_t port, int64_t *token)
{
    struct grant grant = call_grant(port, "orders/1", TTL);
    assert_true(grant.token > *token);
    *token = grant.token;
    call_give_back(port, "orders/1", &grant);
}

/* Restarts the one and then the other, as they are to be started now. A lock that is held all the
 * time keeps its token, after any extension, and the name that others work on goes on. */
static void restart_in_turn(struct pawl_service services[static 2])
{
    int64_t token = 0;
    struct grant held = call_grant(services[0].port, "held", "{\"ttl_ms\":30000}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(process_stop(services[i].process), 0);
        work(services[1 - i].port, &token);
        const struct http_response *response =
            call_extend(services[1 - i].port, "held", &held, NULL);
        assert_int_equal(response->status, 200);
        services[i] = fleet_serve();
        masters_wait_all_active(services[i].port, MASTERS);
        work(services[0].port, &token);
        work(services[1].port, &token);
    }
    call_expect_held(services[0].port, "held", &held);
    call_give_back(services[1].port, "held", &held);
}

static void services_are_restarted_in_turn(void **state)
{
    restart_in_turn((struct pawl_service[]){fleet_init_and_serve(TTL_MAX_MS), fleet_serve()});
}

static void expect_address(uint16_t port, unsigned i)
{
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *master = json_array_get(json_object_get(response->json, "masters"), i);
    assert_string_equal(json_string_value(json_object_get(master, "address")),
                        fleet->master[i].url);
}

static void masters_are_reached_in_another_way(void **state)
{
    struct pawl_service services[] = {fleet_init_and_serve(TTL_MAX_MS), fleet_serve()};
    for (unsigned i = 0; i < MASTERS; i++) {
        char url[256];
        snprintf(url, sizeof(url), "unix://%s", fleet->master[i].socket);
        redis_fleet_readdress(fleet, i, url);
    }
    restart_in_turn(services);
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "CONFIG SET port 0");
    int64_t token = 0;
    for (int i = 0; i < 2; i++) {
        expect_address(services[i].port, 0);
        work(services[i].port, &token);
    }
}

static void master_is_moved_to_another_address(void **state)
{
    int64_t token = 0;
    struct pawl_service services[] = {fleet_init_and_serve(TTL_MAX_MS), fleet_serve()};
    work(services[0].port, &token);
    work(services[1].port, &token);

    redis_fleet_kill(fleet, 0);
    struct redis_fleet *elsewhere = redis_fleet_new(1, REDIS_ALWAYS);
    redis_fleet_readdress(fleet, 0, elsewhere->master[0].url);
    for (int i = 0; i < 2; i++) {
        process_stop(services[i].process);
        services[i] = fleet_serve();
        masters_wait_all_active(services[i].port, MASTERS);
        /* The one after the other, while both addresses are known. */
        work(services[0].port, &token);
        work(services[1].port, &token);
    }
    redis_fleet_kill(fleet, 1); /* the moved one is needed now */
    work(services[0].port, &token);
    work(services[1].port, &token);
    redis_fleet_free(elsewhere);
}

static bool is_shown_durable(void *arg)
{
    const uint16_t *port = arg;
    const struct http_response *response = call(*port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *master = json_array_get(json_object_get(response->json, "masters"), 0);
    return json_is_true(json_object_get(master, "durable"));
}

static bool is_marked_durable(void *unused)
{
    redisReply *reply = redis_fleet_command(fleet, 0, "HMGET pawl:fleet durable state");
    bool durable = reply->element[0]->str && strcmp(reply->element[0]->str, "yes") == 0 &&
                   strcmp(reply->element[1]->str, "active") == 0;
    freeReplyObject(reply);
    return durable;
}

static void master_is_made_durable(void **state)
{
    fleet_command(0, "CONFIG SET appendonly no");
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    int64_t token = 0;
    work(port, &token);

    fleet_command(0, "CONFIG SET appendonly yes");
    fleet_command(0, "CONFIG SET appendfsync always");
    assert_true(wait_until(is_shown_durable, &port, MASTERS_WAIT_MS)); /* the file is complete */
    fleet_command(0, "FLUSHALL");
    work(port, &token);
    assert_true(wait_until(is_marked_durable, NULL, MASTERS_WAIT_MS));
    masters_wait(port, 0, "active", NULL);

    const uint64_t began_ms = wait_now_ms();
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    masters_wait(port, 0, "active", NULL);
    assert_true(wait_now_ms() - began_ms < 2000);
    work(port, &token);
}

static void everything_is_stopped_and_started_again(void **state)
{
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    int64_t token = 0;
    work(service.port, &token);
    struct grant held = call_grant(service.port, "held", TTL);
    assert_true(held.token > 0);
    assert_int_equal(process_stop(service.process), 0);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_kill(fleet, i);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_restart(fleet, i, true);
    service = fleet_serve();
    masters_wait_all_active(service.port, MASTERS);
    work(service.port, &token);
}

static void fleet_is_retired_and_another_made(void **state)
{
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    int64_t token = 0;
    work(service.port, &token);
    assert_int_equal(process_stop(service.process), 0);
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "DEL pawl:fleet");
    service = fleet_init_and_serve(TTL_MAX_MS);
    token = 0;
    work(service.port, &token);
    assert_int_equal(token, 1);
}

#define OPERATORS_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    OPERATORS_CASE(services_are_restarted_in_turn),
    OPERATORS_CASE(masters_are_reached_in_another_way),
    OPERATORS_CASE(master_is_moved_to_another_address),
    OPERATORS_CASE(master_is_made_durable),
    OPERATORS_CASE(everything_is_stopped_and_started_again),
    OPERATORS_CASE(fleet_is_retired_and_another_made),
};

CASE_MAIN(cases, NULL, NULL)
