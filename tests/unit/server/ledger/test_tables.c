#include "server/ledger/tables.h"
#include "storage/sql/sql.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <string.h>

/* The ledger of a case, in its own folder, and what the last call told. */
static char *dir;
static char path[256];
static struct ledger ledger;
static struct ledger_account account;
static struct ledger_written written;
static int64_t highest;

static void open_ledger(struct ledger *opened, bool guarded)
{
    if (ledger_init(opened, path, guarded) != 0)
        fail_msg("cannot open the ledger: %s", opened->error);
}

static int setup_with(bool guarded)
{
    dir = tempdir_new();
    snprintf(path, sizeof path, "%s/ledger.db", dir);
    open_ledger(&ledger, guarded);
    return 0;
}

static int setup(void **state)
{
    return setup_with(true);
}

static int setup_unguarded(void **state)
{
    return setup_with(false);
}

static int teardown(void **state)
{
    ledger_fini(&ledger);
    tempdir_remove(dir);
    return 0;
}

static int write_balance(int64_t token, int64_t balance)
{
    struct ledger_write write = {.id = "alice", .balance = balance, .memo = "", .token = token};
    return ledger_write(&ledger, &write, &written);
}

static int claim(int64_t token)
{
    return ledger_claim(&ledger, "alice", token, &account, &highest);
}

static int64_t balance_of_alice(void)
{
    assert_int_equal(ledger_read(&ledger, "alice", &account), 0);
    return account.balance;
}

static void write_creates_the_account_and_then_counts_its_versions(void **state)
{
    struct ledger_write write = {
        .id = "alice", .balance = 100, .memo = "gr\xc3\xbc\xc3\x9f", .token = 7};
    assert_int_equal(ledger_write(&ledger, &write, &written), 0);
    assert_true(written.created);
    assert_int_equal(written.account.version, 1);

    write.balance = -5;
    write.token = 8;
    assert_int_equal(ledger_write(&ledger, &write, &written), 0);
    assert_false(written.created);

    assert_int_equal(ledger_read(&ledger, "alice", &account), 0);
    assert_memory_equal(&account, &written.account, sizeof account);
    assert_string_equal(account.id, "alice");
    assert_int_equal(account.balance, -5);
    assert_string_equal(account.memo, "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(account.version, 2);
    assert_int_equal(account.token, 8);
}

static void account_that_is_not_there_is_told(void **state)
{
    assert_int_equal(ledger_read(&ledger, "nobody", &account), FENCE_ENOENT);
    assert_string_equal(ledger.error, "");
}

static void accounts_and_guards_outlive_the_process(void **state)
{
    assert_int_equal(write_balance(34, 100), 0);
    ledger_fini(&ledger);
    open_ledger(&ledger, true);
    assert_int_equal(balance_of_alice(), 100);
    assert_int_equal(write_balance(33, 200), FENCE_ESTALE);
}

static void claim_reads_the_account_and_shuts_older_tokens_out(void **state)
{
    assert_int_equal(write_balance(33, 100), 0);
    assert_int_equal(claim(34), 0);
    assert_int_equal(account.balance, 100);
    assert_int_equal(account.token, 33); /* token of the last write: the claim wrote nothing */
    assert_int_equal(claim(33), FENCE_ESTALE);
    assert_int_equal(highest, 34);
}

static void claim_of_a_missing_account_stands(void **state)
{
    assert_int_equal(claim(34), FENCE_ENOENT);
    assert_int_equal(write_balance(33, 100), FENCE_ESTALE);
    assert_int_equal(write_balance(34, 100), 0);
}

/* A reads under token 33, and sleeps through its lease. B adds @amount under token 34. Returns what
 * A read. */
static int64_t sleep_while_another_adds(int64_t amount)
{
    assert_int_equal(write_balance(32, 100), 0);
    assert_int_equal(claim(33), 0);
    const int64_t seen_by_a = account.balance;
    assert_int_equal(claim(34), 0);
    assert_int_equal(write_balance(34, account.balance + amount), 0);
    return seen_by_a;
}

/* The purpose of all: A reads, sleeps through its lease, B takes over, A wakes up and writes. */
static void holder_that_slept_through_its_lease_overwrites_nothing(void **state)
{
    const int64_t seen_by_a = sleep_while_another_adds(50);
    struct ledger_write late = {
        .id = "alice", .balance = seen_by_a + 1, .memo = "late", .token = 33};
    assert_int_equal(ledger_write(&ledger, &late, &written), FENCE_ESTALE);
    assert_int_equal(written.highest_token, 34);
    assert_int_equal(balance_of_alice(), 150);
}

/* The control: the same story loses B's update, or the case above would show nothing. */
static void unguarded_holder_that_slept_overwrites_its_successor(void **state)
{
    const int64_t seen_by_a = sleep_while_another_adds(50);
    assert_int_equal(write_balance(33, seen_by_a + 1), 0);
    assert_int_equal(balance_of_alice(), 101);
}

static void unguarded_token_is_optional(void **state)
{
    assert_int_equal(write_balance(0, 100), 0);
    assert_int_equal(ledger_read(&ledger, "alice", &account), 0);
    assert_int_equal(account.token, 0);
    assert_int_equal(claim(0), 0);
    assert_int_equal(write_balance(-1, 100), FENCE_EINVAL);
}

static void expected_version_must_be_the_one_there(void **state)
{
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 33, .expected_version = 1};
    assert_int_equal(ledger_write(&ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(written.version, 0); /* no account yet */

    assert_int_equal(write_balance(33, 100), 0);
    assert_int_equal(ledger_write(&ledger, &write, &written), 0);
    assert_int_equal(ledger_write(&ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(written.version, 2);
}

static void version_conflict_leaves_account_and_guard_as_they_were(void **state)
{
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 99, .expected_version = 5};
    assert_int_equal(write_balance(33, 100), 0);
    assert_int_equal(ledger_write(&ledger, &write, &written), FENCE_ECONFLICT);
    assert_int_equal(write_balance(34, 200), 0); /* 99 raised nothing */
}

static void stale_token_is_told_before_a_version_conflict(void **state)
{
    struct ledger_write write = {
        .id = "alice", .balance = 1, .memo = "", .token = 33, .expected_version = 5};
    assert_int_equal(write_balance(34, 100), 0);
    assert_int_equal(ledger_write(&ledger, &write, &written), FENCE_ESTALE);
}

static void refusals_are_on_record_newest_first(void **state)
{
    assert_int_equal(write_balance(34, 100), 0);
    assert_int_equal(write_balance(33, 1), FENCE_ESTALE);
    assert_int_equal(claim(32), FENCE_ESTALE);

    struct storage_rejection list[8];
    size_t count = 0;
    assert_int_equal(ledger_rejections(&ledger, 8, list, &count), 0);
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
    assert_int_equal(write_balance(34, 100), 0);
    assert_int_equal(storage_sql_exec(ledger.db, "DROP TABLE pawl_rejection"), 0);
    assert_int_equal(write_balance(33, 1), FENCE_ESTALE);
    assert_string_equal(ledger.error, "no such table: pawl_rejection");
    assert_int_equal(balance_of_alice(), 100);
}

static void locked_file_is_busy_and_a_later_try_succeeds(void **state)
{
    struct ledger other;
    open_ledger(&other, true);
    assert_int_equal(sqlite3_busy_timeout(ledger.db, 0), SQLITE_OK);

    assert_int_equal(storage_sql_exec(other.db, "BEGIN IMMEDIATE"), 0);
    assert_int_equal(write_balance(34, 100), FENCE_EBUSY);
    assert_string_equal(ledger.error, "database is locked");
    assert_int_equal(storage_sql_exec(other.db, "ROLLBACK"), 0);
    assert_int_equal(write_balance(34, 100), 0);
    assert_string_equal(ledger.error, "");
    ledger_fini(&other);
}

static void write_that_fails_in_the_database_changes_nothing(void **state)
{
    assert_int_equal(write_balance(33, 100), 0);
    assert_int_equal(storage_sql_exec(ledger.db, "CREATE TRIGGER broken BEFORE UPDATE ON account"
                                                 "  BEGIN SELECT RAISE(FAIL, 'broken'); END"),
                     0);
    assert_int_equal(write_balance(99, 1), FENCE_EIO);
    assert_string_equal(ledger.error, "broken");
    assert_int_equal(storage_sql_exec(ledger.db, "DROP TRIGGER broken"), 0);
    assert_int_equal(balance_of_alice(), 100);
    assert_int_equal(write_balance(34, 200), 0); /* 99 raised nothing */
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
    char memo[LEDGER_MEMO_MAX + 2];
    memset(memo, 'm', sizeof memo - 1);
    memo[LEDGER_MEMO_MAX + 1] = '\0';
    struct ledger_write write = {.id = "alice", .memo = memo, .token = 34};
    assert_int_equal(ledger_write(&ledger, &write, &written), FENCE_EINVAL);
    write.memo = memo + 1;
    assert_int_equal(ledger_write(&ledger, &write, &written), 0);

    assert_int_equal(write_balance(34, LEDGER_BALANCE_MAX), 0);
    assert_int_equal(write_balance(34, -LEDGER_BALANCE_MAX), 0);
    assert_int_equal(write_balance(34, LEDGER_BALANCE_MAX + 1), FENCE_EINVAL);
    assert_int_equal(write_balance(34, INT64_MIN), FENCE_EINVAL);
    assert_int_equal(write_balance(0, 100), FENCE_EINVAL); /* guarded */
    assert_int_equal(balance_of_alice(), -LEDGER_BALANCE_MAX);
}

static void file_that_is_no_database_is_refused_with_its_reason(void **state)
{
    struct ledger other;
    char text[300];
    snprintf(text, sizeof text, "%s/text", dir);
    FILE *file = fopen(text, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        fputs("this is no database\n", file);
    fclose(file);
    assert_int_equal(ledger_init(&other, text, true), FENCE_EIO);
    assert_string_equal(other.error, "file is not a database");
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
