/* The procedures of server/OPERATORS.md, as they stand there. Those that are not here are in
 * test_init.c and test_rejoin.c. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
};

#define TTL_MAX "1000" /* ms: how long a master that forgot is out */
#define TTL     "{\"ttl_ms\":1000}"

static struct redis_fleet *fleet;

static int start(void **state)
{
    (void)state;
    fleet = redis_fleet_new(MASTERS, REDIS_ALWAYS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    redis_fleet_free(fleet);
    process_kill_all();
    return 0;
}

static void init(void)
{
    const char *const options[] = {"--new", "--max-ttl-ms", TTL_MAX, NULL};
    assert_int_equal(pawl_init(fleet, options), 0);
}

static struct pawl_service serve(void)
{
    struct pawl_service service = pawld_start(fleet, NULL);
    pawl_wait_ready(service);
    return service;
}

static struct pawl_service init_and_serve(void)
{
    init();
    struct pawl_service service = serve();
    masters_wait_all_active(service.port, MASTERS);
    return service;
}

static void redis(unsigned i, const char *command)
{
    freeReplyObject(redis_fleet_command(fleet, i, command));
}

/* Locks the one name and gives it back; its tokens must rise, whoever grants them. */
static void work(uint16_t port, int64_t *token)
{
    struct grant grant = call_grant(port, "orders/1", TTL);
    assert_true(grant.token > *token);
    *token = grant.token;
    call_give_back(port, "orders/1", &grant);
}

static void master_is_moved_to_another_address(void **state)
{
    (void)state;
    int64_t token = 0;
    struct pawl_service services[] = {init_and_serve(), serve()};
    work(services[0].port, &token);
    work(services[1].port, &token);

    redis_fleet_kill(fleet, 0);
    struct redis_fleet *elsewhere = redis_fleet_new(1, REDIS_ALWAYS);
    redis_fleet_readdress(fleet, 0, elsewhere->master[0].url);
    for (int i = 0; i < 2; i++) {
        process_stop(services[i].process);
        services[i] = serve();
        masters_wait_all_active(services[i].port, MASTERS);
        work(services[0].port,
             &token); /* the one after the other, while both addresses are known */
        work(services[1].port, &token);
    }
    redis_fleet_kill(fleet, 1); /* the moved one is needed now */
    work(services[0].port, &token);
    work(services[1].port, &token);
    redis_fleet_free(elsewhere);
}

static void master_is_made_durable(void **state)
{
    (void)state;
    redis(0, "CONFIG SET appendonly no");
    uint16_t port = init_and_serve().port;
    int64_t token = 0;
    work(port, &token);

    redis(0, "CONFIG SET appendonly yes");
    redis(0, "CONFIG SET appendfsync always");
    redis(0, "FLUSHALL");
    work(port, &token);
    masters_wait(port, 0, "rejoining", "blank");
    masters_wait(port, 0, "active", NULL);

    const uint64_t began_ms = wait_now_ms();
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    masters_wait(port, 0, "active", NULL);
    assert_true(wait_now_ms() - began_ms < 1000); /* it is believed now */
    work(port, &token);
}

static void everything_is_stopped_and_started_again(void **state)
{
    (void)state;
    struct pawl_service service = init_and_serve();
    int64_t token = 0;
    work(service.port, &token);
    struct grant held = call_grant(service.port, "held", "{\"ttl_ms\":1000}");
    assert_true(held.token > 0);
    assert_int_equal(process_stop(service.process), 0);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_kill(fleet, i);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_fleet_restart(fleet, i, true);
    service = serve();
    masters_wait_all_active(service.port, MASTERS);
    work(service.port, &token);
}

static void fleet_is_retired_and_another_made(void **state)
{
    (void)state;
    struct pawl_service service = init_and_serve();
    int64_t token = 0;
    work(service.port, &token);
    assert_int_equal(process_stop(service.process), 0);
    for (unsigned i = 0; i < MASTERS; i++)
        redis(i, "DEL pawl:fleet");
    service = init_and_serve();
    token = 0;
    work(service.port, &token);
    assert_int_equal(token, 1);
}

static void marker_that_was_changed_by_hand_is_wiped(void **state)
{
    (void)state;
    init();
    redis(1, "HSET pawl:fleet max_ttl_ms 999");
    uint16_t port = serve().port;
    masters_wait(port, 1, "refused", "other-ttl");
    redis(1, "FLUSHALL");
    masters_wait(port, 1, "active", NULL);
}

#define OPERATORS_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    OPERATORS_CASE(master_is_moved_to_another_address),
    OPERATORS_CASE(master_is_made_durable),
    OPERATORS_CASE(everything_is_stopped_and_started_again),
    OPERATORS_CASE(fleet_is_retired_and_another_made),
    OPERATORS_CASE(marker_that_was_changed_by_hand_is_wiped),
};

CASE_MAIN(cases, NULL, NULL)
