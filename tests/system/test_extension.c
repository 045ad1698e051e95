/* pawl.so in programs of others: the sqlite3 shell, Python, Node, and two cron jobs under a lock of
 * a real pawld. The tests run the text of the page for users, storage/guard/sqlite/EXTENSION.md.
 */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/cli/locking.h"

#include <stdlib.h>

enum {
    SQLITE_REFUSED = 19, /* SQLITE_CONSTRAINT, as the exit status of sqlite3 */
    BAILED = 1,
    CASE_MISSING = 99,
};

/* A shell's words. `block LANGUAGE N` writes the Nth block of the page, with the module of this
 * build in place of the installed one. */
#define WORDS                                                                                      \
    "block() { awk -v lang=\"$1\" -v n=\"$2\" '/^```/ { on = ($0 == \"```\" lang) && ++count == "  \
    "n;"                                                                                           \
    " next } on' \"$PAGE\" | sed \"s#/usr/lib/sqlite3/pawl#$MODULE#\"; }; "                        \
    "PATH=\"${PAWL%/*}:$PATH\"; python=/usr/bin/python3; "

/* The database as the page makes it. */
static int begin_with_orders(void **state)
{
    char *module;
    const char *build = getenv("PAWL_BUILD");
    locking_begin(state);
    module = realpath(build ? build : "build", NULL);
    assert_non_null(module);
    char text[LOCKING_PATH_BYTES];
    snprintf(text, sizeof(text), "%s/storage/pawl", module);
    free(module);
    setenv("MODULE", text, 1);
    setenv("PAGE", PAWL_EXTENSION_PAGE, 1);
    setenv("NODE", PAWL_NODE_22, 1);
    assert_int_equal(locking_shell(WORDS "block sql 1 | sqlite3 -bail orders.db"), 0);
    return 0;
}

static void expect_answer(const char *question, const char *answer)
{
    setenv("QUESTION", question, 1);
    assert_int_equal(locking_shell("sqlite3 orders.db \"$QUESTION\" >answer"), 0);
    locking_expect_text("answer", answer);
}

static void claim(const char *call)
{
    setenv("CALL", call, 1);
    assert_int_equal(locking_shell("sqlite3 orders.db \".load $MODULE\" \"SELECT $CALL\""), 0);
}

#define STALE_CHECK "BEGIN IMMEDIATE; SELECT pawl_check('orders/42', 33); "

static void shell_with_arguments_ends_at_the_refusal(void **state)
{
    claim("pawl_claim('orders/42', 34)");
    assert_int_equal(locking_shell("sqlite3 orders.db \".load $MODULE\" \"" STALE_CHECK
                                   "UPDATE orders SET state = 'lost'; COMMIT\" "
                                   "\"UPDATE orders SET state = 'lost'\" 2>err"),
                     SQLITE_REFUSED);
    assert_int_equal(locking_shell("grep 'stale-token: orders/42 has seen token 34, and 33' err"),
                     0);
    expect_answer("SELECT state FROM orders", "new\n");
}

/* Runs a stale write from a pipe. Returns the exit status. */
static int pipe_stale_write(const char *option)
{
    setenv("OPTION", option, 1);
    return locking_shell(
        "{ echo \".load $MODULE\"; echo \"PRAGMA recursive_triggers = ON; " STALE_CHECK
        "\"; echo \"UPDATE orders SET state = 'lost'; COMMIT;\"; } |"
        " sqlite3 $OPTION orders.db 2>err");
}

static void shell_with_a_pipe_ends_at_the_refusal_where_it_bails(void **state)
{
    claim("pawl_claim('orders/42', 34)");
    assert_int_equal(pipe_stale_write("-bail"), BAILED);
    expect_answer("SELECT state FROM orders", "new\n");
}

/* The page warns of it: the shell goes on after the refusal, and commits the write. */
static void shell_that_does_not_bail_is_refused_by_a_protected_table_only(void **state)
{
    claim("pawl_claim('orders/42', 34)");
    assert_int_equal(
        locking_shell(WORDS "{ echo \".load $MODULE\"; block sql 2; } | sqlite3 -bail orders.db"),
        0);
    assert_int_equal(pipe_stale_write("-batch"), BAILED);
    expect_answer("SELECT state FROM orders", "new\n");
    claim("pawl_unprotect('orders')");
    assert_int_equal(pipe_stale_write("-batch"), BAILED);
    expect_answer("SELECT state FROM orders", "lost\n");
}

static void python_claims_reads_checks_and_writes(void **state)
{
    const int status = locking_shell(
        WORDS "$python -c 'import sqlite3; sqlite3.Connection.enable_load_extension' || exit 99;"
              "block python 1 >work.py && pawl lock orders/42 -- $python work.py");
    if (status == CASE_MISSING)
        case_skip("Python's sqlite3 loads no extensions here");
    assert_int_equal(status, 0);
    expect_answer("SELECT state FROM orders", "new, paid\n");
    expect_answer("SELECT highest_token FROM pawl_guard", "1\n");
    claim("pawl_claim('orders/42', 9)");
    assert_int_equal(locking_shell(WORDS "PAWL_TOKEN=8 $python work.py 2>err"), 1);
    assert_int_equal(locking_shell("grep -q '^sqlite3.IntegrityError: stale-token: ' err"), 0);
    expect_answer("SELECT state FROM orders", "new, paid\n");
}

static void node_checks_and_writes(void **state)
{
    const int status =
        locking_shell(WORDS "block js 1 >work.mjs && pawl lock orders/42 -- \"$NODE\" work.mjs");
    if (status == CASE_SKIPPED)
        case_skip("there is no Node with node:sqlite");
    assert_int_equal(status, 0);
    expect_answer("SELECT state FROM orders", "sent\n");
    claim("pawl_claim('orders/42', 9)");
    assert_int_equal(locking_shell("PAWL_TOKEN=8 \"$NODE\" work.mjs 2>err"), 1);
    assert_int_equal(locking_shell("grep -q 'Error: stale-token: ' err"), 0);
}

/* An operator breaks the lock of a job that hangs, and the other job runs. The first one wakes up
 * before it knows. */
static void stale_cron_job_is_refused(void **state)
{
    static const char late[] =
        "echo $$ >began; while [ ! -e go ]; do sleep 0.02; done; "
        "sqlite3 orders.db \".load $MODULE\" \"BEGIN IMMEDIATE; SELECT pawl_check('backup', "
        "$PAWL_TOKEN); UPDATE orders SET state = 'late'; COMMIT\" 2>err";
    struct process *job = locking_start("60s", "backup", late);
    (void)locking_number("began");
    assert_int_equal(locking_shell("\"$PAWL\" break --yes backup"), 0);
    assert_int_equal(locking_shell(WORDS "block sh 1 >nightly && sh nightly"), 0);
    expect_answer("SELECT state FROM orders", "kept\n");
    assert_int_equal(locking_shell("touch go"), 0);
    assert_int_equal(process_wait(job, LOCKING_PATIENCE_MS), SQLITE_REFUSED);
    assert_int_equal(
        locking_shell("grep -q 'stale-token: backup has seen token .*, and 1 is older' err"), 0);
    expect_answer("SELECT state FROM orders", "kept\n");
}

#define EXTENSION_CASE(name) cmocka_unit_test_setup_teardown(name, begin_with_orders, locking_end)

static const struct CMUnitTest cases[] = {
    EXTENSION_CASE(shell_with_arguments_ends_at_the_refusal),
    EXTENSION_CASE(shell_with_a_pipe_ends_at_the_refusal_where_it_bails),
    EXTENSION_CASE(shell_that_does_not_bail_is_refused_by_a_protected_table_only),
    EXTENSION_CASE(python_claims_reads_checks_and_writes),
    EXTENSION_CASE(node_checks_and_writes),
    EXTENSION_CASE(stale_cron_job_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
