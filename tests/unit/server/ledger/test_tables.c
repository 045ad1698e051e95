#include "server/ledger/tables.h"
#include "storage/sql/sql.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    char *dir;
    char path[256];
    struct ledger ledger;
};

static void open_ledger(struct fixture *fixture, bool guarded)
{
    if (ledger_init(&fixture->ledger, fixture->path, guarded) != 0)
        fail_msg("cannot open the ledger: %s", fixture->ledger.error);
}

static int setup_with(void **state, bool guarded)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->dir = tempdir_new();
    snprintf(fixture->path, sizeof fixture->path, "%s/ledger.db", fixture->dir);
    open_ledger(fixture, guarded);
    *state = fixture;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, true);
}

static int setup_unguarded(void **state)
{
    return setup_with(state, false);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    ledger_fini(&fixture->ledger);
    tempdir_remove(fixture->dir);
    free(fixture);
    return 0;
}

static int write_balance(struct ledger *ledger, int64_t token, int64_t balance)
{
    struct ledger_write write = {.id = "alice", .balance = balance, .memo = "", .token = token};
    struct ledger_written written;
    return ledger_write(ledger, &write, &written);
}

static int64_t balance_of(struct ledger *ledger, const char *id)
{
    struct ledger_account account;
    assert_int_equal(ledger_read(ledger, id, &account), 0);
    return account.balance;
}

static void write_creates_the_account_and_then_counts_its_versions(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_write write = {
        .id = "alice", .balance = 100, .memo = "gr\xc3\xbc\xc3\x9f", .token = 7};
    struct ledger_written written;
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), 0);
    assert_true(written.created);
    assert_int_equal(written.account.version, 1);

    write.balance = -5;
    write.token = 8;
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), 0);
    assert_false(written.created);

    struct ledger_account account;
    assert_int_equal(ledger_read(&fixture->ledger, "alice", &account), 0);
    assert_memory_equal(&account, &written.account, sizeof account);
    assert_string_equal(account.id, "alice");
    assert_int_equal(account.balance, -5);
    assert_string_equal(account.memo, "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(account.version, 2);
    assert_int_equal(account.token, 8);
}

static void account_that_is_not_there_is_told(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account account;
    assert_int_equal(ledger_read(&fixture->ledger, "nobody", &account), FENCE_ENOENT);
    assert_string_equal(fixture->ledger.error, "");
}

static void accounts_and_guards_outlive_the_process(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
    ledger_fini(&fixture->ledger);
    open_ledger(fixture, true);
    assert_int_equal(balance_of(&fixture->ledger, "alice"), 100);
    assert_int_equal(write_balance(&fixture->ledger, 33, 200), FENCE_ESTALE);
}

static void claim_reads_the_account_and_shuts_older_tokens_out(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account account;
    int64_t highest = 0;
    assert_int_equal(write_balance(&fixture->ledger, 33, 100), 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 34, &account, &highest), 0);
    assert_int_equal(account.balance, 100);
    assert_int_equal(account.token, 33); /* of the last write: the claim wrote nothing */
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 33, &account, &highest), FENCE_ESTALE);
    assert_int_equal(highest, 34);
}

static void claim_of_a_missing_account_stands(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account account;
    int64_t highest = 0;
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 34, &account, &highest), FENCE_ENOENT);
    assert_int_equal(write_balance(&fixture->ledger, 33, 100), FENCE_ESTALE);
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
}

/* What it is all for: A reads, sleeps through its lease, B takes over, A wakes up and writes. */
static void holder_that_slept_through_its_lease_overwrites_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account seen_by_a;
    struct ledger_account seen_by_b;
    int64_t highest = 0;
    assert_int_equal(write_balance(&fixture->ledger, 32, 100), 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 33, &seen_by_a, &highest), 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 34, &seen_by_b, &highest), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, seen_by_b.balance + 50), 0);

    struct ledger_write late = {
        .id = "alice", .balance = seen_by_a.balance + 1, .memo = "late", .token = 33};
    struct ledger_written written;
    assert_int_equal(ledger_write(&fixture->ledger, &late, &written), FENCE_ESTALE);
    assert_int_equal(written.highest_token, 34);
    assert_int_equal(balance_of(&fixture->ledger, "alice"), 150);
}

/* The control: the same story loses B's update, or the case above would show nothing. */
static void unguarded_holder_that_slept_overwrites_its_successor(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account seen_by_a;
    struct ledger_account seen_by_b;
    int64_t highest = 0;
    assert_int_equal(write_balance(&fixture->ledger, 32, 100), 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 33, &seen_by_a, &highest), 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 34, &seen_by_b, &highest), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, seen_by_b.balance + 50), 0);
    assert_int_equal(write_balance(&fixture->ledger, 33, seen_by_a.balance + 1), 0);
    assert_int_equal(balance_of(&fixture->ledger, "alice"), 101);
}

static void unguarded_token_is_optional(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account account;
    int64_t highest = 0;
    assert_int_equal(write_balance(&fixture->ledger, 0, 100), 0);
    assert_int_equal(ledger_read(&fixture->ledger, "alice", &account), 0);
    assert_int_equal(account.token, 0);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 0, &account, &highest), 0);
    assert_int_equal(write_balance(&fixture->ledger, -1, 100), FENCE_EINVAL);
}

static void expected_version_must_be_the_one_there(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 33, .expected_version = 1};
    struct ledger_written written;
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(written.version, 0); /* no account yet */

    assert_int_equal(write_balance(&fixture->ledger, 33, 100), 0);
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), 0);
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(written.version, 2);
}

static void version_conflict_leaves_account_and_guard_as_they_were(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 99, .expected_version = 5};
    struct ledger_written written;
    assert_int_equal(write_balance(&fixture->ledger, 33, 100), 0);
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(write_balance(&fixture->ledger, 34, 200), 0); /* 99 raised nothing */
}

static void stale_token_is_told_before_a_version_conflict(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 33, .expected_version = 5};
    struct ledger_written written;
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), FENCE_ESTALE);
}

static void refusals_are_on_record_newest_first(void **state)
{
    struct fixture *fixture = *state;
    struct ledger_account account;
    int64_t highest = 0;
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
    assert_int_equal(write_balance(&fixture->ledger, 33, 1), FENCE_ESTALE);
    assert_int_equal(ledger_claim(&fixture->ledger, "alice", 32, &account, &highest), FENCE_ESTALE);

    struct storage_rejection list[8];
    size_t count = 0;
    assert_int_equal(ledger_rejections(&fixture->ledger, 8, list, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].kind, STORAGE_REJECTED_CLAIM);
    assert_int_equal(list[0].token, 32);
    assert_int_equal(list[1].kind, STORAGE_REJECTED_WRITE);
    assert_int_equal(list[1].token, 33);
    assert_int_equal(list[1].highest_token, 34);
    assert_string_equal(list[1].resource, "accounts/alice");
}

static void refusal_stands_where_its_record_fails(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
    assert_int_equal(storage_sql_exec(fixture->ledger.db, "DROP TABLE pawl_rejection"), 0);
    assert_int_equal(write_balance(&fixture->ledger, 33, 1), FENCE_ESTALE);
    assert_string_equal(fixture->ledger.error, "no such table: pawl_rejection");
    assert_int_equal(balance_of(&fixture->ledger, "alice"), 100);
}

static void locked_file_is_busy_and_a_later_try_succeeds(void **state)
{
    struct fixture *fixture = *state;
    struct fixture other = {.dir = NULL};
    memcpy(other.path, fixture->path, sizeof other.path);
    open_ledger(&other, true);
    assert_int_equal(sqlite3_busy_timeout(fixture->ledger.db, 0), SQLITE_OK);

    assert_int_equal(storage_sql_exec(other.ledger.db, "BEGIN IMMEDIATE"), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), FENCE_EBUSY);
    assert_string_equal(fixture->ledger.error, "database is locked");
    assert_int_equal(storage_sql_exec(other.ledger.db, "ROLLBACK"), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, 100), 0);
    assert_string_equal(fixture->ledger.error, "");
    ledger_fini(&other.ledger);
}

static void write_that_fails_in_the_database_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(write_balance(&fixture->ledger, 33, 100), 0);
    assert_int_equal(storage_sql_exec(fixture->ledger.db,
                                      "CREATE TRIGGER broken BEFORE UPDATE ON account"
                                      "  BEGIN SELECT RAISE(FAIL, 'broken'); END"),
                     0);
    assert_int_equal(write_balance(&fixture->ledger, 99, 1), FENCE_EIO);
    assert_string_equal(fixture->ledger.error, "broken");
    assert_int_equal(storage_sql_exec(fixture->ledger.db, "DROP TRIGGER broken"), 0);
    assert_int_equal(balance_of(&fixture->ledger, "alice"), 100);
    assert_int_equal(write_balance(&fixture->ledger, 34, 200), 0); /* 99 raised nothing */
}

static void account_ids_are_one_segment_of_a_resource_name(void **state)
{
    char longest[LEDGER_ID_MAX + 2];
    memset(longest, 'a', sizeof longest - 1);
    longest[LEDGER_ID_MAX + 1] = '\0';
    static const char *const bad[] = {"", ".", "..", "a/b", "a:b", "a@b", "a b", "\xc3\xbc"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ledger_id_valid(bad[i]));
    assert_false(ledger_id_valid(longest));
    assert_true(ledger_id_valid(longest + 1));
    assert_true(ledger_id_valid("A.z-0_9~"));
}

static void values_out_of_bounds_are_invalid(void **state)
{
    struct fixture *fixture = *state;
    char memo[LEDGER_MEMO_MAX + 2];
    memset(memo, 'm', sizeof memo - 1);
    memo[LEDGER_MEMO_MAX + 1] = '\0';
    struct ledger_write write = {.id = "alice", .memo = memo, .token = 34};
    struct ledger_written written;
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), FENCE_EINVAL);
    write.memo = memo + 1;
    assert_int_equal(ledger_write(&fixture->ledger, &write, &written), 0);

    assert_int_equal(write_balance(&fixture->ledger, 34, LEDGER_BALANCE_MAX), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, -LEDGER_BALANCE_MAX), 0);
    assert_int_equal(write_balance(&fixture->ledger, 34, LEDGER_BALANCE_MAX + 1), FENCE_EINVAL);
    assert_int_equal(write_balance(&fixture->ledger, 34, INT64_MIN), FENCE_EINVAL);
    assert_int_equal(write_balance(&fixture->ledger, 0, 100), FENCE_EINVAL); /* guarded */
    assert_int_equal(balance_of(&fixture->ledger, "alice"), -LEDGER_BALANCE_MAX);
}

static void file_that_is_no_database_is_refused_with_its_reason(void **state)
{
    struct fixture *fixture = *state;
    struct ledger ledger;
    char path[300];
    snprintf(path, sizeof path, "%s/text", fixture->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        fputs("this is no database\n", file);
    fclose(file);
    assert_int_equal(ledger_init(&ledger, path, true), FENCE_EIO);
    assert_string_equal(ledger.error, "file is not a database");
}

#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define UNGUARDED(name) cmocka_unit_test_setup_teardown(name, setup_unguarded, teardown)

static const struct CMUnitTest cases[] = {
    CASE(write_creates_the_account_and_then_counts_its_versions),
    CASE(account_that_is_not_there_is_told),
    CASE(accounts_and_guards_outlive_the_process),
    CASE(claim_reads_the_account_and_shuts_older_tokens_out),
    CASE(claim_of_a_missing_account_stands),
    CASE(holder_that_slept_through_its_lease_overwrites_nothing),
    UNGUARDED(unguarded_holder_that_slept_overwrites_its_successor),
    UNGUARDED(unguarded_token_is_optional),
    CASE(expected_version_must_be_the_one_there),
    CASE(version_conflict_leaves_account_and_guard_as_they_were),
    CASE(stale_token_is_told_before_a_version_conflict),
    CASE(refusals_are_on_record_newest_first),
    CASE(refusal_stands_where_its_record_fails),
    CASE(locked_file_is_busy_and_a_later_try_succeeds),
    CASE(write_that_fails_in_the_database_changes_nothing),
    CASE(account_ids_are_one_segment_of_a_resource_name),
    CASE(values_out_of_bounds_are_invalid),
    CASE(file_that_is_no_database_is_refused_with_its_reason),
};

CASE_MAIN(cases, NULL, NULL)
