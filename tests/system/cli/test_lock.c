/* `pawl lock` over a pawld, as a person or cron runs it: the command, what ends it, and exit codes.
 */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/cli/locking.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RELEASE_TRIES = 10,
    PATIENCE_MS = LOCKING_PATIENCE_MS,
    PATH_BYTES = LOCKING_PATH_BYTES,
    EXIT_LOST = 123,
    EXIT_NOT_ACQUIRED = 124,
    EXIT_ERROR = 125,
};

/* Leaves its process id, and one of a daemon that it starts, in files. */
#define WITH_DAEMON "echo $$ >child; setsid sh -c 'echo $$ >daemon; exec sleep 60' & "

static void command_sees_its_token_and_its_lock(void **state)
{
    const struct grant before = call_grant(locking.service.port, "jobs/a", NULL);
    call_release(locking.service.port, "jobs/a", &before);
    assert_int_equal(
        locking_shell("\"$PAWL\" lock jobs/a -- sh -c 'echo $PAWL_TOKEN $PAWL_RESOURCE "
                      "$PAWL_TOKENS $PAWL_SERVER ${#PAWL_LOCK_ID}' >out 2>err"),
        0);
    char expected[PATH_BYTES];
    snprintf(expected, sizeof(expected), "%lld jobs/a {\"jobs/a\":%lld} http://127.0.0.1:%u 28\n",
             (long long)before.token + 1, (long long)before.token + 1, locking.service.port);
    locking_expect_text("out", expected);
}

static void nothing_of_its_own_is_on_standard_output(void **state)
{
    assert_int_equal(locking_shell("echo through | \"$PAWL\" lock a cat >out 2>err"), 0);
    locking_expect_text("out", "through\n");
    locking_expect_text("err", "pawl: got a: token 1\n");
}

static void several_locks_are_held_at_once(void **state)
{
    assert_int_equal(
        locking_shell("\"$PAWL\" lock --all a b -- sh -c 'echo \"$PAWL_TOKENS$PAWL_TOKEN\"; "
                      "\"$PAWL\" lock -n b true; echo $?' >out 2>err"),
        0);
    locking_expect_text("out", "{\"a\":1,\"b\":1}\n124\n");
    assert_int_equal(locking_shell("\"$PAWL\" lock -n b -- \"$PAWL\" lock -n a true"), 0);
}

static void semaphore_has_a_seat_for_each_permit(void **state)
{
    assert_int_equal(
        locking_shell("export TRY='echo $PAWL_SEAT; test $PAWL_RESOURCE = s#$PAWL_SEAT'\n"
                      "export LAST='\"$PAWL\" semaphore -n --permits 2 s true; echo $?'\n"
                      "\"$PAWL\" semaphore --permits 2 s -- sh -c 'eval \"$TRY\" && \"$PAWL\" "
                      "semaphore -n --permits=2 s -- sh -c \"$TRY; $LAST\"' >out 2>err && sort out "
                      ">sorted"),
        0);
    locking_expect_text("sorted", "0\n1\n124\n");
    assert_int_equal(locking_shell("\"$PAWL\" semaphore -n --permits 1 s -- true"), 0);
    assert_int_equal(locking_shell("\"$PAWL\" semaphore s -- true 2>err"), EXIT_ERROR);
    locking_expect_words("err", "--permits");
}

static void readers_run_side_by_side_and_a_writer_alone(void **state)
{
    assert_int_equal(
        locking_shell("export TRY='\"$PAWL\" rwlock -n write r true; echo $?'\n"
                      "\"$PAWL\" rwlock read r -- sh -c 'echo $PAWL_RESOURCE; \"$PAWL\" rwlock -n "
                      "read r -- sh -c \"echo again; $TRY\"' >out 2>err && "
                      "\"$PAWL\" rwlock write r -- sh -c 'echo $PAWL_RESOURCE$PAWL_SEAT; \"$PAWL\" "
                      "rwlock -n read r true; echo $?' >>out 2>err && sed 's/#.*//' out >names"),
        0);
    locking_expect_text("names", "r\nagain\n124\nr\n124\n");
    assert_int_equal(locking_shell("\"$PAWL\" rwlock r -- true 2>err"), EXIT_ERROR);
    locking_expect_words("err", "read nor write");
}

/* A command that was not meant never runs: "0" is its exit code here. */
static void dashes_belong_to_the_command_behind_the_name(void **state)
{
    static const char refused[] = "between the name and '--'. Use pawl lock ";
    static const struct {
        const char *words;
        const char *out; /* NULL: refused */
    } rows[] = {
        {"a -- echo x -- y", "x -- y\n"},
        {"a echo -p x", "-p x\n"},
        {"a -w 5s -- echo x -- y", "x -- y\n"},
        {"a -w 5s echo", "\n"},
        {"a /bin/echo x -- y", "x -- y\n"},
        {"a echo -p 22 x -- y", "-p 22 x -- y\n"},
        {"a echo 'x y' -- z", "x y -- z\n"},
        {"--all a b -- echo x -- y", "x -- y\n"},
        {"a --all b -- echo x", "x\n"},
        {"--all a -- echo x", "x\n"},
        {"a echo x -- uname -s", NULL},
        {"a b -- echo x", NULL},
        {"a b c -- echo x", NULL},
        {"a b -w 5s -- echo x", NULL},
        {"a b --why 'the nightly run' -- echo x", NULL},
        {"a b --serv http://127.0.0.1:1 -- echo x", NULL},
        {"a echo -n b -- echo x", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char script[LOCKING_SCRIPT_BYTES];
        snprintf(script, sizeof(script), "\"$PAWL\" lock %s >out 2>err", rows[i].words);
        const int status = locking_shell(script);
        char *out = locking_text("out");
        char *err = locking_text("err");
        if (status != (rows[i].out != NULL ? 0 : EXIT_ERROR) ||
            strcmp(out, rows[i].out != NULL ? rows[i].out : "") != 0 ||
            (rows[i].out == NULL && strstr(err, refused) == NULL))
            fail_msg("%s: %d, %s%s", rows[i].words, status, out, err);
        free(out);
        free(err);
    }
}

static void quiet_says_nothing_of_a_lock_that_is_held(void **state)
{
    assert_int_equal(
        locking_shell("\"$PAWL\" lock --quiet a -- sh -c '\"$PAWL\" lock --quiet -n -E 0 a true && "
                      "! \"$PAWL\" lock --quiet -w 50ms a true' >out 2>&1"),
        0);
    locking_expect_text("out", "");
}

static void exit_codes_are_the_commands_or_say_what_was_wrong(void **state)
{
    static const struct {
        const char *script;
        int status;
    } rows[] = {
        {"\"$PAWL\" lock a -- sh -c 'exit 7'", 7},
        {"\"$PAWL\" lock a sh -c 'exit 0'", 0},
        {"\"$PAWL\" lock a -- sh -c 'kill -KILL $$'", 128 + SIGKILL},
        {"\"$PAWL\" lock a -- no-such-command", 127},
        {"\"$PAWL\" lock a -- /etc/passwd", 126},
        {"\"$PAWL\" lock a", EXIT_ERROR},
        {"\"$PAWL\" lock -- true", EXIT_ERROR},
        {"\"$PAWL\" lock --all a true", EXIT_ERROR},
        {"\"$PAWL\" lock -w often a true", EXIT_ERROR},
        {"\"$PAWL\" lock --signal NONE a true", EXIT_ERROR},
        {"\"$PAWL\" lock 'not a name' true", EXIT_ERROR},
        {"\"$PAWL\" lock --ttl 9h a true", EXIT_ERROR},
        {"\"$PAWL\" frob", EXIT_ERROR},
        {"\"$PAWL\"", EXIT_ERROR},
        {"\"$PAWL\" --server nowhere lock a true", EXIT_ERROR},
        /* 126 would say that the command is wrong. */
        {"for n in 6 7 8 9 10 11 12 13 14; do (ulimit -n $n; \"$PAWL\" lock a true); "
         "case $? in 0 | 125) ;; *) exit 1 ;; esac; done",
         0},
        {"\"$PAWL\" lock a -- \"$PAWL\" lock -n a true", EXIT_NOT_ACQUIRED},
        {"\"$PAWL\" lock a -- \"$PAWL\" lock -w 100ms a true", EXIT_NOT_ACQUIRED},
        {"\"$PAWL\" lock a -- \"$PAWL\" lock -n -E 0 a true", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int status = locking_shell(rows[i].script);
        if (status != rows[i].status)
            fail_msg("%s: %d, not %d", rows[i].script, status, rows[i].status);
    }
}

static void who_waits_is_told_for_whom(void **state)
{
    assert_int_equal(locking_shell("\"$PAWL\" lock --why 'the nightly run' a -- "
                                   "\"$PAWL\" lock -w 200ms a true 2>err"),
                     EXIT_NOT_ACQUIRED);
    locking_expect_words("err", "pawl: waiting for a: held by the nightly run, for ");
}

static void another_server_is_tried(void **state)
{
    assert_int_equal(
        locking_shell("\"$PAWL\" --server http://127.0.0.1:1 --server $PAWL_SERVER lock a true"),
        0);
    assert_int_equal(
        locking_shell("PAWL_SERVER=\"http://127.0.0.1:1 $PAWL_SERVER\" \"$PAWL\" lock a true"), 0);
}

static void nobody_waits_where_no_server_answers(void **state)
{
    assert_int_equal(locking_shell("\"$PAWL\" --server http://127.0.0.1:1 lock a true 2>err"),
                     EXIT_ERROR);
    locking_expect_words("err", "pawl: cannot acquire a: http://127.0.0.1:1 does not answer: ");
}

static void signals_go_to_the_command(void **state)
{
    struct process *process = locking_start(
        "30s", "a", "trap 'exit 9' TERM; echo x >ready; while :; do sleep 0.05; done");
    (void)locking_number("ready");
    process_signal(process, SIGTERM);
    assert_int_equal(process_wait(process, PATIENCE_MS), 9);
    assert_int_equal(locking_shell("\"$PAWL\" lock -n a true"), 0);
}

static void lock_is_extended_while_the_command_runs(void **state)
{
    struct process *process = locking_start("1500ms", "a", "echo x >ready; sleep 4; exit 4");
    (void)locking_number("ready");
    wait_ms(3000);
    assert_int_equal(locking_shell("\"$PAWL\" lock -n a true"), EXIT_NOT_ACQUIRED);
    assert_int_equal(process_wait(process, PATIENCE_MS), 4);
}

static void command_goes_on_while_pawld_is_started_anew(void **state)
{
    struct process *process = locking_start("4s", "a", "echo x >ready; sleep 5; exit 4");
    (void)locking_number("ready");
    locking_restart_pawld();
    assert_int_equal(process_wait(process, PATIENCE_MS), 4);
}

static void command_ends_before_the_validity_when_pawld_is_stopped(void **state)
{
    struct process *process = locking_start("2s", "a", LOCKING_STAMPER);
    (void)locking_number("left");
    process_signal(locking.service.process, SIGSTOP);
    assert_int_equal(process_wait(process, PATIENCE_MS), EXIT_LOST);
    process_signal(locking.service.process, SIGCONT);
    locking_expect_ended_in_time();
}

static void command_ends_before_the_validity_when_pawl_is_stopped(void **state)
{
    struct process *process = locking_start("2s", "a", "echo $$ >child; " LOCKING_STAMPER);
    (void)locking_number("left");
    process_signal(process, SIGSTOP);
    locking_expect_end_of("child");
    process_signal(process, SIGCONT);
    assert_int_equal(process_wait(process, PATIENCE_MS), EXIT_LOST);
    locking_expect_ended_in_time();
}

static void command_ends_when_the_lock_is_lost(void **state)
{
    struct process *process = locking_start("1s", "a", "echo $PAWL_LOCK_ID >id; exec sleep 60");
    (void)locking_number("id");
    char header[PATH_BYTES];
    char *id = locking_text("id");
    snprintf(header, sizeof(header), "Lock-Id: %.*s\r\n", (int)strcspn(id, "\n"), id);
    free(id);
    const struct http_response *released;
    unsigned tries = 0;
    do { /* a disk that is busy for a moment is 503 */
        wait_ms(tries * 50);
        released = call(locking.service.port, "DELETE", "/v1/locks/a", header, NULL);
    } while (released->status == 503 && ++tries < RELEASE_TRIES);
    assert_int_equal(released->status, 200);
    assert_int_equal(process_wait(process, PATIENCE_MS), EXIT_LOST);
    locking_expect_words("said", "pawl: lost the lock, and ended the command: ");
}

static void command_ends_when_the_lock_is_broken(void **state)
{
    struct process *process = locking_start("1s", "a", "echo $PAWL_TOKEN >token; exec sleep 60");
    (void)locking_number("token");
    assert_int_equal(locking_shell("\"$PAWL\" break --yes a >broke"), 0);
    locking_expect_text("broke", "broke a, token 1\n");
    assert_int_equal(process_wait(process, PATIENCE_MS), EXIT_LOST);
    locking_expect_words("said", "pawl: lost the lock, and ended the command: a was broken by an "
                                 "operator\n");
}

static void all_ends_when_pawl_is_killed(void **state)
{
    struct process *process =
        locking_start("30s", "a", WITH_DAEMON "trap '' TERM; sleep 60 & wait");
    (void)locking_number("daemon");
    process_kill(process);
    locking_expect_end_of("child");
    locking_expect_end_of("daemon");
}

static void all_ends_when_the_watchdog_is_killed(void **state)
{
    struct process *process =
        locking_start("30s", "a", "echo $PPID >watchdog; " WITH_DAEMON "sleep 60 & wait");
    (void)locking_number("daemon");
    assert_int_equal(kill((pid_t)locking_number("watchdog"), SIGKILL), 0);
    assert_int_equal(process_wait(process, PATIENCE_MS), EXIT_ERROR);
    locking_expect_end_of("child");
    locking_expect_end_of("daemon");
}

static void command_ends_when_pawl_and_the_watchdog_are_killed(void **state)
{
    struct process *process =
        locking_start("30s", "a", "echo $PPID >watchdog; echo $$ >child; exec sleep 60");
    (void)locking_number("child");
    process_signal(process, SIGSTOP);
    assert_int_equal(kill((pid_t)locking_number("watchdog"), SIGKILL), 0);
    process_kill(process);
    locking_expect_end_of("child");
}

static void what_the_command_left_running_ends_before_the_release(void **state)
{
    struct process *process =
        locking_start("30s", "a", WITH_DAEMON "while ! [ -s daemon ]; do sleep 0.01; done; exit 3");
    assert_int_equal(process_wait(process, PATIENCE_MS), 3);
    locking_expect_end_of("daemon");
    assert_int_equal(locking_shell("\"$PAWL\" lock -n a true"), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, locking_begin, locking_end)

static const struct CMUnitTest cases[] = {
    CASE(command_sees_its_token_and_its_lock),
    CASE(nothing_of_its_own_is_on_standard_output),
    CASE(several_locks_are_held_at_once),
    CASE(semaphore_has_a_seat_for_each_permit),
    CASE(readers_run_side_by_side_and_a_writer_alone),
    CASE(dashes_belong_to_the_command_behind_the_name),
    CASE(quiet_says_nothing_of_a_lock_that_is_held),
    CASE(exit_codes_are_the_commands_or_say_what_was_wrong),
    CASE(who_waits_is_told_for_whom),
    CASE(another_server_is_tried),
    CASE(nobody_waits_where_no_server_answers),
    CASE(signals_go_to_the_command),
    CASE(lock_is_extended_while_the_command_runs),
    CASE(command_goes_on_while_pawld_is_started_anew),
    CASE(command_ends_before_the_validity_when_pawld_is_stopped),
    CASE(command_ends_before_the_validity_when_pawl_is_stopped),
    CASE(command_ends_when_the_lock_is_lost),
    CASE(command_ends_when_the_lock_is_broken),
    CASE(all_ends_when_pawl_is_killed),
    CASE(all_ends_when_the_watchdog_is_killed),
    CASE(command_ends_when_pawl_and_the_watchdog_are_killed),
    CASE(what_the_command_left_running_ends_before_the_release),
};

CASE_MAIN(cases, NULL, NULL)
