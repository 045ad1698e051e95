/* A fleet of which some masters have the module: locks are the same on all of them, and a master
 * may come to have the module, and to lack it, at any restart. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 5,
    TTL_MAX_MS = 60000,
    SOME = 0x15,   /* the set of masters 0, 2 and 4, */
    OTHERS = 0x0a, /* and of the others */
    ROUNDS = 20,
};

static int start_mixed(void **state)
{
    fleet = redis_fleet_new_mixed(MASTERS, REDIS_ALWAYS, SOME);
    fleet_init(TTL_MAX_MS);
    return 0;
}

/* The set of masters that have the module, as the service says; connected ones say yes or no. */
static uint32_t modules_at(uint16_t port)
{
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *masters = json_object_get(response->json, "masters");
    uint32_t set = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        const json_t *module = json_object_get(json_array_get(masters, i), "module");
        assert_true(json_is_boolean(module));
        set |= (uint32_t)json_is_true(module) << i;
    }
    return set;
}

/* Each token is above the last, of whichever masters it is. */
static void lock_some(uint16_t port, int64_t *highest)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct grant grant = call_grant(port, "shared", "{\"ttl_ms\": 30000}");
        assert_true(grant.token > *highest);
        *highest = grant.token;
        call_keep(port, "shared", &grant, "{\"ttl_ms\": 30000}");
        *highest = grant.token > *highest ? grant.token : *highest;
        call_expect_held(port, "shared", &grant);
        call_give_back(port, "shared", &grant);
        assert_true(call_value(call_count(port, "numbers", NULL)) > 0);
    }
}

static void fleet_of_both_kinds_locks_and_says_who_is_which(void **state)
{
    int64_t highest = 0;
    const struct pawl_service service = fleet_serve_all();
    assert_int_equal(modules_at(service.port), SOME);
    lock_some(service.port, &highest);
}

static void module_is_not_used_where_it_is_refused(void **state)
{
    int64_t highest = 0;
    const struct pawl_service service =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, FLEET_ASK_ALL, "--no-module", NULL});
    masters_wait_all_active(service.port, MASTERS);
    assert_int_equal(modules_at(service.port), 0);
    lock_some(service.port, &highest);
    redisReply *info = redis_fleet_command(fleet, 0, "INFO commandstats");
    const char *calls = strstr(info->str, "cmdstat_PAWL.BATCH:calls=");
    const unsigned long asked = calls ? strtoul(strchr(calls, '=') + 1, NULL, 10) : 0;
    freeReplyObject(info);
    assert_in_range(asked, 0, 2); /* the handshakes of pawld init */
}

/* Two services, one of which refuses the module, share each lock. */
static void services_with_and_without_the_module_share_locks(void **state)
{
    const struct pawl_service with = fleet_serve_all();
    const struct pawl_service without =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, FLEET_ASK_ALL, "--no-module", NULL});
    masters_wait_all_active(without.port, MASTERS);
    int64_t highest = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint16_t takes = i % 2 ? with.port : without.port;
        const uint16_t keeps = i % 4 < 2 ? with.port : without.port;
        struct grant grant = call_grant(takes, "shared", "{\"ttl_ms\": 30000}");
        assert_true(grant.token > highest);
        EXPECT_PROBLEM(call_acquire(keeps, "shared", NULL), 409, "held", 3);
        call_keep(keeps, "shared", &grant, "{\"ttl_ms\": 30000}");
        highest = grant.token;
        call_give_back(i % 3 ? with.port : without.port, "shared", &grant);
    }
}

/* Each master in turn is killed, and starts with what it lacked, or without what it had. */
static void masters_change_over_one_after_the_other(void **state)
{
    int64_t highest = 0;
    const struct pawl_service service = fleet_serve_all();
    struct grant held = call_grant(service.port, "held", "{\"ttl_ms\": 60000}");
    for (unsigned i = 0; i < MASTERS; i++) {
        redis_fleet_kill(fleet, i);
        fleet->modules ^= UINT32_C(1) << i;
        redis_fleet_restart(fleet, i, true);
        masters_wait_within(service.port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
        lock_some(service.port, &highest);
    }
    masters_wait_all_active(service.port, MASTERS);
    assert_int_equal(modules_at(service.port), OTHERS);
    call_keep(service.port, "held", &held, "{\"ttl_ms\": 60000}");
    EXPECT_PROBLEM(call_acquire(service.port, "held", NULL), 409, "held", 3);
}

static const struct CMUnitTest cases[] = {
#define MIXED(name) cmocka_unit_test_setup_teardown(name, start_mixed, fleet_teardown)
    MIXED(fleet_of_both_kinds_locks_and_says_who_is_which),
    MIXED(module_is_not_used_where_it_is_refused),
    MIXED(services_with_and_without_the_module_share_locks),
    MIXED(masters_change_over_one_after_the_other),
};

CASE_MAIN(cases, NULL, NULL)
