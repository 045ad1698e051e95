/* All masters lose their durability at run time, and then restart together with the usual
 * configuration. Their files are all there is, and they must have everything that was granted. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

enum {
    MASTERS_MAX = 5,
};

static void tell_all(const char *command)
{
    for (unsigned i = 0; i < fleet->n; i++)
        fleet_command(i, command);
}

static void kill_all(void)
{
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_kill(fleet, i);
}

static void restart_all(void)
{
    for (unsigned i = 0; i < fleet->n; i++)
        redis_fleet_restart(fleet, i, true);
}

/* The judges find no fault where there is none. */
static void master_that_forgets_nothing_is_judged_well(void **state)
{
    struct forgetting forgetting = forgetting_begin();
    forgetting_judge(&forgetting);
}

static void masters_that_forget_nothing_are_judged_well(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    assert_true(forgetting_grant_at_all(&forgetting));
    kill_all();
    restart_all();
    forgetting_judge_all(&forgetting, false);
}

static void switch_off_and_restart_all(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    tell_all("CONFIG SET appendonly no");
    forgetting_grant_at_all(&forgetting);
    kill_all();
    restart_all();
    forgetting_judge_all(&forgetting, false);
    assert_false(forgetting.granted);
}

/* pawld is restarted too. */
static void
masters_without_their_files_grant_nothing_that_is_forgotten_with_pawld_restarted(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    tell_all("CONFIG SET appendonly no");
    forgetting_grant_at_all(&forgetting);
    assert_int_equal(process_stop(forgetting.process), 0);
    kill_all();
    restart_all();
    forgetting.port = fleet_serve_early().port;
    forgetting_judge_all(&forgetting, false);
    assert_false(forgetting.granted);
}

/* A majority of them is enough to bring an old token back. */
static void majority_without_its_files_grants_nothing_that_its_restart_forgets(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    fleet_command(0, "CONFIG SET appendonly no");
    fleet_command(1, "CONFIG SET appendonly no");
    forgetting_grant_at_all(&forgetting);
    redis_fleet_kill(fleet, 2); /* its file would have the grant */
    for (unsigned i = 0; i < 2; i++)
        redis_fleet_kill(fleet, i);
    for (unsigned i = 0; i < 2; i++)
        redis_fleet_restart(fleet, i, true);
    forgetting_judge_all(&forgetting, false);
    assert_false(forgetting.granted);
}

static void masters_before_their_first_rewrite_grant_nothing_that_a_crash_forgets(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    for (unsigned i = 0; i < fleet->n; i++)
        redis_slow_rewrite(fleet, i);
    tell_all("CONFIG SET appendonly no");
    tell_all("CONFIG SET appendonly yes");
    forgetting_grant_at_all(&forgetting);
    for (unsigned i = 0; i < fleet->n; i++)
        redis_kill_with_rewrite(fleet, i);
    restart_all();
    forgetting_judge_all(&forgetting, true);
}

/* Somebody rolls out a configuration without files, one master at a time, and later the former one,
 * all at once. The old files are still there, and each says durable. */
static void old_files_are_not_trusted_after_a_time_without_files(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    fleet->persistence = REDIS_VOLATILE;
    for (unsigned i = 0; i < fleet->n; i++) {
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, true);
        masters_wait_within(forgetting.port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
    }
    assert_true(forgetting_grant_at_all(&forgetting));
    kill_all();
    fleet->persistence = REDIS_ALWAYS;
    restart_all();
    forgetting_judge_all(&forgetting, true);
}

static void weaken_and_lose_power(void **state)
{
    const char *weaken = *state;
    struct forgetting forgetting = forgetting_serve();
    off_t size[MASTERS_MAX] = {0};
    for (unsigned i = 0; i < fleet->n; i++)
        size[i] = redis_files_tail_size(fleet, i);
    tell_all(weaken);
    forgetting_grant_at_all(&forgetting);
    kill_all();
    for (unsigned i = 0; i < fleet->n; i++)
        redis_files_cut_tail(fleet, i, size[i]);
    restart_all();
    forgetting_judge_all(&forgetting, true);
    assert_false(forgetting.granted);
}

#define ALL_CASE(name, n) FLEET_CASE(name, n, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    ALL_CASE(master_that_forgets_nothing_is_judged_well, 3),
    ALL_CASE(masters_that_forget_nothing_are_judged_well, 3),
    FLEET_ROW("masters_without_their_files_grant_nothing_that_their_restart_forgets",
              switch_off_and_restart_all, 5, REDIS_ALWAYS, NULL),
    FLEET_ROW("only_master_without_its_file_grants_nothing_that_its_restart_forgets",
              switch_off_and_restart_all, 1, REDIS_ALWAYS, NULL),
    ALL_CASE(masters_without_their_files_grant_nothing_that_is_forgotten_with_pawld_restarted, 3),
    ALL_CASE(majority_without_its_files_grants_nothing_that_its_restart_forgets, 3),
    ALL_CASE(masters_before_their_first_rewrite_grant_nothing_that_a_crash_forgets, 3),
    ALL_CASE(old_files_are_not_trusted_after_a_time_without_files, 3),
    FLEET_ROW("masters_that_sync_each_second_grant_nothing_that_a_power_loss_takes",
              weaken_and_lose_power, 3, REDIS_ALWAYS, "CONFIG SET appendfsync everysec"),
    FLEET_ROW("masters_that_never_sync_grant_nothing_that_a_power_loss_takes",
              weaken_and_lose_power, 5, REDIS_ALWAYS, "CONFIG SET appendfsync no"),
};

CASE_MAIN(cases, NULL, NULL)
