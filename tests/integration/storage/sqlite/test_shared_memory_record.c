/* Records of databases in /dev/shm: whose they are, and when they go. */
#include "storage/sqlite/shared_memory_record.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 256,
};

static char *dir;
static char id[33]; /* id of this process and case */
static char record_path[PATH_BYTES];
static struct storage_recorded recorded;

static int begin(void **state)
{
    static unsigned number;
    dir = tempdir_new();
    snprintf(id, sizeof(id), "%024x%08x", (unsigned)getpid(), number++);
    snprintf(record_path, sizeof(record_path), "/dev/shm/pawl-%s", id);
    return 0;
}

static int end(void **state)
{
    (void)unlink(record_path);
    tempdir_remove(dir);
    return 0;
}

static void keep_record(const char *folder, uint64_t commits)
{
    int record = storage_record_keep(id, folder, 1, commits);
    if (record < 0)
        case_skip("there is no /dev/shm to write to");
    close(record);
}

static void counts_that_were_noted_are_read(void **state)
{
    assert_false(storage_record_read(id, &recorded));
    int record = storage_record_keep(id, dir, 1, 7);
    if (record < 0)
        case_skip("there is no /dev/shm to write to");
    storage_record_note(record, 2, 8);
    close(record);
    assert_true(storage_record_read(id, &recorded));
    assert_int_equal(recorded.openings, 2);
    assert_int_equal(recorded.commits, 8);
    assert_true(storage_record_is_of(&recorded, dir));
    storage_record_note(-1, 3, 9);
}

/* Another user could have made it. */
static void record_that_others_may_write_is_not_trusted(void **state)
{
    keep_record(dir, 7);
    assert_int_equal(chmod(record_path, 0622), 0);
    assert_false(storage_record_read(id, &recorded));
    assert_int_equal(storage_record_keep(id, dir, 1, 8), -1);
}

static void link_in_place_of_a_record_is_not_followed(void **state)
{
    char target[PATH_BYTES];
    snprintf(target, sizeof(target), "%s/precious", dir);
    if (symlink(target, record_path) != 0)
        case_skip("there is no /dev/shm to write to");
    assert_int_equal(storage_record_keep(id, dir, 1, 7), -1);
    assert_int_equal(access(target, F_OK), -1);
}

/* The database that was copied from goes on in its own folder. */
static void record_of_another_folder_is_not_replaced(void **state)
{
    char copy[PATH_BYTES];
    snprintf(copy, sizeof(copy), "%s/copy", dir);
    assert_int_equal(mkdir(copy, 0700), 0);
    keep_record(dir, 7);
    storage_record_replace(id, copy);
    assert_true(storage_record_read(id, &recorded));
    assert_int_equal(recorded.replaced, 0);
    storage_record_replace(id, dir);
    assert_true(storage_record_read(id, &recorded));
    assert_int_equal(recorded.replaced, 1);
}

static void record_stays_while_its_folder_does(void **state)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof(folder), "%s/a", dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    keep_record(folder, 7);
    storage_record_sweep();
    assert_true(storage_record_read(id, &recorded));
    assert_int_equal(rmdir(folder), 0);
    storage_record_sweep();
    assert_false(storage_record_read(id, &recorded));
}

/* A folder whose file system is not mounted now is not gone. */
static void record_of_a_folder_on_another_device_stays(void **state)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof(folder), "/dev/shm/pawl-test-%d", (int)getpid());
    if (mkdir(folder, 0700) != 0)
        case_skip("there is no /dev/shm to write to");
    keep_record(folder, 7);
    assert_int_equal(rmdir(folder), 0);
    int fd = storage_record_keep(id, dir, 1, 7); /* the path of the one, the device of the other */
    assert_true(storage_record_read(id, &recorded));
    snprintf(recorded.folder, sizeof(recorded.folder), "%s", folder);
    assert_int_equal(pwrite(fd, &recorded, sizeof(recorded), 0), sizeof(recorded));
    close(fd);
    storage_record_sweep();
    assert_true(storage_record_read(id, &recorded));
}

#define RECORD_CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest cases[] = {
    RECORD_CASE(counts_that_were_noted_are_read),
    RECORD_CASE(record_that_others_may_write_is_not_trusted),
    RECORD_CASE(link_in_place_of_a_record_is_not_followed),
    RECORD_CASE(record_of_another_folder_is_not_replaced),
    RECORD_CASE(record_stays_while_its_folder_does),
    RECORD_CASE(record_of_a_folder_on_another_device_stays),
};

CASE_MAIN(cases, NULL, NULL)
