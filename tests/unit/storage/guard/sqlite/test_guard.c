#include "storage/guard/sqlite/guard.h"
#include "storage/sql/sql.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDER "orders/42"
#define ID_A  "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID_B  "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

enum {
    RACERS = 4,
    RACER_WRITES = 40,
};

/* A guarded database in its own folder, with one table that is guarded: the log of writes. */
static char *dir;
static char path[256];
static sqlite3 *db;
static struct storage_rejection rejection; /* rejection of the last call */

static sqlite3 *open_database(void)
{
    sqlite3 *opened = NULL;
    char text[128] = "";
    if (storage_guard_open(path, text, sizeof text, &opened) != 0)
        fail_msg("cannot open %s: %s", path, text);
    return opened;
}

static int setup(void **state)
{
    dir = tempdir_new();
    snprintf(path, sizeof path, "%s/guard.db", dir);
    db = open_database();
    rejection = (struct storage_rejection){.token = 0};
    assert_int_equal(storage_guard_install(db), 0);
    assert_int_equal(storage_sql_exec(db, "CREATE TABLE log (token INTEGER)"), 0);
    return 0;
}

static int teardown(void **state)
{
    sqlite3_close(db);
    tempdir_remove(dir);
    return 0;
}

static int64_t query(const char *text)
{
    int64_t value = INT64_MIN;
    struct storage_sql sql = storage_sql_prepare(db, text);
    if (storage_sql_row(&sql))
        value = sqlite3_column_int64(sql.stmt, 0);
    assert_int_equal(storage_sql_finish(&sql), 0);
    return value;
}

static int append_log(sqlite3 *to, int64_t token)
{
    struct storage_sql sql = storage_sql_prepare(to, "INSERT INTO log (token) VALUES (?1)");
    storage_sql_bind_int(&sql, 1, token);
    return storage_sql_run(&sql);
}

/* Ends a transaction that came to @err as a user of the guard does. */
static int finish(sqlite3 *on, int err)
{
    if (!err)
        err = storage_guard_commit(on);
    if (err)
        storage_guard_rollback(on);
    return err;
}

static int claim(sqlite3 *on, const char *resource, int64_t token,
                 struct storage_rejection *ret_rejection)
{
    int err = storage_guard_begin(on);
    return err ? err : finish(on, storage_guard_claim(on, resource, token, ret_rejection));
}

/* A guarded write: check and append in one transaction. */
static int guarded_write(sqlite3 *on, const char *resource, int64_t token,
                         struct storage_rejection *ret_rejection)
{
    int err = storage_guard_begin(on);
    if (err)
        return err;
    err = storage_guard_check(on, resource, token, ret_rejection);
    if (!err)
        err = append_log(on, token);
    return finish(on, err);
}

static int claim_id(const char *lock_id)
{
    int err = storage_guard_begin(db);
    return err ? err : finish(db, storage_guard_claim_id(db, ORDER, lock_id));
}

static int check_id(const char *lock_id)
{
    int err = storage_guard_begin(db);
    return err ? err : finish(db, storage_guard_check_id(db, ORDER, lock_id, &rejection));
}

static void claim_with_older_token_is_refused_and_names_the_highest(void **state)
{
    assert_int_equal(claim(db, ORDER, 34, &rejection), 0);
    assert_int_equal(claim(db, ORDER, 33, &rejection), FENCE_ESTALE);
    assert_int_equal(rejection.token, 33);
    assert_int_equal(rejection.highest_token, 34);
    assert_int_equal(rejection.kind, STORAGE_REJECTED_CLAIM);
    assert_string_equal(rejection.resource, ORDER);
}

static void write_after_a_newer_claim_is_refused_and_leaves_nothing(void **state)
{
    assert_int_equal(claim(db, ORDER, 33, &rejection), 0);
    assert_int_equal(claim(db, ORDER, 34, &rejection), 0);
    assert_int_equal(guarded_write(db, ORDER, 33, &rejection), FENCE_ESTALE);
    assert_int_equal(rejection.kind, STORAGE_REJECTED_WRITE);
    assert_int_equal(rejection.highest_token, 34);
    assert_int_equal(query("SELECT count(*) FROM log"), 0);
}

static int claim_read(sqlite3 *on, int64_t token)
{
    int err = storage_guard_begin(on);
    return err ? err : finish(on, storage_guard_claim_read(on, ORDER, token, &rejection));
}

/* In a transaction that only reads. */
static int check_read(sqlite3 *on, int64_t token)
{
    int err = storage_sql_exec(on, "BEGIN");
    return err ? err : finish(on, storage_guard_check_read(on, ORDER, token, &rejection));
}

static void refusals_by_and_of_readers_tell_the_token_that_refuses(void **state)
{
    assert_int_equal(claim(db, ORDER, 33, &rejection), 0);
    assert_int_equal(claim_read(db, 34), 0);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), FENCE_ESTALE);
    assert_int_equal(rejection.kind, STORAGE_REJECTED_WRITE);
    assert_int_equal(rejection.highest_token, 34);
    assert_true(rejection.by_reader);
    assert_int_equal(guarded_write(db, ORDER, 32, &rejection), FENCE_ESTALE);
    assert_int_equal(rejection.highest_token, 33);
    assert_false(rejection.by_reader);
    assert_int_equal(guarded_write(db, ORDER, 35, &rejection), 0);
    assert_int_equal(check_read(db, 34), FENCE_ESTALE);
    assert_int_equal(rejection.kind, STORAGE_REJECTED_READ);
    assert_int_equal(rejection.token, 34);
    assert_int_equal(rejection.highest_token, 35);
    assert_false(rejection.by_reader);
}

/* The write lock is another's, and anyway the reader goes on. */
static void check_of_a_reader_that_claimed_takes_no_write_lock(void **state)
{
    sqlite3 *other = open_database();
    assert_int_equal(sqlite3_busy_timeout(db, 0), SQLITE_OK);
    assert_int_equal(claim_read(db, 34), 0);
    assert_int_equal(storage_guard_begin(other), 0);
    assert_int_equal(check_read(db, 34), 0);
    assert_int_equal(check_read(db, 33), 0);
    assert_int_equal(check_read(db, 35), FENCE_EBUSY);
    storage_guard_rollback(other);
    assert_int_equal(check_read(db, 35), 0);
    sqlite3_close(other);
}

/* ---- the guard of an earlier Pawl ------------------------------------------------------------ */

static const char earlier[] =
    "DROP TABLE pawl_guard; CREATE TABLE pawl_guard ("
    "  resource TEXT PRIMARY KEY,"
    "  highest_token INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER pawl_guard_only_rises"
    "  BEFORE UPDATE ON pawl_guard WHEN new.highest_token < old.highest_token"
    "  BEGIN SELECT RAISE(ABORT, 'the guard only rises'); END;"
    "CREATE TRIGGER pawl_guard_is_not_replaced"
    "  BEFORE INSERT ON pawl_guard WHEN new.highest_token <"
    "    (SELECT highest_token FROM pawl_guard WHERE resource = new.resource)"
    "  BEGIN SELECT RAISE(ABORT, 'the guard only rises'); END;"
    "INSERT INTO pawl_guard VALUES ('" ORDER "', 34)";

/* An earlier Pawl runs this for a token that is higher than the one it has read. */
static const char earlier_raise[] =
    "INSERT INTO main.pawl_guard (resource, highest_token) VALUES ('" ORDER "', 40)"
    "  ON CONFLICT (resource) DO UPDATE SET highest_token = excluded.highest_token";

/* Its extension runs this before each judgement. */
static const char earlier_check[] =
    "UPDATE main.pawl_guard SET highest_token = highest_token WHERE resource = '" ORDER "'";

static void guard_of_an_earlier_pawl_goes_on_until_it_is_installed_again(void **state)
{
    assert_int_equal(storage_sql_exec(db, earlier), 0);
    assert_int_equal(claim(db, ORDER, 33, &rejection), FENCE_ESTALE);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), 0);
    assert_int_equal(claim(db, ORDER, 35, &rejection), 0);
    assert_int_equal(claim(db, "orders/new", 1, &rejection), 0);
    assert_int_equal(claim_read(db, 36), FENCE_EIO);
    assert_int_equal(query("SELECT highest_token FROM pawl_guard WHERE resource = '" ORDER "'"),
                     35);
}

static void guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers(void **state)
{
    assert_int_equal(storage_sql_exec(db, earlier), 0);
    for (unsigned twice = 0; twice < 2; twice++)
        assert_int_equal(storage_guard_install(db), 0);
    assert_int_equal(query("SELECT highest_token FROM pawl_guard"), 34);
    assert_int_equal(query("SELECT reader_token FROM pawl_guard"), 0);
    assert_int_equal(claim(db, ORDER, 33, &rejection), FENCE_ESTALE);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), 0);
    assert_int_equal(claim_read(db, 34), 0);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), FENCE_ESTALE);
}

/* A program that was not updated writes as before, until a reader comes to the resource. */
static void earlier_pawl_is_refused_once_a_reader_came(void **state)
{
    assert_int_equal(storage_sql_exec(db, earlier), 0);
    assert_int_equal(storage_guard_install(db), 0);
    assert_int_equal(storage_sql_exec(db, earlier_raise), 0);
    assert_int_equal(storage_sql_exec(db, earlier_check), 0);
    assert_int_equal(query("SELECT highest_token FROM pawl_guard"), 40);
    assert_int_equal(claim_read(db, 41), 0);
    assert_int_equal(storage_sql_exec(db, earlier_raise), FENCE_EIO);
    assert_non_null(strstr(storage_guard_error(db), "needs a Pawl that knows readers"));
    assert_int_equal(storage_sql_exec(db, earlier_check), FENCE_EIO);
    assert_non_null(strstr(storage_guard_error(db), "needs a Pawl that knows readers"));
}

static void *install(void *arg)
{
    atomic_int *failures = arg;
    sqlite3 *own = open_database();
    if (storage_guard_install(own) != 0)
        (*failures)++;
    sqlite3_close(own);
    return NULL;
}

static void programs_that_install_at_once_are_not_in_each_others_way(void **state)
{
    atomic_int failures = 0;
    pthread_t threads[RACERS];
    assert_int_equal(storage_sql_exec(db, earlier), 0);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, install, &failures), 0);
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_int_equal(query("SELECT reader_token FROM pawl_guard"), 0);
}

static void bad_names_and_tokens_are_invalid_and_leave_nothing(void **state)
{
    rejection.token = 99;
    assert_int_equal(claim(db, "", 34, &rejection), FENCE_EINVAL);
    assert_int_equal(claim(db, "orders//42", 34, &rejection), FENCE_EINVAL);
    assert_int_equal(claim(db, ORDER, 0, &rejection), FENCE_EINVAL);
    assert_int_equal(guarded_write(db, ORDER, -1, &rejection), FENCE_EINVAL);
    assert_int_equal(claim(db, ORDER, FENCE_TOKEN_MAX + 1, &rejection), FENCE_EINVAL);
    assert_int_equal(rejection.token, 99);
    assert_int_equal(query("SELECT count(*) FROM pawl_guard"), 0);
}

static void failed_write_takes_its_raise_of_the_guard_with_it(void **state)
{
    assert_int_equal(storage_guard_begin(db), 0);
    assert_int_equal(storage_guard_check(db, ORDER, 34, &rejection), 0);
    int err = storage_sql_exec(db, "INSERT INTO nowhere VALUES (1)");
    assert_int_equal(err, FENCE_EIO);
    assert_string_equal(storage_guard_error(db), "no such table: nowhere");
    assert_int_equal(finish(db, err), FENCE_EIO);
    assert_int_equal(query("SELECT count(*) FROM pawl_guard"), 0);
}

static void second_writer_waits_out_the_first(void **state)
{
    sqlite3 *other = open_database();
    assert_int_equal(sqlite3_busy_timeout(other, 0), SQLITE_OK); /* not two seconds in a test */

    assert_int_equal(storage_guard_begin(db), 0);
    assert_int_equal(storage_guard_check(db, ORDER, 34, &rejection), 0);
    assert_int_equal(claim(other, ORDER, 35, &rejection), FENCE_EBUSY);
    assert_string_equal(storage_guard_error(other), "database is locked");
    assert_int_equal(finish(db, append_log(db, 34)), 0);

    assert_int_equal(claim(other, ORDER, 35, &rejection), 0);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), FENCE_ESTALE);
    sqlite3_close(other);
}

struct race {
    atomic_llong next_token;
    atomic_int failures; /* cmocka's asserts belong to the main thread */
};

static void *racer(void *arg)
{
    struct race *race = arg;
    sqlite3 *own = NULL;
    char text[128];
    if (storage_guard_open(path, text, sizeof text, &own) != 0) {
        race->failures++;
        return NULL;
    }
    for (int i = 0; i < RACER_WRITES; i++) {
        struct storage_rejection refused;
        int err = guarded_write(own, ORDER, atomic_fetch_add(&race->next_token, 1), &refused);
        if (err && err != FENCE_ESTALE && err != FENCE_EBUSY)
            race->failures++;
    }
    sqlite3_close(own);
    return NULL;
}

static void racing_writes_commit_in_the_order_of_their_tokens(void **state)
{
    struct race race = {.next_token = 1};
    pthread_t threads[RACERS];
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, racer, &race), 0);
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);

    assert_int_equal(race.failures, 0);
    assert_true(query("SELECT count(*) FROM log") > 0);
    assert_int_equal(query("SELECT count(*) FROM log AS earlier, log AS later"
                           "  WHERE later.rowid > earlier.rowid"
                           "  AND later.token < earlier.token"),
                     0);
    assert_int_equal(query("SELECT max(token) FROM log"),
                     query("SELECT highest_token FROM pawl_guard"));
}

/* Claims with token 34, writes without committing, says so, and waits to be killed. */
static void hold_until_killed(int ready_fd)
{
    sqlite3 *own = NULL;
    char text[128];
    if (storage_guard_open(path, text, sizeof text, &own) == 0 &&
        claim(own, ORDER, 34, &rejection) == 0 && storage_guard_begin(own) == 0 &&
        storage_guard_check(own, ORDER, 34, &rejection) == 0 && append_log(own, 34) == 0 &&
        write(ready_fd, "!", 1) == 1)
        pause();
    _exit(1);
}

static void claim_outlives_a_kill_before_its_write_and_the_write_does_not(void **state)
{
    sqlite3_close(db); /* a connection must not be carried through a fork */
    db = NULL;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_until_killed(ready[1]);
    close(ready[1]);
    char byte = 0;
    ssize_t got = read(ready[0], &byte, 1);
    close(ready[0]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(got, 1);

    db = open_database();
    assert_int_equal(query("SELECT count(*) FROM log"), 0);
    assert_int_equal(guarded_write(db, ORDER, 33, &rejection), FENCE_ESTALE);
    assert_int_equal(rejection.highest_token, 34);
    assert_int_equal(guarded_write(db, ORDER, 34, &rejection), 0);
}

static void by_identity_only_the_last_claimant_writes(void **state)
{
    rejection.token = 99;
    assert_int_equal(claim_id(ID_A), 0);
    assert_int_equal(check_id(ID_A), 0);
    assert_int_equal(claim_id(ID_B), 0);
    assert_int_equal(check_id(ID_A), FENCE_ESTALE);
    assert_int_equal(rejection.kind, STORAGE_REJECTED_WRITE_BY_ID);
    assert_int_equal(rejection.token, 0);
    assert_int_equal(check_id(ID_B), 0);
}

static void by_identity_an_unclaimed_resource_refuses_all(void **state)
{
    assert_int_equal(check_id(ID_A), FENCE_ESTALE);
    assert_int_equal(check_id(""), FENCE_EINVAL);
}

/* The known limit: a holder that slept before its claim turns its successor away. */
static void by_identity_a_late_claim_takes_the_resource_from_its_successor(void **state)
{
    assert_int_equal(claim_id(ID_B), 0);
    assert_int_equal(claim_id(ID_A), 0); /* A was granted the lock before B */
    assert_int_equal(check_id(ID_B), FENCE_ESTALE);
}

static int record(void)
{
    int err = storage_guard_begin(db);
    return err ? err : finish(db, storage_rejection_record(db, &rejection));
}

static void rejections_are_listed_newest_first(void **state)
{
    rejection = (struct storage_rejection){
        .kind = STORAGE_REJECTED_WRITE, .resource = ORDER, .highest_token = 34};
    for (rejection.token = 1; rejection.token <= 3; rejection.token++)
        assert_int_equal(record(), 0);

    struct storage_rejection list[2];
    size_t count = 0;
    assert_int_equal(storage_rejection_list(db, 2, list, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].token, 3);
    assert_int_equal(list[1].token, 2);
    assert_string_equal(list[0].resource, ORDER);
    assert_int_equal(list[0].kind, STORAGE_REJECTED_WRITE);
    assert_int_equal(list[0].highest_token, 34);
    assert_true(list[0].at_ms >= list[1].at_ms && list[1].at_ms > 0);
}

static void rejections_beyond_the_cap_drop_the_oldest(void **state)
{
    assert_int_equal(storage_sql_exec(db, "PRAGMA synchronous = OFF"), 0); /* for speed */
    rejection = (struct storage_rejection){.kind = STORAGE_REJECTED_CLAIM, .resource = ORDER};
    for (rejection.token = 1; rejection.token <= STORAGE_REJECTIONS_MAX + 5; rejection.token++)
        assert_int_equal(record(), 0);
    assert_int_equal(query("SELECT count(*) FROM pawl_rejection"), STORAGE_REJECTIONS_MAX);
    assert_int_equal(query("SELECT min(token) FROM pawl_rejection"), 6);
}

static void connection_commits_to_the_disk(void **state)
{
    enum {
        FULL = 2
    };
    assert_int_equal(query("PRAGMA synchronous"), FULL);
    assert_int_equal(query("PRAGMA foreign_keys"), 1);
    assert_int_equal(query("PRAGMA busy_timeout"), STORAGE_BUSY_TIMEOUT_MS);
}

static void database_that_forgets_is_refused(void **state)
{
    sqlite3 *other = NULL;
    char text[128] = "";
    assert_int_equal(storage_guard_open(":memory:", text, sizeof text, &other), FENCE_EINVAL);
    assert_string_equal(text, "not a durable database file");
    assert_int_equal(storage_guard_open("", text, sizeof text, &other), FENCE_EINVAL);
    assert_null(other);

    assert_int_equal(storage_sql_exec(db, "PRAGMA journal_mode = MEMORY"), 0);
    assert_int_equal(storage_guard_configure(db), FENCE_EINVAL);
}

static void open_that_fails_says_why(void **state)
{
    sqlite3 *other = NULL;
    char text[128] = "";
    assert_int_equal(storage_guard_open(dir, text, sizeof text, &other), FENCE_EIO);
    assert_string_equal(text, "unable to open database file");
    assert_null(other);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(claim_with_older_token_is_refused_and_names_the_highest),
    CASE(write_after_a_newer_claim_is_refused_and_leaves_nothing),
    CASE(refusals_by_and_of_readers_tell_the_token_that_refuses),
    CASE(check_of_a_reader_that_claimed_takes_no_write_lock),
    CASE(guard_of_an_earlier_pawl_goes_on_until_it_is_installed_again),
    CASE(guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers),
    CASE(earlier_pawl_is_refused_once_a_reader_came),
    CASE(programs_that_install_at_once_are_not_in_each_others_way),
    CASE(bad_names_and_tokens_are_invalid_and_leave_nothing),
    CASE(failed_write_takes_its_raise_of_the_guard_with_it),
    CASE(second_writer_waits_out_the_first),
    CASE(racing_writes_commit_in_the_order_of_their_tokens),
    CASE(claim_outlives_a_kill_before_its_write_and_the_write_does_not),
    CASE(by_identity_only_the_last_claimant_writes),
    CASE(by_identity_an_unclaimed_resource_refuses_all),
    CASE(by_identity_a_late_claim_takes_the_resource_from_its_successor),
    CASE(rejections_are_listed_newest_first),
    CASE(rejections_beyond_the_cap_drop_the_oldest),
    CASE(connection_commits_to_the_disk),
    CASE(database_that_forgets_is_refused),
    CASE(open_that_fails_says_why),
};

CASE_MAIN(cases, NULL, NULL)
