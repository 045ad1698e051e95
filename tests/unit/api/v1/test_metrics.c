#include "api/v1/metrics.h"
#include "tests/lib/case.h"

#include <string.h>

static char buffer[API_METRICS_TEXT_MAX];
static struct fence_fleet fleet;
static struct fence_audit audited;

static void fill_masters(void *context,
                         struct api_master_status ret_masters[static FENCE_MASTERS_MAX])
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        ret_masters[i] = (struct api_master_status){.round_trip_us = i + 1};
}

static struct api_route items[API_CALLS_MAX];
static const struct api_routes routes = {items, API_CALLS_MAX, NULL};
static const struct api_backend backend = {
    .masters = fill_masters,
    .fleet = &fleet,
    .audit = &audited,
    .routes = &routes,
    .routes_count = 1,
};

static int setup(void **state)
{
    fence_fleet_init(&fleet, FENCE_MASTERS_MAX);
    for (unsigned i = 0; i < API_CALLS_MAX; i++)
        items[i].call = "acquire_several_or_longer";
    return 0;
}

static void write_all(uint64_t each)
{
    static union api_worker_counters sum;
    struct api_metrics_text text;
    for (size_t i = 0; i < sizeof(sum.each) / sizeof(sum.each[0]); i++)
        api_counter_set(&sum.each[i], each);
    api_metrics_begin(&text, buffer, sizeof(buffer));
    api_metrics_write(&backend, &sum, &text);
    assert_false(text.full);
    assert_int_equal(text.len, strlen(buffer));
}

/* Every problem of every call, and as many masters and calls as there can be. */
static void text_fits_whatever_was_counted(void **state)
{
    for (unsigned i = 0; i < fleet.n; i++)
        fleet.master[i].reason = FENCE_REASON_SAME_SERVER;
    write_all(UINT64_C(1) << 58);
    assert_true(strlen(buffer) < API_METRICS_TEXT_MAX * 3 / 4); /* the process comes behind it */
}

static bool has_line(const char *line)
{
    const char *found = strstr(buffer, line);
    return found != NULL && found[-1] == '\n';
}

static void master_is_in_one_state(void **state)
{
    fence_fleet_init(&fleet, 3);
    fleet.master[1].reason = FENCE_REASON_SILENT;
    write_all(0);
    assert_true(has_line("pawl_master_state{member=\"2\",state=\"down\"} 1\n"));
    assert_true(has_line("pawl_master_state{member=\"2\",state=\"active\"} 0\n"));
    assert_true(has_line("pawl_master_reason{member=\"2\",reason=\"silent\"} 1\n"));
    assert_true(has_line("pawl_master_round_trip_seconds{member=\"3\"} 0.000003\n"));
    assert_true(has_line("pawl_masters_majority 2\n"));
    assert_true(has_line("pawl_ready 0\n"));
    assert_null(strstr(buffer, "member=\"4\""));
}

static void counters_of_importance_are_there_before_they_count(void **state)
{
    write_all(0);
    assert_true(has_line("pawl_locks_lost_total 0\n"));
    assert_true(has_line("pawl_extensions_exhausted_total 0\n"));
    assert_true(has_line("pawl_grants_total{path=\"confirmed\"} 0\n"));
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(text_fits_whatever_was_counted),
    CASE(master_is_in_one_state),
    CASE(counters_of_importance_are_there_before_they_count),
};

CASE_MAIN(cases, NULL, NULL)
