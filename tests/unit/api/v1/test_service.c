#include "api/mhd/server.h"
#include "api/v1/metrics.h"
#include "api/v1/service.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <string.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    WORKERS = 2,
};

/* A backend of three masters and two workers. */
static struct fence_fleet fleet;
static struct fence_audit audit;
static union api_worker_counters counted[WORKERS];
static const union api_worker_counters *const counters[WORKERS] = {&counted[0], &counted[1]};
static struct api_master_status known[MASTERS];

static void fill_masters(void *context,
                         struct api_master_status ret_masters[static FENCE_MASTERS_MAX])
{
    for (unsigned i = 0; i < MASTERS; i++)
        ret_masters[i] = known[i];
}

static struct api_backend backend = {
    .masters = fill_masters,
    .fleet = &fleet,
    .audit = &audit,
    .counters = counters,
    .workers = WORKERS,
};
static struct api_routes routes;

static int setup(void **state)
{
    fence_fleet_init(&fleet, MASTERS);
    fence_audit_init(&audit, MASTERS);
    memset(counted, 0, sizeof(counted));
    for (unsigned i = 0; i < MASTERS; i++)
        known[i] = (struct api_master_status){.address = "here", .last_failure = ""};
    routes = api_service_routes(&backend);
    loop_begin(loop_serve(&routes, 0));
    return 0;
}

static void show_fleet(void)
{
    loop_send(loop.http, loop.fd, "GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(loop_receive(loop.http, loop.fd, loop.response), 200);
}

static void numbers_are_sums_over_all_workers(void **state)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        struct api_worker_metrics *of = &counted[i].of;
        api_counter_set(&of->connections, 10 + i);
        api_counter_set(&of->calls_now, 20 + i);
        api_counter_set(&of->waiting, 30 + i);
        api_counter_set(&of->hedges, 40 + i);
        api_counter_set(&of->grants[API_GRANT_FAST], 50);
        api_counter_set(&of->grants[API_GRANT_FOUND], 1);
    }
    show_fleet();
    assert_said("\"workers\":2,\"connections\":21,\"calls\":41,\"waiting\":61,\"grants\":102,"
                "\"hedges\":81");
}

static void status_of_a_master_is_its_own(void **state)
{
    known[1] = (struct api_master_status){
        .address = "10.0.0.2:6379",
        .last_failure = "Connection refused",
        .round_trip_us = 321,
        .returns = true,
        .returns_in_us = 1001,
    };
    show_fleet();
    assert_said("\"member\":2,\"address\":\"10.0.0.2:6379\"");
    assert_said("\"back_in_ms\":2,\"last_failure\":\"Connection refused\"");
    assert_said("\"round_trip_us\":321");
}

static void nothing_known_of_a_master_is_null(void **state)
{
    show_fleet();
    assert_said("\"back_in_ms\":null,\"last_failure\":null");
    assert_said("\"round_trip_us\":null");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(numbers_are_sums_over_all_workers),
    CASE(status_of_a_master_is_its_own),
    CASE(nothing_known_of_a_master_is_null),
};

CASE_MAIN(cases, NULL, NULL)
