/* The texts of clients and masters in the log: little, and nothing that a terminal obeys.
 */
#include "tests/lib/case.h"
#include "tests/lib/liar.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"
#include "tests/system/workdir.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FLOOD = 3000,
    FEW = 60,    /* lines: far more than are written, far less than a flood */
    HOUSE = 172, /* connections of a process that may open 300 files */
    WAIT_MS = 10000,
    PIPE_SIZE = 4096, /* the least */
    RELOADS = 10,
    URL_BYTES = 64,
};

static int start(void **state)
{
    line_may_be_long();
    return workdir_setup(state);
}

/* The ledger, and what it may have open; its log is workdir.log. */
static struct process *start_ledger(const char *limit, uint16_t *ret_port)
{
    char script[128], db[256], port[16];
    char *path = pawl_program("pawl-ledger");
    (void)snprintf(script, sizeof(script), "ulimit -n %s && exec \"$0\" \"$@\"", limit);
    workdir_join(workdir.path, "db", db);
    const char *argv[] = {"sh", "-c", script, path, "--listen", "127.0.0.1:0", "--db", db, NULL};
    struct process *process = process_start(argv, workdir.log);
    process_wait_line(process, "listening on 127.0.0.1:([0-9]+)", WAIT_MS, port, sizeof(port));
    *ret_port = (uint16_t)strtoul(port, NULL, 10);
    free(path);
    return process;
}

static unsigned count_lines(const char *with)
{
    return workdir_count(workdir.log, with);
}

static bool tells_of_more(void *arg)
{
    return count_lines("more of this kind") > 0;
}

static void clients_cannot_flood_the_log(void **state)
{
    static const char *const halves[] = {"G", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                                         "\x01"};
    uint16_t port = 0;
    struct process *process = start_ledger("$(ulimit -H -n)", &port);
    for (int i = 0; i < FLOOD; i++) {
        struct http *http = http_connect(port);
        (void)http_send(http, halves[i % 3], strlen(halves[i % 3]));
        http_close(http);
    }
    wait_ms(1500); /* so that a second is over in which nothing comes */
    const unsigned lines = count_lines("\n");
    if (lines > FEW)
        fail_msg("%u lines for %d requests", lines, FLOOD);
    assert_true(wait_until(tells_of_more, NULL, 2000));
    assert_int_equal(process_stop(process), 0);
}

static void too_few_files_are_told_at_the_start(void **state)
{
    uint16_t port = 0;
    struct process *process = start_ledger("300", &port);
    assert_true(
        process_wrote(process, "limit of open files is 300, so the program can serve only 172"));
    assert_true(process_wrote(process, "ulimit -n 16512"));
    assert_int_equal(process_stop(process), 0);
}

static bool is_answered(void *arg)
{
    struct http_response response;
    http_once(*(uint16_t *)arg, "GET", "/v1/rejections", NULL, NULL, &response);
    const bool answered = response.status == 200;
    http_response_fini(&response);
    return answered;
}

/* They say nothing, or never finish a head. */
static void clients_without_a_request_make_space_for_others(void **state)
{
    static struct http *crowd[2 * HOUSE];
    uint16_t port = 0;
    struct process *process = start_ledger("300", &port);
    for (int i = 0; i < 2 * HOUSE; i++) {
        crowd[i] = http_connect(port);
        (void)http_send(crowd[i], "GET / HT", i % 2 ? 8 : 0);
    }
    const uint64_t began_ms = wait_now_ms();
    assert_true(wait_until(is_answered, &port, 6000));
    print_message("answered after %d ms\n", (int)(wait_now_ms() - began_ms));
    for (int i = 0; i < 2 * HOUSE; i++)
        http_close(crowd[i]);
    assert_int_equal(count_lines("new clients wait to be accepted"), 1);
    assert_int_equal(process_stop(process), 0);
}

/* Those inside had their answers, and stay; those outside knock all the time. */
static void full_house_is_told_once(void **state)
{
    static struct http *crowd[HOUSE + 20];
    uint16_t port = 0;
    struct process *process = start_ledger("300", &port);
    for (int i = 0; i < HOUSE + 20; i++) {
        struct http_response response;
        crowd[i] = http_connect(port);
        if (i >= HOUSE)
            continue;
        http_request(crowd[i], "GET", "/v1/rejections", NULL, NULL, &response);
        assert_int_equal(response.status, 200);
        http_response_fini(&response);
    }
    for (int i = 0; i < 20; i++) { /* one leaves, and another has its place */
        http_close(crowd[i]);
        wait_ms(20);
    }
    assert_int_equal(count_lines("all 172 connections are in use"), 1);
    for (int i = 20; i < HOUSE + 20; i++)
        http_close(crowd[i]);
    assert_int_equal(process_stop(process), 0);
}

static struct pawl_service serve_with_terms(const char *ttl_max_ms, const char *extensions_max)
{
    const char *const options[] = {
        "--workers", "2", "--max-ttl-ms", ttl_max_ms, "--max-extensions", extensions_max, NULL};
    const struct pawl_service service = pawld_start(fleet, options);
    pawl_wait_ready(service);
    return service;
}

/* Logged by one of the workers, and not again when a master is back. */
static void terms_that_a_fleet_was_not_made_with_are_told_once(void **state)
{
    static const char told[] = "warning.* --max-ttl-ms 60000 is ignored: the fleet was created "
                               "with the value 5000\\. .*pawld move --max-ttl-ms";
    char twice[2 * sizeof(told) + 16];
    (void)snprintf(twice, sizeof(twice), "%s.*\n(.*\n)*.*%s", told, told);
    fleet_start(1, REDIS_ALWAYS);
    fleet_init(5000);
    struct pawl_service service = serve_with_terms("60000", "7");
    process_wait_line(service.process, told, WAIT_MS, NULL, 0);
    process_wait_line(service.process, "--max-extensions 7 is ignored: .* 1000000\\.", WAIT_MS,
                      NULL, 0);
    redis_fleet_kill(fleet, 0);
    process_wait_line(service.process, "does not vote", WAIT_MS, NULL, 0);
    redis_fleet_restart(fleet, 0, true);
    pawl_wait_ready(service);
    assert_false(process_wrote(service.process, twice));
    assert_int_equal(process_stop(service.process), 0);
    service = serve_with_terms("5000", "1000000");
    assert_false(process_wrote(service.process, "is ignored"));
    assert_int_equal(process_stop(service.process), 0);
}

static void trace_tells_the_decisions_about_one_lock(void **state)
{
    const struct pawl_service service = workdir_start((const char *const[]){
        "--data", workdir.data, "--log-level", "trace", "--trace-lock", "orders/1", NULL});
    struct process *process = service.process;
    const uint16_t port = service.port;
    pawl_wait_ready(service);
    assert_int_equal(call(port, "POST", "/v1/locks/orders/2", NULL, "{}")->status, 201);
    assert_int_equal(call(port, "POST", "/v1/locks/orders/1", NULL, "{}")->status, 201);
    process_wait_line(process, "trace pawld: orders/1: take is sent to 1$", WAIT_MS, NULL, 0);
    process_wait_line(process, "trace pawld: orders/1: 1 are frozen, token 1, attempt [0-9]+$",
                      WAIT_MS, NULL, 0);
    process_wait_line(process, "trace pawld: orders/1: acquire is answered: success, token 1$",
                      WAIT_MS, NULL, 0);
    assert_false(process_wrote(process, "orders/2"));
    assert_int_equal(process_stop(process), 0);
}

#define OBEYED                                                                                     \
    "\x1b[31m \x9b"                                                                                \
    "31m \xc2\x9b"                                                                                 \
    "31m \xe2\x80\xa8 \x07 gr\xc3\xbc\xc3\x9f"

static void tell_error(void *unused, const struct liar_heard *heard, struct liar_lie *lie)
{
    static const char error[] = "-ERR " OBEYED "\r\n";
    memcpy(lie->bytes, error, sizeof(error) - 1);
    lie->len = sizeof(error) - 1;
}

/* A master that answers with the same error whatever it is asked, and where. */
static struct liar *start_liar(char ret_url[static URL_BYTES])
{
    fleet_start(1, REDIS_VOLATILE);
    struct liar *liar = liar_start(fleet->master[0].port, tell_error, NULL);
    (void)snprintf(ret_url, URL_BYTES, "redis://127.0.0.1:%u", (unsigned)liar_port(liar));
    return liar;
}

static void expect_nothing_obeyed(const char *text)
{
    static const char *const obeyed[] = {"\x1b", " \x9b", "\xc2\x9b", "\xe2\x80\xa8", "\x07"};
    for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
        if (strstr(text, obeyed[i]) != NULL)
            fail_msg("control character %zu is in \"%s\"", i, text);
}

static void words_of_a_master_move_no_cursor(void **state)
{
    char url[URL_BYTES];
    struct liar *liar = start_liar(url);
    char *path = pawl_program("pawld");

    const char *init[] = {path, "init", "--new", "--master", url, NULL};
    assert_int_equal(process_run(init, workdir.log, WAIT_MS), 1);
    free(path);
    char *said = text_read(workdir.log, 0);
    expect_nothing_obeyed(said);
    assert_non_null(strstr(said, "\\x1b[31m"));
    assert_non_null(strstr(said, "\\x07 gr"));
    free(said);

    const struct pawl_service service = workdir_start((const char *const[]){"--master", url, NULL});
    process_wait_line(service.process, "does not vote", WAIT_MS, NULL, 0);
    wait_ms(500);
    said = text_read(workdir.log, 0);
    expect_nothing_obeyed(said);
    free(said);
    const struct http_response *response = call(service.port, "GET", "/v1/fleet", NULL, NULL);
    expect_nothing_obeyed(response->body);
    assert_int_equal(process_stop(service.process), 0);
    liar_stop(liar);
}

/* Each line by itself, whatever a master says. */
static void lines_in_json_can_be_read_by_a_program(void **state)
{
    char url[URL_BYTES];
    unsigned lines = 0, of_master = 0, of_debug = 0;
    struct liar *liar = start_liar(url);
    struct process *process =
        workdir_start((const char *const[]){"--master", url, "--log-form", "json", "--log-level",
                                            "debug", NULL})
            .process;
    process_wait_line(process, "does not vote", WAIT_MS, NULL, 0);
    assert_int_equal(process_stop(process), 0);
    char *text = text_read(workdir.log, 0);
    for (char *rest = text, *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        if (json == NULL)
            fail_msg("no JSON: %s", line);
        assert_string_equal(json_string_value(json_object_get(json, "program")), "pawld");
        assert_true(json_is_string(json_object_get(json, "time")));
        assert_true(json_is_string(json_object_get(json, "level")));
        assert_true(json_is_string(json_object_get(json, "message")));
        of_master += json_integer_value(json_object_get(json, "master")) == 1;
        of_debug += strstr(line, "\"level\":\"debug\"") != NULL;
        lines++;
        json_decref(json);
    }
    assert_true(lines > 3 && of_master > 0 && of_debug > 0);
    free(text);
    liar_stop(liar);
}

/* The text that is in the pipe now. */
static void take_log(int reader, char ret_text[static PIPE_SIZE + 1])
{
    const ssize_t got = read(reader, ret_text, PIPE_SIZE);
    ret_text[got > 0 ? got : 0] = '\0';
}

static void reload_a_few_times(struct process *process)
{
    for (unsigned i = 0; i < RELOADS; i++) { /* each of them is a line or two */
        process_signal(process, SIGHUP);
        wait_ms(5);
    }
}

static bool is_full(int pipe)
{
    struct pollfd room = {.fd = pipe, .events = POLLOUT};
    return poll(&room, 1, 0) == 0;
}

/* A stopped tee, or a terminal after Ctrl-S. */
static void reader_of_the_log_that_stands_still_stops_nobody(void **state)
{
    char fifo[256], script[600], folder[256], text[PIPE_SIZE + 1];
    workdir_join(workdir.path, "fifo", fifo);
    workdir_join(workdir.path, "stuck", folder);
    (void)snprintf(script, sizeof(script), "exec \"$0\" \"$@\" 2>'%s'", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int reader = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0 && fcntl(reader, F_SETPIPE_SZ, PIPE_SIZE) == PIPE_SIZE);

    const uint16_t port = port_free();
    char address[32];
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned)port);
    char *path = pawl_program("pawld");
    const char *argv[] = {"sh",     "-c",   script,        path,    "--listen", address,
                          "--data", folder, "--log-level", "debug", NULL};
    struct process *process = process_start(argv, workdir.log);
    pawl_wait_ready((struct pawl_service){.process = process, .port = port});
    const uint64_t end_ms = wait_now_ms() + WAIT_MS;
    while (!is_full(reader) && wait_now_ms() < end_ms)
        reload_a_few_times(process);
    reload_a_few_times(process);
    assert_int_equal(call(port, "GET", "/livez", NULL, NULL)->status, 200);
    take_log(reader, text);
    assert_null(strstr(text, "were lost"));
    while (!strstr(text, "lines of this log were lost")) {
        assert_true(wait_now_ms() < end_ms);
        reload_a_few_times(process);
        take_log(reader, text);
    }
    while (!is_full(reader) && wait_now_ms() < end_ms)
        reload_a_few_times(process);
    assert_int_equal(process_stop(process), 0);
    (void)close(reader);
    free(path);
}

static void level_leaves_out_what_is_below_it(void **state)
{
    char url[64];
    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)port_free());
    char *path = pawl_program("pawld");
    const char *serve[] = {path,      "--master", url,           "--log-level",
                           "warning", "--listen", "127.0.0.1:0", NULL};
    struct process *process = process_start(serve, workdir.log);
    process_wait_line(process, " warning .* does not vote, and has not for 5 s", WAIT_MS, NULL, 0);
    assert_int_equal(process_stop(process), 0);
    char *text = text_read(workdir.log, 0);
    assert_null(strstr(text, " info "));
    assert_null(strstr(text, "stopping"));
    free(text);
    free(path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static const struct CMUnitTest cases[] = {
    CASE(clients_cannot_flood_the_log),
    CASE(too_few_files_are_told_at_the_start),
    CASE(clients_without_a_request_make_space_for_others),
    CASE(full_house_is_told_once),
    CASE(terms_that_a_fleet_was_not_made_with_are_told_once),
    CASE(words_of_a_master_move_no_cursor),
    CASE(lines_in_json_can_be_read_by_a_program),
    CASE(reader_of_the_log_that_stands_still_stops_nobody),
    CASE(level_leaves_out_what_is_below_it),
    CASE(trace_tells_the_decisions_about_one_lock),
};

CASE_MAIN(cases, NULL, NULL)
