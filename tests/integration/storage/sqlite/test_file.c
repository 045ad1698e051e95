/* The words of a file over restarts: of the process, and of the machine. */
#include "fence/master/lock.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/store_job.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEASE_MS = 60000,
    PASSED_MS = 20000, /* time of it, at the restart */
    SLACK_MS = 5000,   /* a test may take */
    NAMES = 100,
    KEYS = 7, /* that a step of a walk looks at */
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
    folder = tempdir_new();
    rows = calloc(1, sizeof(*rows));
    assert_non_null(rows);
    open_file();
    return 0;
}

static int end(void **state)
{
    storage_file_close(&file, rows);
    free(rows);
    tempdir_remove(folder);
    return 0;
}

/* A lock of LEASE_MS that was taken PASSED_MS ago. */
static void take_lock(void)
{
    struct fence_stored_lock lock = {
        .lock_id = "aaaaaaaaaaaaaaaaaaaaaaaaaaa", .attempt = 1, .number = 7};
    storage_state_begin(rows);
    rows->turn.now_ms -= PASSED_MS;
    lock.expires_ms = rows->turn.now_ms + LEASE_MS;
    rows->turn.store->put_lock(rows, "orders", &lock);
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

static uint64_t left_ms(void)
{
    struct fence_stored_lock lock;
    storage_state_begin(rows);
    rows->turn.store->lock(rows, "orders", &lock);
    assert_true(storage_state_end(rows));
    assert_true(lock.present);
    assert_int_equal(lock.number, 7);
    return lock.expires_ms - rows->turn.now_ms;
}

static void restart_machine(void)
{
    assert_int_equal(storage_sql_exec(file.db, "UPDATE file SET boot_id = 'of the boot before'"),
                     0);
    fence_stored_copy(file.witness.seen.boot_id, sizeof(file.witness.seen.boot_id),
                      "of the boot before");
}

static void lease_goes_on_while_the_process_is_down(void **state)
{
    take_lock();
    storage_file_close(&file, rows);
    open_file();
    assert_in_range(left_ms(), LEASE_MS - PASSED_MS - SLACK_MS, LEASE_MS - PASSED_MS);
}

static void lease_begins_anew_after_another_boot(void **state)
{
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
    rows->turn.store->put_named(rows, "orders/next", number);
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

static int64_t named_number(void)
{
    storage_state_begin(rows);
    int64_t number = rows->turn.store->named(rows, "orders/next");
    assert_true(storage_state_end(rows));
    return number;
}

static void file_of_an_earlier_version_counts_for_names(void **state)
{
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
    put_named_number(41);
    storage_file_close(&file, rows);
    open_file();
    assert_false(file.is_new);
    assert_true(file.needs_floor);
}

static void highest_number_of_a_file_may_be_a_named_counters(void **state)
{
    int64_t highest = 0;
    put_named_number(41);
    assert_int_equal(storage_file_retire(&file, "abc"), 0);
    storage_state_begin(rows);
    rows->turn.marker = (struct fence_stored_marker){.present = true, .floor = 7};
    rows->turn.marker_changed = true;
    assert_true(storage_state_end(rows));
    assert_int_equal(storage_file_highest(&file, &highest), 0);
    assert_int_equal(highest, 41);
    storage_file_committed(&file, rows->commits);
}

/* "n/<i>", and as many others. */
static void put_names(void)
{
    storage_state_begin(rows);
    for (int i = 1; i <= NAMES; i++) {
        char name[FENCE_RESOURCE_MAX + 1];
        (void)snprintf(name, sizeof(name), "n/%d", i);
        rows->turn.store->put_named(rows, name, i);
        (void)snprintf(name, sizeof(name), "m/%d", i);
        rows->turn.store->put_named(rows, name, i);
    }
    assert_true(storage_state_end(rows));
    storage_file_committed(&file, rows->commits);
}

/* The result of a step of a walk is added; returns where the next begins. */
static uint64_t walk_on(uint64_t cursor, unsigned seen[static NAMES + 1])
{
    struct fence_found found;
    struct storage_job *job = storage_job_new_names(
        NULL, &(struct fence_scan){FENCE_LISTING_COUNTERS, cursor, "n/", KEYS});
    assert_non_null(job);
    storage_state_begin(rows);
    storage_job_do(job, rows);
    assert_true(storage_state_end(rows));
    storage_job_tell_found(job, &found);
    assert_in_range(found.count, 0, KEYS);
    for (size_t k = 0; k < found.count; k++) {
        assert_int_equal(strncmp(found.names[k], "n/", 2), 0);
        seen[strtoul(found.names[k] + 2, NULL, 10)]++;
    }
    uint64_t next = found.next;
    storage_job_free(job);
    return next;
}

static void every_counter_with_the_prefix_is_found_once(void **state)
{
    unsigned seen[NAMES + 1] = {0};
    unsigned steps = 0;
    uint64_t cursor = 0;
    put_names();
    do {
        cursor = walk_on(cursor, seen);
        steps++;
    } while (cursor != 0);
    assert_int_equal(steps, (2 * NAMES + KEYS - 1) / KEYS);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(seen[i], 1);
}

static void counters_that_are_there_are_told(void **state)
{
    static const struct fence_lock_name names[] = {{"n/1"}, {"orders"}, {"m/100"}};
    struct fence_found found;
    put_names();
    take_lock();
    struct storage_job *job = storage_job_new_holders(NULL, FENCE_LISTING_COUNTERS, names, 3);
    assert_non_null(job);
    storage_state_begin(rows);
    storage_job_do(job, rows);
    assert_true(storage_state_end(rows));
    storage_job_tell_found(job, &found);
    assert_int_equal(found.count, 3);
    assert_true(found.holders[0] == 1 && found.holders[1] == 0 && found.holders[2] == 1);
    storage_job_free(job);
}

/* A turn that fails must not hide that somebody else has written to the file. */
static void writer_that_is_not_us_is_noticed_until_a_turn_ends_well(void **state)
{
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_begin(rows);
    assert_true(storage_state_end(rows));
    fence_stored_copy(lineage, sizeof(lineage), rows->lineage);
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
    fence_stored_copy(lineage, sizeof(lineage), rows->lineage);
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
    cmocka_unit_test_setup_teardown(every_counter_with_the_prefix_is_found_once, begin, end),
    cmocka_unit_test_setup_teardown(counters_that_are_there_are_told, begin, end),
    cmocka_unit_test_setup_teardown(writer_that_is_not_us_is_noticed_until_a_turn_ends_well, begin,
                                    end),
};

CASE_MAIN(cases, NULL, NULL)
