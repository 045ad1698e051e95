/* 200 clients hammer five locks through two servers, while masters are killed and restarted: every
 * token is in order, no caller holds a lock beside another, and the guarded ledger loses no update.
 * Without the guard it does, or this test would show nothing. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/hammer.h"
#include "tests/system/history.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MASTERS = 5,
    DURATION_MS = 20000,
    SHORT_MS = 6000, /* if PAWL_TEST_SHORT is set */
    CONTROL_MS = 3000,
    DOWN_MS = 300, /* how long killed masters stay down, at most */
    UP_MS = 400,   /* how long all is well between two kills, at most */
};

static struct hammer_config config;

static int start_with(const char *const ledger_options[], unsigned sleepers_percent)
{
    char db[256];
    fleet_start(MASTERS, REDIS_ALWAYS);
    snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    struct pawl_service first = pawld_start_new(fleet);
    struct pawl_service second = fleet_serve();
    config = (struct hammer_config){
        .pawld = {first.port, second.port},
        .ledger = pawl_ledger_start(db, ledger_options).port,
        .sleepers_percent = sleepers_percent,
    };
    return 0;
}

static int start(void **state)
{
    return start_with(NULL, 2);
}

static int start_unguarded(void **state)
{
    return start_with((const char *const[]){"--unguarded", NULL}, 10);
}

/* Kills one master or two, lets them be down for a while, and takes them back. Returns how many. */
static unsigned kill_some(unsigned *seed)
{
    const unsigned victim = (unsigned)rand_r(seed) % MASTERS;
    const unsigned other = (victim + 1 + (unsigned)rand_r(seed) % (MASTERS - 1)) % MASTERS;
    const bool two = rand_r(seed) % 2 == 0;
    redis_fleet_kill(fleet, victim);
    if (two)
        redis_fleet_kill(fleet, other);
    wait_ms((unsigned)rand_r(seed) % DOWN_MS);
    redis_fleet_restart(fleet, victim, true);
    if (two)
        redis_fleet_restart(fleet, other, true);
    for (unsigned i = 0; i < 2; i++)
        masters_wait_all_active(config.pawld[i], MASTERS);
    wait_ms((unsigned)rand_r(seed) % UP_MS);
    return two ? 2 : 1;
}

static void print_figures(const struct hammer_result *result, unsigned kills)
{
    unsigned written = 0;
    for (unsigned name = 0; name < HAMMER_NAMES; name++)
        written += result->written[name];
    print_message("%u clients, %u names: %zu grants, %u writes, %u stale refusals, %u acquires "
                  "not granted, %u without a majority, %u masters killed\n",
                  HAMMER_CLIENTS, HAMMER_NAMES, result->count, written, result->stale,
                  result->refused, result->unavailable, kills);
}

static void tokens_stay_in_order_and_no_update_is_lost_while_masters_die(void **state)
{
    const uint64_t end_ms = wait_now_ms() + (getenv("PAWL_TEST_SHORT") ? SHORT_MS : DURATION_MS);
    unsigned seed = 1, kills = 0;
    struct hammer *hammer = hammer_start(&config);
    while (wait_now_ms() < end_ms)
        kills += kill_some(&seed);
    struct hammer_result result;
    hammer_stop(hammer, &result);
    print_figures(&result, kills);

    history_expect_distinct_tokens(&result);
    history_expect_tokens_in_order(&result);
    history_expect_one_holder(&result);
    assert_int_equal(history_lost_updates(config.ledger, &result), 0);
    /* It was worth the while: locks changed hands, and some came too late. */
    assert_in_range(result.count, 100, SIZE_MAX);
    assert_in_range(result.stale, 1, UINT32_MAX);
    assert_in_range(kills, 2, UINT32_MAX);
    hammer_result_fini(&result);
}

static void updates_are_lost_without_the_guard(void **state)
{
    struct hammer *hammer = hammer_start(&config);
    wait_ms(CONTROL_MS);
    struct hammer_result result;
    hammer_stop(hammer, &result);
    print_figures(&result, 0);
    print_message("%lld updates lost\n", (long long)history_lost_updates(config.ledger, &result));
    history_expect_tokens_in_order(&result);
    assert_int_equal(result.stale, 0);
    assert_true(history_lost_updates(config.ledger, &result) > 0);
    hammer_result_fini(&result);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(tokens_stay_in_order_and_no_update_is_lost_while_masters_die,
                                    start, fleet_teardown),
    cmocka_unit_test_setup_teardown(updates_are_lost_without_the_guard, start_unguarded,
                                    fleet_teardown),
};

CASE_MAIN(cases, NULL, NULL)
