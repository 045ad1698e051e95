/* Wall clocks of masters leap by a year, forward and back, any number of them, while 200 clients
 * hammer five locks. If all masters have the module, no caller holds a lock beside another, though
 * one of two services asks by scripts. Without the module somebody does, or this test would show
 * nothing.
 *
 * PAWL_LEAPS_SECONDS says how long (4). */
#include "tests/lib/case.h"
#include "tests/lib/redis_clock.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/hammer.h"
#include "tests/system/history.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MASTERS = 5,
    ALL = 0x1f,
    SECONDS = 4,
    APART_MS = 150, /* between two leaps, at most */
    LEAPS_BETWEEN_KILLS = 8,
    SLEEPERS_PERCENT = 10,
    GRANTS = 50,
};

static const int64_t year_ms = INT64_C(365) * 86400 * 1000;

static struct redis_clock clocks[MASTERS];
static struct hammer_config config;

static int start_with(uint32_t modules)
{
    char db[256];
    fleet = redis_fleet_new_mixed(MASTERS, REDIS_ALWAYS, modules);
    for (unsigned i = 0; i < MASTERS; i++)
        redis_clock_restart(&clocks[i], fleet, i, false);
    snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    const struct pawl_service first = pawld_start_new(fleet);
    const struct pawl_service second =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, "--no-module", NULL});
    config = (struct hammer_config){
        .pawld = {first.port, second.port},
        .ledger = pawl_ledger_start(db, NULL).port,
        .sleepers_percent = SLEEPERS_PERCENT,
    };
    return 0;
}

static int start_modules(void **state)
{
    (void)state;
    return start_with(ALL);
}

static int start_scripts(void **state)
{
    (void)state;
    return start_with(0);
}

static int end(void **state)
{
    for (unsigned i = 0; i < MASTERS; i++)
        redis_clock_fini(&clocks[i]);
    return fleet_teardown(state);
}

/* A set of masters leaps to one of three years. */
static void leap(unsigned *seed)
{
    const unsigned some = 1 + (unsigned)rand_r(seed) % ALL;
    const int64_t offset_ms = ((int64_t)(rand_r(seed) % 3) - 1) * year_ms;
    for (unsigned i = 0; i < MASTERS; i++)
        if (some >> i & 1)
            redis_clock_set(&clocks[i], offset_ms);
}

/* Its monotonic clock is another one then, and its locks come from a file. */
static void kill_one(unsigned *seed)
{
    const unsigned victim = (unsigned)rand_r(seed) % MASTERS;
    redis_clock_restart(&clocks[victim], fleet, victim, true);
    for (unsigned i = 0; i < 2; i++)
        masters_wait_all_active(config.pawld[i], MASTERS);
}

/* Returns how many grants overlapped. */
static unsigned leap_under_load(bool kills)
{
    const char *seconds = getenv("PAWL_LEAPS_SECONDS");
    const uint64_t lasts_s = seconds ? strtoull(seconds, NULL, 10) : SECONDS;
    const uint64_t end_ms = wait_now_ms() + lasts_s * 1000;
    unsigned seed = 1, leaps = 0;
    struct hammer_result result;
    struct hammer *hammer = hammer_start(&config);
    while (wait_now_ms() < end_ms) {
        leap(&seed);
        if (++leaps % LEAPS_BETWEEN_KILLS == 0 && kills)
            kill_one(&seed);
        wait_ms((unsigned)rand_r(&seed) % APART_MS);
    }
    hammer_stop(hammer, &result);
    const unsigned overlaps = history_overlaps(&result);
    print_message("%u leaps: %zu grants, %u overlap\n", leaps, result.count, overlaps);
    history_expect_distinct_tokens(&result);
    history_expect_tokens_in_order(&result);
    assert_int_equal(history_lost_updates(config.ledger, &result), 0);
    assert_in_range(result.count, GRANTS, SIZE_MAX);
    hammer_result_fini(&result);
    return overlaps;
}

static void no_lease_ends_early_with_the_module(void **state)
{
    (void)state;
    assert_int_equal(leap_under_load(true), 0);
}

static void leases_end_early_with_scripts(void **state)
{
    (void)state;
    assert_true(leap_under_load(false) > 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(no_lease_ends_early_with_the_module, start_modules, end),
    cmocka_unit_test_setup_teardown(leases_end_early_with_scripts, start_scripts, end),
};

CASE_MAIN(cases, NULL, NULL)
