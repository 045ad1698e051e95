/* pawld and pawl-ledger on the command line: options and signals. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARGS_MAX = 24,
    TIMEOUT_MS = 10000,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *output; /* output of the program that ran last */

static int stop(void **state)
{
    free(output);
    output = NULL;
    return workdir_teardown(state);
}

/* Runs a program with @args, separated by single spaces; returns its exit status, and leaves what
 * it wrote in @output. */
static int run(const char *program, const char *args)
{
    char *path = pawl_program(program);
    char *words = strdup(args);
    const char *argv[ARGS_MAX + 2] = {path};
    unlink(workdir.said);
    char *rest = NULL;
    size_t n = 1;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_in_range(n, 1, ARGS_MAX);
        argv[n++] = word;
    }
    const int status = process_run(argv, workdir.said, TIMEOUT_MS);
    free(output);
    output = text_read(workdir.said, 0);
    free(words);
    free(path);
    return status;
}

/* Reports whether @line is the last of the output, or the pointer to --help is. */
static bool ends_output(const char *line)
{
    const char *next = strchr(line, '\n');
    return next && (next[1] == '\0' || (strstr(next, ": see '") && strstr(next, "--help'\n") &&
                                        strchr(next + 1, '\n')[1] == '\0'));
}

/* @status, and one sentence with @what in it. */
static void expect_sentence(const char *program, const char *args, int status, const char *what)
{
    const int ended = run(program, args);
    if (ended != status || !ends_output(output) || !strstr(output, what) ||
        !strstr(output, program))
        fail_msg("%s %s: status %d, and it wrote: %s", program, args, ended, output);
}

/* Options that are wrong, and a word of what is said of them. */
static const struct {
    const char *program;
    const char *args;
    const char *what;
} wrong_options[] = {
    {"pawld", "--data x --master redis://127.0.0.1:1", "not both"},
    {"pawld", "--data", "data"},
    {"pawld", "--data x --max-ttl-ms 99", "--max-ttl-ms"},
    {"pawld", "--nonsense", "nonsense"},
    {"pawld", "--master", "master"},
    {"pawld", "--master redis://127.0.0.1:1 extra", "extra"},
    {"pawld", "--master 127.0.0.1:6379", "redis://"},
    {"pawld", "--master redis://", "host"},
    {"pawld", "--master redis://127.0.0.1:0", "port"},
    {"pawld", "--master redis://127.0.0.1:65536", "port"},
    {"pawld", "--master redis://127.0.0.1:6379/0", "port"},
    {"pawld", "--master redis://secret@127.0.0.1", "password"},
    {"pawld", "--master unix://relative", "absolute"},
    {"pawld", "--master redis://a:1 --master redis://a:2", "even"},
    {"pawld", "--master redis://127.0.0.1:1 --listen locks.example:99999", "locks.example"},
    {"pawld", "--master redis://127.0.0.1:1 --listen 127.0.0.1", "--listen"},
    {"pawld", "--master redis://127.0.0.1:1 --listen 127.0.0.1:65536", "--listen"},
    {"pawld", "--master redis://127.0.0.1:1 --ask some",
     "--ask takes majority, spread or all, not 'some'"},
    {"pawld", "--master redis://127.0.0.1:1 --probe-ms 9", "from 10 to 10000"},
    {"pawld", "--master redis://127.0.0.1:1 --probe-ms 10001", "--probe-ms"},
    {"pawld", "--master redis://127.0.0.1:1 --probe-ms 50ms", "50ms"},
    {"pawld", "init --new --master redis://127.0.0.1:1 --probe-ms 50", "probe-ms"},
    {"pawld", "--master redis://127.0.0.1:1 --max-counters 0", "from 1 to 10000000"},
    {"pawld", "--data x --max-counters 10000001", "--max-counters"},
    {"pawld", "--data x --max-counters many", "many"},
    {"pawld", "init --new --master redis://127.0.0.1:1 --max-counters 2", "max-counters"},
    {"pawld", "--master redis://127.0.0.1:1 --workers 0", "--workers"},
    {"pawld", "--master redis://127.0.0.1:1 --workers 65", "from 1 to 64"},
    {"pawld", "--master redis://127.0.0.1:1 --workers 2x", "2x"},
    {"pawld", "--master redis://127.0.0.1:1 --workers", "workers"},
    {"pawld", "--master redis://127.0.0.1:1 --workers 2 --listen locks:x", "locks"},
    {"pawld", "init --new --master redis://127.0.0.1:1 --workers 2", "workers"},
    {"pawld", "init --master redis://127.0.0.1:1", "--new"},
    {"pawld", "init --new", "--master"},
    {"pawld", "init --new", "--data"},
    {"pawld", "move --data x", "--master"},
    {"pawld", "move --master redis://127.0.0.1:1", "--data"},
    {"pawld", "move --data x --master redis://a:1 --master redis://a:2", "even"},
    {"pawld", "move --data x --master redis://a:1 --token-floor 1", "token-floor"},
    {"pawld", "init --new --token-floor 1 --data x", "not both"},
    {"pawld", "init --new --master redis://a:1 --master redis://a:2", "even"},
    {"pawld", "init --new --master redis://a:1 --max-ttl-ms 99", "--max-ttl-ms"},
    {"pawld", "init --new --master redis://a:1 --max-ttl-ms 86400001", "--max-ttl-ms"},
    {"pawld", "init --new --master redis://a:1 --max-ttl-ms 1s", "--max-ttl-ms"},
    {"pawld", "init --new --token-floor 1 --master redis://a:1", "not both"},
    {"pawld", "init --token-floor --master redis://a:1", "--token-floor"},
    {"pawld", "init --token-floor -1 --master redis://a:1", "--token-floor"},
    {"pawld", "init --token-floor 1e3 --master redis://a:1", "--token-floor"},
    {"pawld", "init --token-floor 9007190664806400 --master redis://a:1", "9007190664806399"},
    {"pawld", "init --token-floor 99999999999999999999 --master redis://a:1", "--token-floor"},
    {"pawld", "init --new --master redis://a:1 --listen 127.0.0.1:1", "listen"},
    {"pawl-ledger", "--nonsense", "nonsense"},
    {"pawl-ledger", "extra", "extra"},
    {"pawl-ledger", "--listen nowhere", "--listen"},
    {"pawl-ledger", "--cors-origin *", "--cors-origin"},
    {"pawld", "--master redis://127.0.0.1:1 --cors-origin https://a/", "--cors-origin"},
    {"pawl-ledger", "--listen :", "--listen"},
    {"pawl-ledger", "--listen ::1:80", "--listen"},
    {"pawl-ledger", "--head-timeout-ms 99", "from 100 to 3600000"},
    {"pawl-ledger", "--body-timeout-ms 3600001", "from 100 to 3600000"},
    {"pawld", "--master redis://a:1 --body-timeout-ms 1s", "1s"},
    {"pawld", "--master redis://a:1 --host a --host http://b", "http://b"},
    {"pawl-ledger", "--host b:80", "without scheme or port"},
};

static void wrong_options_end_with_2_and_a_sentence(void **state)
{
    for (size_t i = 0; i < COUNT(wrong_options); i++)
        expect_sentence(wrong_options[i].program, wrong_options[i].args, 2, wrong_options[i].what);
}

static void password_that_is_not_to_be_had_ends_with_2_and_a_sentence(void **state)
{
    static const struct {
        const char *args;
        const char *what;
    } rows[] = {
        {"--master redis://pawl:@127.0.0.1", "--master-password-file"},
        {"--master redis://:@127.0.0.1", "empty"},
        {"--master redis://a:1 --master-password-file /nonexistent", "/nonexistent"},
        {"--master redis://a:1 --master-password-file /", "cannot read"},
        {"--master redis://a:1 --master-password-file /dev/null", "empty"},
        {"--master redis://a:1 --master-password-file /dev/zero", "empty"},
        {"init --new --master redis://a:1 --master-password-file /dev/null", "empty"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        expect_sentence("pawld", rows[i].args, 2, rows[i].what);
}

static void more_than_nine_masters_are_refused(void **state)
{
    char args[512] = "";
    for (size_t i = 0, len = 0; i < 10; i++)
        len += (size_t)snprintf(args + len, sizeof(args) - len, "--master redis://127.0.0.1:%zu ",
                                i + 1);
    const int status = run("pawld", args);
    assert_int_equal(status, 2);
    assert_non_null(strstr(output, "9"));
}

static void password_is_not_repeated_in_a_sentence(void **state)
{
    assert_int_equal(run("pawld", "--master redis://:hunter2@127.0.0.1:http"), 2);
    assert_null(strstr(output, "hunter2"));
}

static void help_and_version_are_told(void **state)
{
    assert_int_equal(run("pawld", "--help"), 0);
    assert_non_null(strstr(output, "--master"));
    assert_non_null(strstr(output, "--listen"));
    assert_non_null(strstr(output, "Usage: pawld [OPTION...]\n"
                                   "  or:  pawld init [OPTION...]\n"
                                   "  or:  pawld move [OPTION...]\n"));
    assert_int_equal(run("pawld", "init --help"), 0);
    assert_non_null(strstr(output, "--new"));
    assert_non_null(strstr(output, "--token-floor"));
    assert_non_null(strstr(output, "SELECT max(max(highest_token, reader_token)) FROM pawl_guard"));
    assert_non_null(strstr(output, "--max-ttl-ms"));
    assert_int_equal(run("pawl-ledger", "--help"), 0);
    assert_non_null(strstr(output, "--unguarded"));
    assert_int_equal(run("pawld", "--version"), 0);
    assert_int_equal(strncmp(output, "pawld ", strlen("pawld ")), 0);
    assert_int_equal(run("pawl-ledger", "--version"), 0);
    assert_int_equal(strncmp(output, "pawl-ledger ", strlen("pawl-ledger ")), 0);
}

static void address_that_is_taken_is_told(void **state)
{
    fleet_start(1, REDIS_VOLATILE);
    struct pawl_service service = pawld_start_new(fleet);
    char args[256];
    snprintf(args, sizeof(args), "--master %s --listen 127.0.0.1:%u", fleet->master[0].url,
             (unsigned)service.port);
    assert_int_equal(run("pawld", args), 1);
    assert_non_null(strstr(output, "cannot listen"));
    snprintf(args, sizeof(args), "--db %s/db --listen 127.0.0.1:%u", workdir.path,
             (unsigned)service.port);
    assert_int_equal(run("pawl-ledger", args), 1);
    assert_non_null(strstr(output, "cannot listen"));
}

/* On loopback, and on all addresses of the machine. */
static void localhost_and_an_empty_host_can_be_listened_on(void **state)
{
    static const char *const hosts[] = {"localhost", ""};
    static const char *const workers[] = {"1", "2"};
    fleet_start(1, REDIS_VOLATILE);
    char *path = pawl_program("pawld");
    for (size_t i = 0; i < COUNT(hosts) * COUNT(workers); i++) {
        char listen[64], port[16];
        const char *host = hosts[i / COUNT(workers)];
        snprintf(listen, sizeof(listen), "%s:0", host);
        const char *argv[] = {path,
                              "--listen",
                              listen,
                              "--master",
                              fleet->master[0].url,
                              "--workers",
                              workers[i % COUNT(workers)],
                              "--open",
                              NULL};
        struct process *process = process_start(argv, workdir.log);
        process_wait_line(process, "listening on [a-z]*:([0-9]+)", TIMEOUT_MS, port, sizeof(port));
        const uint16_t number = (uint16_t)strtoul(port, NULL, 10);
        assert_int_equal(call(number, "GET", "/livez", NULL, NULL)->status, 200);
        assert_int_equal(process_stop(process), 0);
    }
    free(path);
}

static void pawld_ends_cleanly_on_sigterm_and_sigint(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT};
    fleet_start(3, REDIS_VOLATILE);
    pawl_init_new(fleet);
    for (size_t i = 0; i < COUNT(signals); i++) {
        struct pawl_service service = fleet_serve();
        struct http *idle = http_connect(service.port);
        process_signal(service.process, signals[i]);
        assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
        http_close(idle);
    }
}

static void ledger_ends_cleanly_on_sigterm_and_sigint(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT};
    char db[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "ledger.db", db);
    for (size_t i = 0; i < COUNT(signals); i++) {
        struct pawl_service service = pawl_ledger_start(db, NULL);
        struct http *idle = http_connect(service.port);
        process_signal(service.process, signals[i]);
        assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
        http_close(idle);
    }
}

/* Starts each program by the shell command @command, and stops it. */
static void expect_clean_stops(const char *command)
{
    static const struct {
        const char *program, *option, *value;
    } programs[] = {
        {"pawld", "--master", "redis://127.0.0.1:1"},
        {"pawl-ledger", "--db", "streams.db"},
    };
    for (size_t i = 0; i < COUNT(programs); i++) {
        char *path = pawl_program(programs[i].program);
        char value[512];
        snprintf(value, sizeof(value), "%s%s%s", i == 1 ? workdir.path : "", i == 1 ? "/" : "",
                 programs[i].value);
        const char *argv[] = {
            "sh", "-c", command, path, "--listen", "127.0.0.1:0", programs[i].option, value, NULL};
        struct process *process = process_start(argv, workdir.log);
        process_wait_line(process, "listening", TIMEOUT_MS, NULL, 0);
        assert_int_equal(process_stop(process), 0);
        free(path);
    }
}

/* As under a supervisor that gives them none: a socket must not take the number of one. */
static void programs_without_standard_streams_stop_cleanly(void **state)
{
    expect_clean_stops("exec \"$0\" \"$@\" <&- >&-");
}

/* As under a supervisor that blocks its signals: a program inherits the mask. */
static void programs_whose_signals_were_blocked_stop_cleanly(void **state)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
    expect_clean_stops("exec \"$0\" \"$@\"");
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

#define PROGRAM_CASE(name) cmocka_unit_test_setup_teardown(name, workdir_setup, stop)

static const struct CMUnitTest cases[] = {
    PROGRAM_CASE(wrong_options_end_with_2_and_a_sentence),
    PROGRAM_CASE(localhost_and_an_empty_host_can_be_listened_on),
    PROGRAM_CASE(password_that_is_not_to_be_had_ends_with_2_and_a_sentence),
    PROGRAM_CASE(more_than_nine_masters_are_refused),
    PROGRAM_CASE(password_is_not_repeated_in_a_sentence),
    PROGRAM_CASE(help_and_version_are_told),
    PROGRAM_CASE(address_that_is_taken_is_told),
    PROGRAM_CASE(pawld_ends_cleanly_on_sigterm_and_sigint),
    PROGRAM_CASE(programs_without_standard_streams_stop_cleanly),
    PROGRAM_CASE(programs_whose_signals_were_blocked_stop_cleanly),
    PROGRAM_CASE(ledger_ends_cleanly_on_sigterm_and_sigint),
};

CASE_MAIN(cases, NULL, NULL)
