/* The accidents of files befall a real master. */
#include "tests/chaos/master_files.h"
#include "tests/chaos/test_masters.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"

static void emptied_it_knows_nothing(void **state)
{
    masters_set(&master, "k", "v");
    chaos_master_kill(&master);
    chaos_master_empty(&master);
    masters_start();
    masters_expect(&master, "k", NULL);
}

static void without_its_tail_it_knows_what_came_before(void **state)
{
    masters_set(&master, "k1", "v");
    masters_set(&master, "k2", "v");
    chaos_master_kill(&master);
    chaos_master_cut_tail(&master, 3);
    masters_start();
    masters_expect(&master, "k1", "v");
    masters_expect(&master, "k2", NULL);
}

static void its_tail_grows_by_what_it_writes(void **state)
{
    const size_t before = chaos_master_tail(&master);
    masters_set(&master, "k1", "v");
    const size_t after = chaos_master_tail(&master);
    masters_set(&master, "k2", "v");
    assert_true(after > before);
    chaos_master_kill(&master);
    chaos_master_cut_tail(&master, chaos_master_tail(&master) - after);
    assert_int_equal(chaos_master_tail(&master), after);
    masters_start();
    masters_expect(&master, "k1", "v");
    masters_expect(&master, "k2", NULL);
}

static bool has_ended(void *arg)
{
    (void)arg;
    return !process_alive(master.process);
}

static void damaged_it_starts_only_once_mended(void **state)
{
    masters_set(&master, "k1", "v");
    masters_set(&master, "k2", "v");
    chaos_master_kill(&master);
    chaos_master_damage_tail(&master, 20); /* within the last command */
    chaos_master_start(&master, CHAOS_CLOCK_SHIM);
    masters_wait(has_ended, NULL);
    chaos_master_kill(&master);
    chaos_master_mend(&master);
    masters_start();
    masters_expect(&master, "k1", "v");
    masters_expect(&master, "k2", NULL);
}

static void mended_without_damage_it_lost_nothing(void **state)
{
    masters_set(&master, "k", "v");
    chaos_master_kill(&master);
    chaos_master_mend(&master);
    masters_start();
    masters_expect(&master, "k", "v");
}

static void expect_copy_of(void (*copy)(const struct chaos_master *))
{
    masters_set(&master, "k", "old");
    copy(&master);
    masters_set(&master, "k", "new");
    masters_set(&master, "k2", "new");
    chaos_master_kill(&master);
    chaos_master_put_back(&master);
    masters_start();
    masters_expect(&master, "k", "old");
    masters_expect(&master, "k2", NULL);
}

static void its_files_can_be_put_back(void **state)
{
    expect_copy_of(chaos_master_copy);
}

static void it_runs_on_after_a_snapshot_and_can_be_rolled_back(void **state)
{
    expect_copy_of(chaos_master_snapshot);
}

static const struct CMUnitTest cases[] = {
    MASTERS_CASE(emptied_it_knows_nothing),
    MASTERS_CASE(without_its_tail_it_knows_what_came_before),
    MASTERS_CASE(its_tail_grows_by_what_it_writes),
    MASTERS_CASE(damaged_it_starts_only_once_mended),
    MASTERS_CASE(mended_without_damage_it_lost_nothing),
    MASTERS_CASE(its_files_can_be_put_back),
    MASTERS_CASE(it_runs_on_after_a_snapshot_and_can_be_rolled_back),
};

CASE_MAIN(cases, NULL, NULL)
