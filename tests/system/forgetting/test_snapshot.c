/* Durability that was switched on at run time and never written to the configuration. The next
 * start finds no append-only file in use, and loads the snapshot (dump.rdb) of some night. Its
 * marker says durable. Somebody switches the file on again, and the server is durable too. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"

static void take_snapshot(unsigned i)
{
    fleet_command(i, "SAVE");
}

static void restart_on_the_snapshot(unsigned i)
{
    redis_fleet_kill(fleet, i);
    fleet->persistence = REDIS_VOLATILE; /* as the configuration says */
    redis_fleet_restart(fleet, i, true);
    fleet->persistence = REDIS_ALWAYS;
}

static void switch_on_again(unsigned i)
{
    fleet_command(i, "CONFIG SET appendonly yes appendfsync always");
    redis_wait_rewritten(fleet, i);
}

static void master_that_started_from_an_older_snapshot_is_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    take_snapshot(0);
    assert_true(forgetting_grant(&forgetting));
    restart_on_the_snapshot(0);
    switch_on_again(0);
    forgetting_judge(&forgetting);
}

/* With the second master down no majority of others can be asked. */
static void master_that_started_from_an_older_snapshot_is_not_trusted_alone(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    take_snapshot(0);
    assert_true(forgetting_grant(&forgetting));
    redis_fleet_kill(fleet, 1);
    restart_on_the_snapshot(0);
    switch_on_again(0);
    forgetting_judge_all(&forgetting, true);
}

static struct forgetting restart_all_on_snapshots(void)
{
    struct forgetting forgetting = forgetting_serve();
    for (unsigned i = 0; i < fleet->n; i++)
        take_snapshot(i);
    assert_true(forgetting_grant_at_all(&forgetting));
    for (unsigned i = 0; i < fleet->n; i++)
        restart_on_the_snapshot(i);
    return forgetting;
}

static void masters_that_started_from_older_snapshots_are_not_trusted(void **state)
{
    struct forgetting forgetting = restart_all_on_snapshots();
    for (unsigned i = 0; i < fleet->n; i++)
        switch_on_again(i);
    forgetting_judge_all(&forgetting, true);
}

/* No pawld saw them while their files were off. */
static void masters_that_started_from_older_snapshots_unseen_are_not_trusted(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    for (unsigned i = 0; i < fleet->n; i++)
        take_snapshot(i);
    assert_true(forgetting_grant_at_all(&forgetting));
    assert_int_equal(process_stop(forgetting.process), 0);
    for (unsigned i = 0; i < fleet->n; i++)
        restart_on_the_snapshot(i);
    for (unsigned i = 0; i < fleet->n; i++)
        switch_on_again(i);
    forgetting.port = fleet_serve_early().port;
    forgetting_judge_all(&forgetting, true);
}

#define SNAPSHOT_CASE(name) FLEET_CASE(name, 3, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    SNAPSHOT_CASE(master_that_started_from_an_older_snapshot_is_taken_back),
    SNAPSHOT_CASE(master_that_started_from_an_older_snapshot_is_not_trusted_alone),
    SNAPSHOT_CASE(masters_that_started_from_older_snapshots_are_not_trusted),
    SNAPSHOT_CASE(masters_that_started_from_older_snapshots_unseen_are_not_trusted),
};

CASE_MAIN(cases, NULL, NULL)
