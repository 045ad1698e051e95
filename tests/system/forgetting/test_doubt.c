/* One master is all there is, and pawld has seen that it lost something. A cause that makes it look
 * as if nothing had happened must nothing had happened must not make it vote again: a restart from
 * its file, or CONFIG RESETSTAT. Nor may a master that lost nothing be kept out by what it was told
 * long ago. */
#include "tests/lib/case.h"
#include "tests/system/forgetting/evict.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

static struct forgetting evict_seen(void)
{
    struct forgetting forgetting = forgetting_serve();
    assert_true(forgetting_grant_at_all(&forgetting));
    evict_locks();
    evict_from(EVICT_ROOM, "volatile-ttl");
    masters_wait(forgetting.port, 0, "refused", "evicts");
    evict_no_more();
    masters_wait(forgetting.port, 0, "refused", "forgot");
    return forgetting;
}

static void master_that_evicted_locks_is_not_trusted_after_a_restart(void **state)
{
    struct forgetting forgetting = evict_seen();
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge_all(&forgetting, true);
}

static void master_that_evicted_locks_is_not_trusted_after_resetstat(void **state)
{
    struct forgetting forgetting = evict_seen();
    fleet_command(0, "CONFIG RESETSTAT");
    forgetting_judge_all(&forgetting, true);
}

static void master_demoted_to_an_older_copy_is_not_trusted_after_a_restart(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    forgetting_copy_master();
    masters_wait(forgetting.port, 0, "active", NULL);
    assert_true(forgetting_grant_at_all(&forgetting));
    redis_follow(fleet, 0, forgetting_copy, 0);
    fleet_command(0, "REPLICAOF NO ONE");
    masters_wait(forgetting.port, 0, "refused", "forgot");
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge_all(&forgetting, true);
}

/* A replica attached for a backup changes the replication id. Counts from before the marker say
 * nothing about the time since. */
static void master_told_things_long_ago_lives_through_a_backup(void **state)
{
    fleet_command(0, "REPLICAOF NO ONE");
    struct forgetting forgetting = forgetting_serve();
    fleet_command(0, "CONFIG RESETSTAT");
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant_at_all(&forgetting));
    forgetting_copy = redis_fleet_new(1, REDIS_ALWAYS);
    redis_follow(forgetting_copy, 0, fleet, 0);
    forgetting_judge_all(&forgetting, false);
}

#define DOUBT_CASE(name) FORGETTING_COPY_CASE(name, 1)

static const struct CMUnitTest cases[] = {
    DOUBT_CASE(master_that_evicted_locks_is_not_trusted_after_a_restart),
    DOUBT_CASE(master_that_evicted_locks_is_not_trusted_after_resetstat),
    DOUBT_CASE(master_demoted_to_an_older_copy_is_not_trusted_after_a_restart),
    DOUBT_CASE(master_told_things_long_ago_lives_through_a_backup),
};

CASE_MAIN(cases, NULL, NULL)
