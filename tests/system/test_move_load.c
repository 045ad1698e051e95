/* A fleet that is a file goes on with three masters, and then with five, while 200 clients hammer
 * five locks: all tokens stay in order, and no caller holds a lock beside another. */
#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/hammer.h"
#include "tests/system/history.h"
#include "tests/system/moving.h"

#include <stdio.h>

enum {
    WHILE_MS = 1500, /* that all is well */
};

/* The clients are at a new service before the old one ends: that has no masters yet, or masters
 * that are not a fleet yet. */
static struct pawl_service go_to(struct hammer *hammer, struct pawl_service from,
                                 const struct moving_masters *masters)
{
    const struct pawl_service to = moving_serve_early(masters);
    hammer_go_to(hammer, to.port);
    hammer_wait_there(hammer);
    assert_int_equal(process_stop(from.process), 0);
    return to;
}

static uint64_t expect_grants_again(struct pawl_service service)
{
    pawl_wait_ready(service);
    wait_ms(WHILE_MS);
    return clock_us();
}

static void tokens_rise_from_a_file_to_three_masters_to_five(void **state)
{
    char *dir = tempdir_new();
    char folder[256], db[256];
    snprintf(folder, sizeof(folder), "%s/data", dir);
    snprintf(db, sizeof(db), "%s/ledger.db", dir);
    struct pawl_service service =
        pawld_start_at(folder, (const char *const[]){"--max-ttl-ms", "1000", NULL});
    pawl_wait_ready(service);
    const uint16_t ledger = pawl_ledger_start(db, NULL).port;
    struct hammer *hammer = hammer_start(&(struct hammer_config){
        .pawld = {service.port, service.port}, .ledger = ledger, .sleepers_percent = 2});
    wait_ms(WHILE_MS);

    const struct moving_masters three = {.n = 3}, five = {.n = 5};
    uint64_t began_us[3] = {clock_us()};
    service = go_to(hammer, service, &three);
    assert_int_equal(moving_run_from_file(folder, &three), 0);
    began_us[1] = expect_grants_again(service);
    const struct pawl_service last = moving_serve_early(&five);
    hammer_go_to(hammer, last.port);
    assert_int_equal(moving_run(&three, &five, NULL), 0);
    began_us[2] = expect_grants_again(last);

    struct hammer_result result;
    hammer_stop(hammer, &result);
    print_message(
        "%u clients: %zu grants, %u stale refusals; ms without a grant: %llu from a file to "
        "three masters, %llu from three to five\n",
        HAMMER_CLIENTS, result.count, result.stale,
        (unsigned long long)history_longest_gap_ms(&result, began_us[0], began_us[1]),
        (unsigned long long)history_longest_gap_ms(&result, began_us[1], began_us[2]));
    history_expect_distinct_tokens(&result);
    history_expect_tokens_in_order(&result);
    history_expect_one_holder(&result);
    assert_int_equal(history_lost_updates(ledger, &result), 0);
    assert_in_range(result.count, 100, SIZE_MAX);
    hammer_result_fini(&result);
    tempdir_remove(dir);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(tokens_rise_from_a_file_to_three_masters_to_five, 5, REDIS_ALWAYS),
};

CASE_MAIN(cases, NULL, NULL)
