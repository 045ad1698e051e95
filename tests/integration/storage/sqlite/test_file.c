/* What a file says over restarts: of the process, and of the machine. */
#include "storage/sqlite/file.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEASE_MS = 60000,
    PASSED_MS = 20000, /* of it, at the restart */
    SLACK_MS = 5000,   /* a test may take */
};

static char *folder;
static struct storage_file file;
static struct storage_state *rows;

static void open_file(void)
{
    char why[STORAGE_WHY_MAX];
    const struct storage_file_config config = {.folder = folder, .members = 1};
    if (storage_file_open(&config, &file, rows, why) != 0)
        fail_msg("%s", why);
}

static int begin(void **state)
{
    (void)state;
    folder = tempdir_new();
    rows = calloc(1, sizeof(*rows));
    assert_non_null(rows);
    open_file();
    return 0;
}

static int end(void **state)
{
    (void)state;
    storage_file_close(&file, rows);
    free(rows);
    tempdir_remove(folder);
    return 0;
}

/* A lock of LEASE_MS that was taken PASSED_MS ago. */
static void take_lock(void)
{
    struct storage_lock lock = {
        .lock_id = "aaaaaaaaaaaaaaaaaaaaaaaaaaa", .attempt = 1, .number = 7};
    storage_state_begin(rows);
    rows->now_ms -= PASSED_MS;
    lock.expires_ms = rows->now_ms + LEASE_MS;
    storage_state_put_lock(rows, "orders", &lock);
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

static uint64_t left_ms(void)
{
    struct storage_lock lock;
    storage_state_begin(rows);
    storage_state_lock(rows, "orders", &lock);
    assert_true(storage_state_end(rows));
    assert_true(lock.present);
    assert_int_equal(lock.number, 7);
    return lock.expires_ms - rows->now_ms;
}

static void restart_machine(void)
{
    assert_int_equal(storage_sql_exec(file.db, "UPDATE file SET boot_id = 'of the boot before'"),
                     0);
    storage_state_copy(file.witness.seen.boot_id, sizeof(file.witness.seen.boot_id),
                       "of the boot before");
}

static void lease_goes_on_while_the_process_is_down(void **state)
{
    (void)state;
    take_lock();
    storage_file_close(&file, rows);
    open_file();
    assert_in_range(left_ms(), LEASE_MS - PASSED_MS - SLACK_MS, LEASE_MS - PASSED_MS);
}

static void lease_begins_anew_after_another_boot(void **state)
{
    (void)state;
    take_lock();
    restart_machine();
    storage_file_close(&file, rows);
    open_file();
    assert_in_range(left_ms(), LEASE_MS - SLACK_MS, LEASE_MS);
    storage_file_close(&file, rows);
    open_file();
    assert_in_range(left_ms(), LEASE_MS - SLACK_MS, LEASE_MS);
}

/* Its counters would begin again below the floor. */
static void file_whose_marker_is_gone_is_not_new(void **state)
{
    (void)state;
    assert_true(file.is_new);
    take_lock();
    storage_file_close(&file, rows);
    open_file();
    assert_false(file.is_new);
    assert_true(file.needs_floor);
}

static void put_named_number(int64_t number)
{
    storage_state_begin(rows);
    storage_state_put_named(rows, "orders/next", number);
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

static int64_t named_number(void)
{
    storage_state_begin(rows);
    int64_t number = storage_state_named(rows, "orders/next");
    assert_true(storage_state_end(rows));
    return number;
}

static void file_of_an_earlier_version_counts_for_names(void **state)
{
    (void)state;
    assert_int_equal(storage_sql_exec(file.db, "DROP TABLE named"), 0);
    storage_file_close(&file, rows);
    open_file();
    assert_int_equal(named_number(), 0);
    put_named_number(41);
    storage_file_close(&file, rows);
    open_file();
    assert_int_equal(named_number(), 41);
}

static void file_that_counted_for_a_name_is_not_new(void **state)
{
    (void)state;
    put_named_number(41);
    storage_file_close(&file, rows);
    open_file();
    assert_false(file.is_new);
    assert_true(file.needs_floor);
}

static void highest_number_of_a_file_may_be_a_named_counters(void **state)
{
    (void)state;
    int64_t highest = 0;
    put_named_number(41);
    assert_int_equal(storage_file_retire(&file), 0);
    storage_state_begin(rows);
    rows->marker = (struct storage_marker){.present = true, .floor = 7};
    rows->marker_changed = true;
    assert_true(storage_state_end(rows));
    assert_int_equal(storage_file_highest(&file, &highest), 0);
    assert_int_equal(highest, 41);
    storage_file_committed(&file, rows->commits);
}

/* A turn that fails must not hide that somebody else has written to the file. */
static void writer_that_is_not_us_is_noticed_until_a_turn_ends_well(void **state)
{
    (void)state;
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_begin(rows);
    assert_true(storage_state_end(rows));
    storage_state_copy(lineage, sizeof(lineage), rows->lineage);
    assert_int_equal(storage_sql_exec(file.db, "UPDATE file SET commits = commits + 1"), 0);
    for (unsigned i = 0; i < 2; i++) {
        storage_state_begin(rows);
        assert_string_not_equal(rows->lineage, lineage);
        rows->code = SQLITE_FULL;
        assert_false(storage_state_end(rows));
    }
    storage_state_begin(rows);
    assert_true(storage_state_end(rows));
    assert_string_not_equal(rows->lineage, lineage);
    storage_state_copy(lineage, sizeof(lineage), rows->lineage);
    storage_state_begin(rows);
    assert_string_equal(rows->lineage, lineage);
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(lease_goes_on_while_the_process_is_down, begin, end),
    cmocka_unit_test_setup_teardown(lease_begins_anew_after_another_boot, begin, end),
    cmocka_unit_test_setup_teardown(file_whose_marker_is_gone_is_not_new, begin, end),
    cmocka_unit_test_setup_teardown(file_of_an_earlier_version_counts_for_names, begin, end),
    cmocka_unit_test_setup_teardown(file_that_counted_for_a_name_is_not_new, begin, end),
    cmocka_unit_test_setup_teardown(highest_number_of_a_file_may_be_a_named_counters, begin, end),
    cmocka_unit_test_setup_teardown(writer_that_is_not_us_is_noticed_until_a_turn_ends_well, begin,
                                    end),
};

CASE_MAIN(cases, NULL, NULL)
