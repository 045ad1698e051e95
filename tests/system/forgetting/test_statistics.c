/* CONFIG RESETSTAT, which people call before they measure. Redis forgets how many keys it evicted,
 * how often it rewrote its file, and which commands were called. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/forgetting/evict.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <stdlib.h>

enum {
    MASTERS = 3,
};

static void reset_statistics(unsigned i)
{
    fleet_command(i, "CONFIG RESETSTAT");
}

/* INFO shows one call of RESETSTAT, before the evictions and after them. */
static void master_that_evicted_locks_between_two_resetstats_is_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    reset_statistics(0);
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant(&forgetting));
    evict_locks();
    reset_statistics(0);
    forgetting_judge(&forgetting);
}

/* More bytes than it had received before it was admitted. */
static void receive_much(void)
{
    enum {
        MUCH = 8 * 1024 * 1024,
    };
    char *much = calloc(1, MUCH);
    assert_non_null(much);
    freeReplyObject(redis_fleet_command(fleet, 0, "SET padding %b", much, (size_t)MUCH));
    free(much);
}

/* All of it happens between two probes: only a script can notice it. */
static void master_that_received_much_after_resetstat_is_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_begin();
    assert_int_equal(process_stop(forgetting.process), 0);
    forgetting.port = pawld_start(fleet, (const char *const[]){"--probe-ms", "10000", NULL}).port;
    masters_wait_all_active(forgetting.port, MASTERS);
    evict_locks();
    reset_statistics(0);
    receive_much();
    forgetting_judge(&forgetting);
}

static void master_before_its_first_rewrite_grants_nothing_after_resetstat(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_slow_rewrite(fleet, 0);
    fleet_command(0, "CONFIG SET appendonly no");
    fleet_command(0, "CONFIG SET appendonly yes");
    reset_statistics(0);
    forgetting_grant(&forgetting);
    redis_fleet_kill(fleet, 1);
    redis_kill_with_rewrite(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge_all(&forgetting, true);
}

static void masters_that_started_from_older_snapshots_are_not_trusted_after_resetstat(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "SAVE");
    assert_true(forgetting_grant_at_all(&forgetting));
    assert_int_equal(process_stop(forgetting.process), 0);
    for (unsigned i = 0; i < MASTERS; i++) {
        redis_fleet_kill(fleet, i);
        fleet->persistence = REDIS_VOLATILE;
        redis_fleet_restart(fleet, i, true);
        fleet->persistence = REDIS_ALWAYS;
        fleet_command(i, "CONFIG SET appendonly yes appendfsync always");
        redis_wait_rewritten(fleet, i);
        reset_statistics(i);
    }
    forgetting.port = fleet_serve_early().port;
    forgetting_judge_all(&forgetting, true);
}

/* The promotion was an hour ago. No majority of others can be asked. */
static void master_demoted_long_ago_is_not_trusted_alone_after_resetstat(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    forgetting_copy_master();
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant(&forgetting));
    redis_fleet_kill(fleet, 1);
    redis_follow(fleet, 0, forgetting_copy, 0);
    fleet_command(0, "REPLICAOF NO ONE");
    redis_free_backlog(fleet, 0);
    reset_statistics(0);
    forgetting_judge_all(&forgetting, true);
}

#define STATISTICS_CASE(name) FORGETTING_COPY_CASE(name, MASTERS)

static const struct CMUnitTest cases[] = {
    STATISTICS_CASE(master_that_evicted_locks_between_two_resetstats_is_taken_back),
    STATISTICS_CASE(master_that_received_much_after_resetstat_is_taken_back),
    STATISTICS_CASE(master_before_its_first_rewrite_grants_nothing_after_resetstat),
    STATISTICS_CASE(masters_that_started_from_older_snapshots_are_not_trusted_after_resetstat),
    STATISTICS_CASE(master_demoted_long_ago_is_not_trusted_alone_after_resetstat),
};

CASE_MAIN(cases, NULL, NULL)
