/* The disk of unsynced.c really loses what was not synced, and nothing else. A program in Python
 * writes, says "written", and is killed. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE_MS = 20000,
    FILE_BYTES = 4096,
};

/* Before each script: @f is the file, @a another one. */
#define BEGIN                                                                                      \
    "import os, sqlite3, sys, time\n"                                                              \
    "f, a = sys.argv[1] + '/file', sys.argv[1] + '/another'\n"                                     \
    "def opened(path, how=os.O_RDWR):\n"                                                           \
    "    return os.open(path, os.O_CREAT | how)\n"                                                 \
    "def written():\n"                                                                             \
    "    print('written', flush=True)\n"                                                           \
    "    time.sleep(60)\n"

static struct {
    char *dir;
    char *log;
    char *outside; /* a folder that is not told to the library */
} place;

static int make_place(void **state)
{
    (void)state;
    place.outside = tempdir_new();
    place.dir = tempdir_new();
    place.log = text_make("%s/log", place.outside);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    process_kill_all();
    free(place.log);
    tempdir_remove(place.dir);
    tempdir_remove(place.outside);
    return 0;
}

static struct process *start(const char *folder, const char *script)
{
    char *library = pawl_beside("unsynced.so");
    char *whole = text_make(BEGIN "%s", script);
    setenv("PAWL_UNSYNCED", place.dir, 1);
    setenv("LD_PRELOAD", library, 1);
    struct process *process =
        process_start((const char *const[]){"python3", "-c", whole, folder, NULL}, place.log);
    unsetenv("LD_PRELOAD");
    free(whole);
    free(library);
    return process;
}

static void write_and_be_killed(const char *folder, const char *script)
{
    struct process *process = start(folder, script);
    process_wait_line(process, "^written$", PATIENCE_MS, NULL, 0);
    process_kill(process);
}

static void expect_file(const char *folder, const char *name, const char *wanted)
{
    char bytes[FILE_BYTES] = "";
    char *path = text_make("%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    fclose(file);
    free(path);
    assert_string_equal(bytes, wanted);
}

static void what_was_not_synced_is_gone_after_a_kill(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "os.write(opened(f), b'hello')\n"
                                   "written()\n");
    expect_file(place.dir, "file", "");
}

static void what_was_synced_is_there_after_a_kill(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "fd = opened(f)\n"
                                   "os.write(fd, b'one')\n"
                                   "os.fsync(fd)\n"
                                   "os.write(fd, b'two')\n"
                                   "os.fdatasync(fd)\n"
                                   "os.write(fd, b'three')\n"
                                   "written()\n");
    expect_file(place.dir, "file", "onetwo");
}

static void what_was_appended_and_overwritten_goes_back_to_the_last_sync(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "fd = opened(f, os.O_RDWR | os.O_APPEND)\n"
                                   "os.write(fd, b'0123')\n"
                                   "os.write(fd, b'4567')\n"
                                   "os.fsync(fd)\n"
                                   "os.write(fd, b'89')\n"
                                   "os.pwrite(opened(f), b'xx', 2)\n"
                                   "assert os.pread(fd, 99, 0) == b'01xx456789'\n"
                                   "written()\n");
    expect_file(place.dir, "file", "01234567");
}

static void a_program_reads_what_it_wrote(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "fd = opened(f)\n"
                                   "os.pwrite(fd, b'end', 5)\n"
                                   "os.lseek(fd, 0, os.SEEK_SET)\n"
                                   "assert os.read(fd, 99) == b'\\0\\0\\0\\0\\0end'\n"
                                   "assert os.stat(f).st_size == os.fstat(fd).st_size == 8\n"
                                   "assert os.lseek(fd, 0, os.SEEK_END) == 8\n"
                                   "os.ftruncate(fd, 6)\n"
                                   "assert os.pread(fd, 99, 4) == b'\\0e'\n"
                                   "written()\n");
    expect_file(place.dir, "file", "");
}

static void a_sync_is_of_one_file_alone(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "one, two = opened(f), opened(a)\n"
                                   "os.write(one, b'one')\n"
                                   "os.write(two, b'two')\n"
                                   "os.fsync(two)\n"
                                   "written()\n");
    expect_file(place.dir, "file", "");
    expect_file(place.dir, "another", "two");
}

static void a_file_that_was_renamed_or_replaced_keeps_its_own_bytes(void **state)
{
    (void)state;
    write_and_be_killed(place.dir, "one, two = opened(f), opened(a)\n"
                                   "os.write(one, b'one')\n"
                                   "os.write(two, b'two')\n"
                                   "os.rename(a, f)\n"
                                   "assert os.pread(opened(f), 99, 0) == b'two'\n"
                                   "os.fsync(two)\n"
                                   "os.write(opened(a), b'three')\n"
                                   "written()\n");
    expect_file(place.dir, "file", "two");
    expect_file(place.dir, "another", "");
}

static void a_program_that_exits_leaves_all(void **state)
{
    (void)state;
    struct process *process = start(place.dir, "os.write(opened(f), b'hello')\n"
                                               "if os.fork() == 0:\n"
                                               "    sys.exit()\n"
                                               "os.wait()\n"
                                               "assert open(f).read() == 'hello'\n");
    assert_int_equal(process_wait(process, PATIENCE_MS), 0);
    expect_file(place.dir, "file", "hello");
}

static void other_folders_lose_nothing(void **state)
{
    (void)state;
    write_and_be_killed(place.outside, "os.write(opened(f), b'hello')\n"
                                       "written()\n");
    expect_file(place.outside, "file", "hello");
}

/* Rows that a killed SQLite left, of two that it committed. */
static void expect_rows(const char *synchronous, const char *wanted)
{
    char *script = text_make("db = sqlite3.connect(f, isolation_level=None)\n"
                             "db.execute('PRAGMA journal_mode = WAL')\n"
                             "db.execute('PRAGMA synchronous = FULL')\n"
                             "db.execute('CREATE TABLE t (x)')\n"
                             "db.execute('PRAGMA synchronous = %s')\n"
                             "db.execute('INSERT INTO t VALUES (1)')\n"
                             "db.execute('INSERT INTO t VALUES (2)')\n"
                             "written()\n",
                             synchronous);
    write_and_be_killed(place.dir, script);
    free(script);
    struct process *reader =
        start(place.dir, "db = sqlite3.connect(f)\n"
                         "print('rows', *db.execute('SELECT count(*) FROM t').fetchone())\n"
                         "written()\n");
    process_wait_line(reader, "^written$", PATIENCE_MS, NULL, 0);
    if (!process_wrote(reader, wanted))
        fail_msg("not %s with synchronous = %s; see %s", wanted, synchronous, place.log);
    process_kill(reader);
}

static void database_that_syncs_no_commit_loses_it(void **state)
{
    (void)state;
    expect_rows("NORMAL", "^rows 0$");
}

static void database_that_syncs_each_commit_keeps_it(void **state)
{
    (void)state;
    expect_rows("FULL", "^rows 2$");
}

#define UNSYNCED(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

static const struct CMUnitTest cases[] = {
    UNSYNCED(what_was_not_synced_is_gone_after_a_kill),
    UNSYNCED(what_was_synced_is_there_after_a_kill),
    UNSYNCED(what_was_appended_and_overwritten_goes_back_to_the_last_sync),
    UNSYNCED(a_program_reads_what_it_wrote),
    UNSYNCED(a_sync_is_of_one_file_alone),
    UNSYNCED(a_file_that_was_renamed_or_replaced_keeps_its_own_bytes),
    UNSYNCED(a_program_that_exits_leaves_all),
    UNSYNCED(other_folders_lose_nothing),
    UNSYNCED(database_that_syncs_no_commit_loses_it),
    UNSYNCED(database_that_syncs_each_commit_keeps_it),
};

CASE_MAIN(cases, NULL, NULL)
