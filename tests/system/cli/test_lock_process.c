/* `pawl lock`: what the command inherits, what it forks, a pawld that hangs, and leases without
 * end.
 */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/cli/locking.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_LOST = 123,
    STOPS = 2500,
    STOP_US = 150,
    AT_ONCE_MS = 1000,
    AT_ONCE_TRIES = 5,    /* others may have kept the machine busy */
    GOES_ON_MS = 300,     /* in which a command that was not ended writes again */
    EXIT_DELAY_MS = 8500, /* a release that no call answers takes five seconds, a renewer two */
};

/* A shell's words: write the time, in hundredths of a second of the boot clock. */
#define STAMPS                                                                                     \
    "trap \"\" TERM; while :; do read -r up rest </proc/uptime; echo ${up%.*}${up#*.} >>stamps; "  \
    "sleep 0.02; done"
#define STAMP_ONCE "read -r up rest </proc/uptime; echo ${up%.*}${up#*.} >next"

static void command_inherits_no_descriptor_of_pawl(void **state)
{
    assert_int_equal(locking_shell("ls /proc/self/fd >plain; "
                                   "\"$PAWL\" lock a ls /proc/self/fd >under && cmp plain under"),
                     0);
    assert_int_equal(locking_shell("exec 9>nine; ls /proc/self/fd >plain; "
                                   "\"$PAWL\" lock a ls /proc/self/fd >under && cmp plain under"),
                     0);
}

static void command_gets_signals_as_pawl_got_them(void **state)
{
    static const char *const traps[] = {":", "trap '' PIPE USR1 HUP", "trap '' INT TERM TSTP"};
    for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
        char script[LOCKING_SCRIPT_BYTES];
        snprintf(script, sizeof(script),
                 "%s; grep -E '^Sig(Blk|Ign)' /proc/self/status >plain; "
                 "\"$PAWL\" lock a grep -E '^Sig(Blk|Ign)' /proc/self/status >under; "
                 "cmp plain under",
                 traps[i]);
        if (locking_shell(script) != 0)
            fail_msg("other signals after %s", traps[i]);
    }
}

static void closed_standard_error_does_not_end_pawl(void **state)
{
    assert_int_equal(
        locking_shell("{ sleep 0.3; \"$PAWL\" lock a sh -c 'exit 5'; echo $? >code; } 2>&1 | true"),
        0);
    locking_expect_text("code", "5\n");
    assert_int_equal(locking_shell("\"$PAWL\" lock -n a true"), 0);
}

/* The pipe is full, and its reader sleeps. */
static void full_standard_error_does_not_stop_pawl(void **state)
{
    assert_int_equal(
        locking_shell("{ head -c 65536 /dev/zero >&2; \"$PAWL\" lock a sh -c 'exit 5'; "
                      "echo $? >code; } 2>&1 | { sleep 4; cp code seen; }"),
        0);
    locking_expect_text("seen", "5\n");
}

static void command_in_the_foreground_shares_the_group(void **state)
{
    assert_int_equal(
        locking_shell("group() { cut -d ' ' -f 5 /proc/$1/stat; }; group self >plain; "
                      "\"$PAWL\" lock --foreground a cut -d ' ' -f 5 /proc/self/stat >same; "
                      "\"$PAWL\" lock a cut -d ' ' -f 5 /proc/self/stat >other; "
                      "cmp plain same && ! cmp -s plain other"),
        0);
}

/* It is asked to end as all others are, and not only killed. */
static void child_of_another_thread_is_asked_to_end(void **state)
{
    char *forks = pawl_program("../tests/forks");
    char script[LOCKING_SCRIPT_BYTES];
    snprintf(script, sizeof(script),
             "\"$PAWL\" lock --kill-after 5s a -- sh -c 'setsid %s sh -c \"trap \\\"echo asked "
             ">asked; exit\\\" TERM; echo x >ready; while :; do sleep 0.05; done\" & "
             "while ! [ -s ready ]; do sleep 0.01; done; exit 3'",
             forks);
    free(forks);
    assert_int_equal(locking_shell(script), 3);
    locking_expect_text("asked", "asked\n");
}

static void signals_go_to_the_whole_group(void **state)
{
    struct process *process =
        locking_start("30s", "a",
                      "trap 'wait; exit 9' TERM; sh -c 'trap \"echo x >asked; exit\" TERM; echo x "
                      ">ready; while :; do sleep 0.05; done' & wait");
    (void)locking_number("ready");
    process_signal(process, SIGTERM);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 9);
    (void)locking_number("asked");
}

static void command_ends_in_time_when_pawld_is_killed(void **state)
{
    struct process *process = locking_start("2s", "a", "echo $$ >child; " LOCKING_STAMPER);
    (void)locking_number("left");
    process_kill(locking.service.process);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 123);
    locking_expect_end_of("child");
    locking_expect_ended_in_time();
}

static void lock_is_extended_by_another_server_when_one_hangs(void **state)
{
    struct redis_fleet *fleet = redis_fleet_new(1, REDIS_ALWAYS);
    struct pawl_service first = pawld_start_new(fleet);
    struct pawl_service second = pawld_start(fleet, NULL);
    char servers[LOCKING_PATH_BYTES];
    pawl_wait_ready(second);
    snprintf(servers, sizeof(servers), "http://127.0.0.1:%u http://127.0.0.1:%u", first.port,
             second.port);
    setenv("PAWL_SERVER", servers, 1);
    struct process *process = locking_start("4s", "a", "echo x >ready; sleep 6; exit 4");
    (void)locking_number("ready");
    process_signal(first.process, SIGSTOP);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 4);
    redis_fleet_free(fleet);
}

static void daemon_ends_in_time_when_pawld_is_stopped(void **state)
{
    struct process *process = locking_start(
        "2s", "a",
        "echo $PAWL_DEADLINE_MS >left; setsid sh -c 'echo $$ >daemon; " STAMPS "' & wait");
    (void)locking_number("stamps");
    process_signal(locking.service.process, SIGSTOP);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 123);
    process_signal(locking.service.process, SIGCONT);
    locking_expect_end_of("daemon");
    locking_expect_ended_in_time();
}

/* The next one waits meanwhile, and writes when it came. */
static void expect_next_holder_after_the_last_stamp(struct process *process, int signal)
{
    (void)locking_number("left");
    struct process *next = locking_start("2s", "a", STAMP_ONCE);
    process_wait_line(next, "waiting for a", LOCKING_PATIENCE_MS, NULL, 0);
    process_signal(process, signal);
    assert_int_equal(process_wait(next, LOCKING_PATIENCE_MS), 0);
    const long next_at = locking_number("next");
    wait_ms(GOES_ON_MS);
    char *text = locking_text("stamps");
    text[strlen(text) - 1] = '\0';
    const char *newline = strrchr(text, '\n');
    assert_non_null(newline);
    if (strtol(newline + 1, NULL, 10) > next_at)
        fail_msg("the next holder came at %ld, and the command ran until %s", next_at, newline + 1);
    free(text);
}

static void next_holder_comes_after_the_command_of_a_stopped_pawl(void **state)
{
    struct process *process = locking_start("2s", "a", LOCKING_STAMPER);
    expect_next_holder_after_the_last_stamp(process, SIGSTOP);
    process_signal(process, SIGCONT);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 123);
}

static void next_holder_comes_after_the_command_of_a_killed_pawl(void **state)
{
    struct process *process = locking_start("2s", "a", LOCKING_STAMPER);
    expect_next_holder_after_the_last_stamp(process, SIGKILL);
}

/* An extension is under way when the command ends: its lease is 15 s, so it is extended after 5 s.
 */
static void exit_code_is_not_kept_back_for_long_by_a_pawld_that_hangs(void **state)
{
    struct process *process =
        locking_start("15s", "a", "echo x >ready; sleep 5.5; echo x >ended; exit 4");
    (void)locking_number("ready");
    process_signal(locking.service.process, SIGSTOP);
    (void)locking_number("ended");
    const uint64_t ended_ms = wait_now_ms();
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), 4);
    const uint64_t delay_ms = wait_now_ms() - ended_ms;
    if (delay_ms > EXIT_DELAY_MS)
        fail_msg("pawl ended %llu ms after its command", (unsigned long long)delay_ms);
}

static void eight_at_once_end_within_a_second(void **state)
{
    uint64_t took_ms = 0;
    for (int i = 0; i < AT_ONCE_TRIES; i++) {
        const uint64_t began_ms = wait_now_ms();
        assert_int_equal(locking_shell("for i in 1 2 3 4 5 6 7 8; do "
                                       "{ \"$PAWL\" lock test date && echo x >>done; } & done; "
                                       "wait; [ \"$(wc -l <done)\" -eq 8 ]; code=$?; rm done; "
                                       "exit $code"),
                         0);
        took_ms = wait_now_ms() - began_ms;
        if (took_ms <= AT_ONCE_MS)
            return;
    }
    fail_msg("the last of eight ended after %llu ms", (unsigned long long)took_ms);
}

/* If pawl says that it has the lock, a full pipe holds it up past the validity. */
static void command_is_not_started_after_the_validity(void **state)
{
    assert_int_equal(locking_shell("mkfifo pipe; exec 3<>pipe; head -c 65536 /dev/zero >&3; "
                                   "\"$PAWL\" lock --ttl 300ms a -- touch ran 2>pipe & pawl=$!; "
                                   "sleep 1; cat <&3 >drained & cat=$!; "
                                   "wait $pawl; code=$?; kill $cat; exit $code"),
                     EXIT_LOST);
    assert_int_equal(locking_shell("[ -e ran ]"), 1);
}

/* Each stop is an event for pawl, which does not read them. */
static void command_that_was_stopped_often_ends_in_time(void **state)
{
    struct process *process = locking_start("2s", "a", "echo $$ >child; " LOCKING_STAMPER);
    (void)locking_number("left");
    const pid_t child = (pid_t)locking_number("child");
    process_signal(process, SIGSTOP);
    for (int i = 0; i < STOPS && kill(child, SIGSTOP) == 0; i++) {
        (void)usleep(STOP_US);
        (void)kill(child, SIGCONT);
        (void)usleep(STOP_US);
    }
    locking_expect_end_of("child");
    process_signal(process, SIGCONT);
    assert_int_equal(process_wait(process, LOCKING_PATIENCE_MS), EXIT_LOST);
    locking_expect_ended_in_time();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, locking_begin, locking_end)

static const struct CMUnitTest cases[] = {
    CASE(command_inherits_no_descriptor_of_pawl),
    CASE(command_gets_signals_as_pawl_got_them),
    CASE(closed_standard_error_does_not_end_pawl),
    CASE(full_standard_error_does_not_stop_pawl),
    CASE(command_in_the_foreground_shares_the_group),
    CASE(child_of_another_thread_is_asked_to_end),
    CASE(signals_go_to_the_whole_group),
    CASE(command_ends_in_time_when_pawld_is_killed),
    CASE(daemon_ends_in_time_when_pawld_is_stopped),
    CASE(next_holder_comes_after_the_command_of_a_stopped_pawl),
    CASE(next_holder_comes_after_the_command_of_a_killed_pawl),
    CASE(lock_is_extended_by_another_server_when_one_hangs),
    CASE(exit_code_is_not_kept_back_for_long_by_a_pawld_that_hangs),
    CASE(eight_at_once_end_within_a_second),
    CASE(command_is_not_started_after_the_validity),
    CASE(command_that_was_stopped_often_ends_in_time),
};

CASE_MAIN(cases, NULL, NULL)
