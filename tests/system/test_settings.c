/* The places that pawld's settings come from: the file, the environment, the command line. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RUN_MS = 10000,
    ARGUMENTS = 8,
    SILENCE_US = 300 * 1000, /* longer than the usual deadline of masters */
};

static char conf[WORKDIR_PATH_BYTES]; /* the file of settings */
static char *printed;                 /* printed by the program that ran last */

static int begin(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "pawld.conf", conf);
    return 0;
}

static int end(void **state)
{
    free(printed);
    printed = NULL;
    unsetenv("PAWL_MAX_WAITERS");
    unsetenv("PAWL_HOST");
    unsetenv("PAWL_MASTER");
    return workdir_teardown(state);
}

/* pawld with @options (NULL at the end) and the file; its exit status, and what it printed. */
static int run_pawld(const char *const options[])
{
    char *path = pawl_program("pawld");
    const char *argv[ARGUMENTS + 4] = {path, "--config", conf};
    unlink(workdir.said);
    for (int i = 0; options[i]; i++) {
        assert_in_range(i, 0, ARGUMENTS - 1);
        argv[3 + i] = options[i];
    }
    const int status = process_run(argv, workdir.said, RUN_MS);
    free(printed);
    printed = text_read(workdir.said, 0);
    free(path);
    return status;
}

#define RUN(...) run_pawld((const char *const[]){__VA_ARGS__, NULL})

static void assert_printed(const char *text)
{
    if (!strstr(printed, text))
        fail_msg("there is no \"%s\" in: %s", text, printed);
}

static void assert_not_printed(const char *text)
{
    if (strstr(printed, text))
        fail_msg("there is \"%s\" in: %s", text, printed);
}

static void environment_replaces_the_file_and_options_replace_both(void **state)
{
    workdir_write(conf, "# locks\ndata = x\nmax-waiters = 10\nprobe-ms = 77\n");
    assert_int_equal(RUN("--check"), 0);
    assert_printed("\nmax-waiters = 10 ; ");
    assert_printed("pawld.conf:3");
    assert_printed("\nprobe-ms = 77 ; ");
    assert_printed("\nmax-counters = 100000\n");

    setenv("PAWL_MAX_WAITERS", "11", 1);
    assert_int_equal(RUN("--check"), 0);
    assert_printed("\nmax-waiters = 11 ; PAWL_MAX_WAITERS\n");

    assert_int_equal(RUN("--check", "--max-waiters", "12"), 0);
    assert_printed("\nmax-waiters = 12 ; --max-waiters\n");
    assert_printed("\nprobe-ms = 77 ; ");
}

static void list_is_replaced_as_a_whole(void **state)
{
    workdir_write(conf, "data = x\nhost = a.example\nhost = b.example\n");
    assert_int_equal(RUN("--check"), 0);
    assert_printed("\nhost = a.example ; ");
    assert_printed("\nhost = b.example ; ");

    setenv("PAWL_HOST", "c.example d.example", 1);
    assert_int_equal(RUN("--check"), 0);
    assert_not_printed("a.example");
    assert_printed("\nhost = c.example ; PAWL_HOST\nhost = d.example ; PAWL_HOST\n");

    assert_int_equal(RUN("--check", "--host", "e.example"), 0);
    assert_not_printed("c.example");
    assert_printed("\nhost = e.example ; --host\n");
}

static void each_mistake_of_a_file_is_told_with_its_line(void **state)
{
    workdir_write(conf, "max-waiters = many\n\nnonsense = 1\nworkers = 65\nmax-counters = 5\n"
                        "max-counters = 6\n[part]\nhost = x\n");
    assert_int_equal(RUN("--check"), 2);
    assert_printed("pawld.conf:1: max-waiters takes a number from 0 to ");
    assert_printed("pawld.conf:3: nonsense: no such setting");
    assert_printed("pawld.conf:4: workers takes a number from 1 to 64, not '65'");
    assert_printed("pawld.conf:6: max-counters is given twice");
    assert_printed("pawld.conf:8: host: a settings file has no sections");
    assert_not_printed(" = "); /* the present settings */
}

static void line_that_is_no_setting_is_told(void **state)
{
    workdir_write(conf, "max-waiters = 3\nmax-counters 5\n");
    assert_int_equal(RUN("--check"), 2);
    assert_printed("pawld.conf:2: the line is no setting (name = value) and no comment");
}

static void line_that_is_too_long_is_told_and_its_rest_is_no_setting(void **state)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "host = %0*d\nmax-waiters = 3\nworkers = x\n", 250, 0);
    text[206] = '='; /* so that its rest looks like a setting */
    workdir_write(conf, text);
    assert_int_equal(RUN("--check"), 2);
    assert_printed("pawld.conf:1: a line has at most 198 bytes");
    assert_printed("pawld.conf:3: workers takes");
    assert_not_printed("no such setting");
}

/* A device, say */
static void file_without_an_end_is_told(void **state)
{
    assert_int_equal(symlink("/dev/zero", conf), 0);
    assert_int_equal(RUN("--check"), 2);
    assert_printed("pawld.conf:1: this is not a settings file: the file has more than");
}

static void folder_in_the_place_of_the_file_is_told(void **state)
{
    assert_int_equal(mkdir(conf, 0700), 0);
    assert_int_equal(RUN("--check"), 2);
    assert_printed("pawld.conf: Is a directory");
    assert_int_equal(rmdir(conf), 0);
}

static void wrong_variable_is_told_by_its_name(void **state)
{
    workdir_write(conf, "data = x\n");
    setenv("PAWL_MAX_WAITERS", "-1", 1);
    assert_int_equal(RUN("--check"), 2);
    assert_printed("PAWL_MAX_WAITERS takes a number from 0 to ");
}

/* Each would end a pawld that starts. Nothing is opened or made. */
static void what_keeps_it_from_starting_is_told(void **state)
{
    static const struct {
        const char *option, *value, *words;
    } wrong[] = {
        {"--listen", "127.0.0.1", "--listen takes HOST:PORT"},
        {"--listen", "127.0.0.1:99999", "--listen takes HOST:PORT"},
        {"--listen", "https://127.0.0.1:7380", "needs --tls-cert and --tls-key"},
        {"--metrics-listen", "nowhere", "takes HOST:PORT"},
        {"--trace-lock", "orders/1", "give both"},
        {"--tls-cert", "no-such-file", "TLS needs both --tls-cert and --tls-key"},
        {"--tls-priorities", "NORMAL", "give --tls-cert and --tls-key"},
    };
    workdir_write(conf, "data = x\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(RUN("--check", wrong[i].option, wrong[i].value), 2);
        assert_printed(wrong[i].words);
        assert_not_printed(" = ");
    }
    assert_int_equal(RUN("--check", "--tls-cert", "no-such", "--tls-key", "no-such"), 1);
    assert_printed("cannot serve TLS: the certificate no-such: No such file or directory");
    assert_int_equal(RUN("--check", "--listen", "localhost:7380", "--listen", "unix:/run/x"), 0);
}

static void file_that_is_not_there_is_told(void **state)
{
    assert_int_equal(RUN("--check"), 2);
    assert_printed("cannot read ");
    assert_printed("pawld.conf: No such file or directory");
}

static void check_shows_no_password(void **state)
{
    workdir_write(conf, "master = redis://me:hidden-a@127.0.0.1:1\n");
    assert_int_equal(RUN("--check"), 0);
    assert_printed("***");
    assert_printed("127.0.0.1:1");
    assert_not_printed("hidden-a");

    setenv("PAWL_MASTER", "redis://:hidden-b@127.0.0.1:2", 1);
    assert_int_equal(RUN("--check"), 0);
    assert_not_printed("hidden-b");
    assert_printed("127.0.0.1:2");

    setenv("PAWL_MASTER", "redis://me:hidden-c@", 1);
    assert_int_equal(RUN("--check"), 2);
    assert_not_printed("hidden-c");
}

static void sample_holds_every_default(void **state)
{
    workdir_write(conf, "");
    assert_int_equal(RUN("--sample"), 0);
    char *sample = strdup(printed);
    for (char *line = strstr(sample, "\n#"); line; line = strstr(line + 1, "\n#"))
        if (line[2] != ' ' && strstr(line, " = ") + 3 != strchr(line + 1, '\n'))
            line[1] = '\n'; /* in force */
    workdir_write(conf, sample);
    assert_int_equal(RUN("--check", "--data", "x"), 0);
    char *by_sample = strdup(printed);
    free(sample);

    workdir_write(conf, "");
    assert_int_equal(RUN("--check", "--data", "x"), 0);
    char *rest = NULL;
    for (char *line = strtok_r(printed, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#' && !strstr(line, "workers"))
            assert_non_null(strstr(by_sample, line));
    free(by_sample);
}

static void pawld_serves_as_the_file_says(void **state)
{
    workdir_write(conf, "max-waiters = 0\n");
    char *option = NULL;
    if (asprintf(&option, "--config=%s", conf) < 0)
        abort();
    fleet_init(60000);
    struct pawl_service service =
        pawld_start(fleet, (const char *const[]){option, FLEET_PROBE, NULL});
    pawl_wait_ready(service);
    free(option);
    struct grant grant = call_grant(service.port, "settings", NULL);
    const struct http_response *refused =
        call_acquire_once(service.port, "settings", "{\"wait_ms\":50}");
    assert_int_equal(refused->status, 429);
    call_give_back(service.port, "settings", &grant);
}

/* Masters that answer late: the deadline tells whether an acquire waits for them. */
static int acquire_of_late_masters(const char *deadline_ms)
{
    struct pawl_service service = pawld_start(
        fleet, (const char *const[]){"--master-deadline-ms", deadline_ms, FLEET_PROBE, NULL});
    pawl_wait_ready(service);
    for (unsigned i = 0; i < 3; i++)
        redis_fleet_pause(fleet, i);
    struct http *call = call_begin(service.port, "POST", "/v1/locks/far", "{\"ttl_ms\":60000}");
    usleep(SILENCE_US);
    for (unsigned i = 0; i < 3; i++)
        redis_fleet_resume(fleet, i);
    return call_end(call)->status;
}

static void masters_that_are_far_away_need_a_longer_deadline(void **state)
{
    fleet_init(60000);
    assert_int_equal(acquire_of_late_masters("50"), 503);
    assert_int_equal(acquire_of_late_masters("5000"), 201);
}

static int begin_with_fleet(void **state)
{
    (void)begin(state);
    fleet_start(3, REDIS_VOLATILE);
    return 0;
}

#define SETTINGS_CASE(name)       cmocka_unit_test_setup_teardown(name, begin, end)
#define SETTINGS_FLEET_CASE(name) cmocka_unit_test_setup_teardown(name, begin_with_fleet, end)

static const struct CMUnitTest cases[] = {
    SETTINGS_CASE(environment_replaces_the_file_and_options_replace_both),
    SETTINGS_CASE(list_is_replaced_as_a_whole),
    SETTINGS_CASE(each_mistake_of_a_file_is_told_with_its_line),
    SETTINGS_CASE(line_that_is_no_setting_is_told),
    SETTINGS_CASE(line_that_is_too_long_is_told_and_its_rest_is_no_setting),
    SETTINGS_CASE(file_without_an_end_is_told),
    SETTINGS_CASE(folder_in_the_place_of_the_file_is_told),
    SETTINGS_CASE(wrong_variable_is_told_by_its_name),
    SETTINGS_CASE(what_keeps_it_from_starting_is_told),
    SETTINGS_CASE(file_that_is_not_there_is_told),
    SETTINGS_CASE(check_shows_no_password),
    SETTINGS_CASE(sample_holds_every_default),
    SETTINGS_FLEET_CASE(pawld_serves_as_the_file_says),
    SETTINGS_FLEET_CASE(masters_that_are_far_away_need_a_longer_deadline),
};

CASE_MAIN(cases, NULL, NULL)
