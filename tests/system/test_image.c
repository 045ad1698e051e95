/* Runs the commands of scripts/package.d/Dockerfile here: no Docker is needed for it.
 * scripts/lint.d/image has the rest. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    CHECK_TIMEOUT_MS = 10000,
    TEXT_BYTES = 1024,
    WORDS = 3,
    KEY_BYTES = 128,
    ARGS_MAX = 16,
};

static const char published[] = "/7380";
static const char in_image[] = "/var/lib/pawl";

/* The array of JSON in the Dockerfile, behind @instruction and then @word, whose last character is
 * the bracket. */
static json_t *read_words(const char *instruction, const char *word)
{
    char *dockerfile = text_read(PAWL_PACKAGE_D "/Dockerfile", 0);
    const char *at = strstr(dockerfile, instruction);
    at = at ? strstr(at, word) : NULL;
    assert_non_null(at);
    json_t *words = json_loads(at + strlen(word) - 1, JSON_DISABLE_EOF_CHECK, NULL);
    assert_true(json_array_size(words) > 0);
    free(dockerfile);
    return words;
}

/* Runs it for a pawld on @port, and returns its exit status. */
static int check_health(uint16_t port)
{
    char script[TEXT_BYTES], log[TEXT_BYTES];
    json_t *command = read_words("\nHEALTHCHECK ", "CMD [");
    assert_int_equal(json_array_size(command), WORDS);
    const char *text = json_string_value(json_array_get(command, 2));
    const char *at = strstr(text, published);
    assert_non_null(at);
    snprintf(script, sizeof(script), "%.*s/%u%s", (int)(at - text), text, (unsigned)port,
             at + strlen(published));
    snprintf(log, sizeof(log), "%s/health.log", fleet->dir);
    const char *const argv[] = {json_string_value(json_array_get(command, 0)),
                                json_string_value(json_array_get(command, 1)), script, NULL};
    const int status = process_run(argv, log, CHECK_TIMEOUT_MS);
    json_decref(command);
    return status;
}

static void health_is_whether_a_lock_could_be_granted(void **state)
{
    const struct pawl_service service = fleet_serve_early();
    assert_int_not_equal(check_health(service.port), 0); /* its masters are not marked yet */
    fleet_init(TTL_MAX_MS);
    pawl_wait_ready(service);
    assert_int_equal(check_health(service.port), 0);
    process_signal(service.process, SIGSTOP);
    assert_int_not_equal(check_health(service.port), 0);
    process_kill(service.process);
    assert_int_not_equal(check_health(service.port), 0);
}

static char volume[WORKDIR_PATH_BYTES], entrypoint[WORKDIR_PATH_BYTES], keys[WORKDIR_PATH_BYTES];
static char address[16], shown[KEY_BYTES];
static uint16_t port;

/* Writes the image's entry point with the folder of this test in the place of the volume. */
static void write_entrypoint(void)
{
    char *script = text_read(PAWL_PACKAGE_D "/entrypoint", 0);
    FILE *to = fopen(entrypoint, "we");
    assert_true(to != NULL && strstr(script, in_image) != NULL);
    const char *rest = script;
    for (const char *at; (at = strstr(rest, in_image)) != NULL; rest = at + strlen(in_image))
        (void)fprintf(to, "%.*s%s", (int)(at - rest), rest, volume);
    (void)fputs(rest, to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(entrypoint, 0700), 0);
    free(script);
}

/* The programs are found by their names, as in the image. */
static void set_path(void)
{
    char *program = pawl_program("pawld");
    char path[WORKDIR_PATH_BYTES * 4];
    *strrchr(program, '/') = '\0';
    (void)snprintf(path, sizeof(path), "%s:/usr/sbin:/usr/bin:/sbin:/bin", program);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(program);
}

static int start(void **state)
{
    (void)workdir_setup(state);
    port = port_free();
    workdir_join(workdir.path, "volume", volume);
    workdir_join(workdir.path, "entrypoint", entrypoint);
    workdir_join(volume, "pawl.keys", keys);
    (void)snprintf(address, sizeof(address), ":%u", (unsigned)port);
    assert_int_equal(mkdir(volume, 0750), 0);
    write_entrypoint();
    set_path();
    return 0;
}

static int start_masters(void **state)
{
    const struct fleet_wanted *wanted = *state;
    fleet_start(wanted->n, wanted->persistence);
    return start(state);
}

static int stop(void **state)
{
    (void)unsetenv("PAWL_KEYS");
    return workdir_teardown(state);
}

/* A container with @options (ended by NULL) in the place of the image's CMD. */
static struct process *run_with(const char *const options[])
{
    const char *args[ARGS_MAX] = {entrypoint};
    for (unsigned i = 0; options[i] != NULL; i++)
        args[i + 1] = options[i];
    return process_start(args, workdir.log);
}

static void wait_until_it_listens(struct process *process)
{
    process_wait_line(process, "listening on ", CHECK_TIMEOUT_MS, NULL, 0);
    pawl_wait_ready((struct pawl_service){.process = process, .port = port});
}

/* A container with the image's CMD, whose port and volume are those of this test. */
static struct process *run_image(void)
{
    const char *args[ARGS_MAX] = {NULL};
    json_t *words = read_words("\nCMD ", "[");
    for (unsigned i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        args[i] = strcmp(word, ":7380") == 0    ? address
                  : strcmp(word, in_image) == 0 ? volume
                                                : word;
    }
    struct process *process = run_with(args);
    json_decref(words);
    wait_until_it_listens(process);
    return process;
}

/* The status of a call with @key; NULL: without one. */
static int call_with(const char *key)
{
    char header[KEY_BYTES + 64] = "";
    if (key)
        (void)snprintf(header, sizeof(header), "Authorization: Bearer %s\r\n", key);
    return call(port, "GET", "/v1/locks", key ? header : NULL, NULL)->status;
}

static void expect_mode_of_keys(void)
{
    struct stat status;
    assert_int_equal(stat(keys, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

/* Makes a key file at @path, as an operator does; the key is in shown. */
static void make_keys(const char *path)
{
    char script[WORKDIR_PATH_BYTES * 2], at[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "key", at);
    (void)snprintf(script, sizeof(script),
                   "pawl key new --role lock --prefix '*' --id mine --file '%s' | tr -d '\\n'",
                   path);
    assert_int_equal(
        process_run((const char *const[]){"sh", "-c", script, NULL}, at, CHECK_TIMEOUT_MS), 0);
    char *key = text_read(at, 0);
    (void)snprintf(shown, sizeof(shown), "%s", key);
    free(key);
}

static void expect_given_keys(struct process *process)
{
    wait_until_it_listens(process);
    assert_int_equal(call_with(NULL), 401);
    assert_int_equal(call_with(shown), 200);
    assert_false(process_wrote(process, "pawl_operator_"));
    assert_int_equal(process_stop(process), 0);
}

static void image_has_the_entry_point(void **state)
{
    char *dockerfile = text_read(PAWL_PACKAGE_D "/Dockerfile", 0);
    json_t *words = read_words("\nENTRYPOINT ", "[");
    assert_int_equal(json_array_size(words), 1);
    assert_string_equal(json_string_value(json_array_get(words, 0)), "entrypoint");
    assert_non_null(strstr(dockerfile, "\nCOPY scripts/package.d/entrypoint /usr/local/bin/\n"));
    assert_int_equal(access(PAWL_PACKAGE_D "/entrypoint", X_OK), 0);
    json_decref(words);
    free(dockerfile);
}

static void first_start_makes_a_key_and_shows_it_once(void **state)
{
    struct process *process = run_image();
    process_wait_line(process, "(pawl_operator_[A-Za-z0-9_-]+)", CHECK_TIMEOUT_MS, shown,
                      sizeof(shown));
    assert_true(process_wrote(process, "PAWL_KEY=KEY pawl list"));
    assert_int_equal(call_with(NULL), 401);
    assert_int_equal(call_with(shown), 200);
    expect_mode_of_keys();
    assert_int_equal(process_stop(process), 0);
    for (unsigned i = 0; i < 2; i++) {
        process = run_image();
        assert_false(process_wrote(process, "pawl_operator_"));
        assert_int_equal(call_with(NULL), 401);
        assert_int_equal(call_with(shown), 200);
        assert_int_equal(process_stop(process), 0);
    }
}

static void key_file_in_the_volume_is_used(void **state)
{
    make_keys(keys);
    expect_given_keys(run_image());
}

static void key_file_that_is_named_is_used(void **state)
{
    char given[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "given", given);
    make_keys(given);
    expect_given_keys(run_with(
        (const char *const[]){"--listen", address, "--data", volume, "--keys", given, NULL}));
    assert_int_equal(setenv("PAWL_KEYS", given, 1), 0);
    expect_given_keys(run_image());
    assert_int_equal(access(keys, F_OK), -1);
}

static void open_has_to_be_said(void **state)
{
    struct process *process =
        run_with((const char *const[]){"--listen", address, "--data", volume, "--open", NULL});
    wait_until_it_listens(process);
    assert_int_equal(call_with(NULL), 200);
    assert_int_equal(access(keys, F_OK), -1);
    assert_int_equal(process_stop(process), 0);
}

static void masters_are_no_reason_to_serve_everybody(void **state)
{
    const char *const url = fleet->master[0].url;
    struct process *process =
        run_with((const char *const[]){"init", "--new", "--master", url, NULL});
    assert_int_equal(process_wait(process, CHECK_TIMEOUT_MS), 0);
    assert_int_equal(access(keys, F_OK), -1);
    process = run_with((const char *const[]){"--listen", address, "--master", url, NULL});
    wait_until_it_listens(process);
    assert_int_equal(call_with(NULL), 401);
    expect_mode_of_keys();
    assert_int_equal(process_stop(process), 0);
}

static void story_needs_no_key(void **state)
{
    struct process *process = run_image();
    const struct http_response *page = call(port, "GET", "/story", NULL, NULL);
    assert_int_equal(page->status, 200);
    EXPECT_HEADER(page, "Content-Type", "text/html; charset=utf-8");
    const struct http_response *module = call(port, "GET", "/page/story/story.wasm.gz", NULL, NULL);
    assert_int_equal(module->status, 200);
    EXPECT_HEADER(module, "Content-Type", "application/gzip");
    assert_int_equal(call_with(NULL), 401);
    assert_int_equal(process_stop(process), 0);
}

static void mistakes_are_told_by_pawld(void **state)
{
    struct process *process =
        run_with((const char *const[]){"--listen", address, "--probe-ms", "1", NULL});
    assert_int_equal(process_wait(process, CHECK_TIMEOUT_MS), 2);
    assert_int_equal(access(keys, F_OK), -1);
    char *text = text_read(workdir.log, 0);
    assert_non_null(strstr(text, "pawld: --probe-ms"));
    free(text);
}

static void volume_that_takes_no_key_is_told(void **state)
{
    assert_int_equal(rmdir(volume), 0);
    struct process *process =
        run_with((const char *const[]){"--listen", address, "--data", volume, NULL});
    assert_int_equal(process_wait(process, CHECK_TIMEOUT_MS), 1);
    char *text = text_read(workdir.log, 0);
    assert_non_null(strstr(text, "entrypoint: cannot create "));
    assert_null(strstr(text, "pawl_operator_"));
    free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    CASE(image_has_the_entry_point),
    CASE(first_start_makes_a_key_and_shows_it_once),
    CASE(key_file_in_the_volume_is_used),
    CASE(key_file_that_is_named_is_used),
    CASE(open_has_to_be_said),
    CASE(story_needs_no_key),
    cmocka_unit_test_prestate_setup_teardown(masters_are_no_reason_to_serve_everybody,
                                             start_masters, stop,
                                             &((struct fleet_wanted){1, REDIS_ALWAYS})),
    CASE(mistakes_are_told_by_pawld),
    CASE(volume_that_takes_no_key_is_told),
    FLEET_CASE(health_is_whether_a_lock_could_be_granted, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
