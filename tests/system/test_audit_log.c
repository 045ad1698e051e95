/* pawld --audit-log: who was granted, released and lost which lock. */
#include "server/loop/audit_log.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/keyed.h"
#include "tests/system/knock.h"
#include "tests/system/workdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 20000,
    ROTATIONS = 3,
    CALLS = 30,
    LINES_MAX = 16,
};

static char path[WORKDIR_PATH_BYTES]; /* path of the audit log */
static struct pawl_service service;

static int start(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "audit.log", path);
    return 0;
}

static void serve(const char *const options[])
{
    service = pawld_start_at(workdir.data, options);
    pawl_wait_ready(service);
}

static void serve_with_log(void)
{
    serve((const char *const[]){"--audit-log", path, NULL});
}

struct count {
    const char *file, *part;
    unsigned wanted;
};

static bool has_lines(void *arg)
{
    const struct count *count = arg;
    return workdir_count(count->file, count->part) >= count->wanted;
}

static void wait_lines(const char *part, unsigned wanted)
{
    struct count count = {path, part, wanted};
    if (!wait_until(has_lines, &count, TIMEOUT_MS)) {
        char *text = text_read(path, 0);
        fail_msg("not %u lines with %s in:\n%s", wanted, part, text);
    }
}

/* "grant a 1 worker-7", of each line in their order; and each line is JSON with its usual members.
 */
static void read_lines(char ret_lines[static LINES_MAX][WORKDIR_PATH_BYTES], unsigned *ret_count)
{
    char *text = text_read(path, 0);
    *ret_count = 0;
    for (char *rest = text, *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        if (json == NULL)
            fail_msg("no JSON: %s", line);
        const char *owner = json_string_value(json_object_get(json, "owner"));
        assert_true(json_is_string(json_object_get(json, "time")));
        assert_true(json_is_string(json_object_get(json, "request_id")));
        assert_non_null(strstr(json_string_value(json_object_get(json, "client")), "127.0.0.1:"));
        assert_int_equal(json_integer_value(json_object_get(json, "worker")), 1);
        assert_in_range(*ret_count, 0, LINES_MAX - 1);
        (void)snprintf(ret_lines[(*ret_count)++], WORKDIR_PATH_BYTES, "%s %s %lld %s",
                       json_string_value(json_object_get(json, "event")),
                       json_string_value(json_object_get(json, "resource")),
                       (long long)json_integer_value(json_object_get(json, "token")),
                       owner != NULL ? owner : "-");
        json_decref(json);
    }
    free(text);
}

/* A grant, its break, and its holder's next extension: a line each. */
static void break_and_tell(char (*expected)[WORKDIR_PATH_BYTES], unsigned *wanted)
{
    char if_match[WORKDIR_PATH_BYTES];
    struct http_response response;
    struct grant broken = call_grant(service.port, "broken", NULL);
    (void)snprintf(if_match, sizeof(if_match), "If-Match: \"%lld\"\r\n", (long long)broken.token);
    http_once(service.port, "DELETE", "/v1/locks/broken?force=true", if_match, NULL, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    EXPECT_PROBLEM(call_extend(service.port, "broken", &broken, NULL), 409, "lock-broken", 2);
    (void)snprintf(expected[0], WORKDIR_PATH_BYTES, "grant broken %lld -", (long long)broken.token);
    (void)snprintf(expected[1], WORKDIR_PATH_BYTES, "break broken %lld -", (long long)broken.token);
    (void)snprintf(expected[2], WORKDIR_PATH_BYTES, "loss broken 0 -");
    *wanted += 3;
}

static void lines_are_what_clients_did(void **state)
{
    static const char own_id[] =
        "{\"lock_id\": \"0123456789012345678901-_\", \"owner\": \"w\\\"7\"}";
    char lines[LINES_MAX][WORKDIR_PATH_BYTES], expected[LINES_MAX][WORKDIR_PATH_BYTES];
    unsigned count = 0, wanted = 0;
    serve_with_log();
    struct grant plain = call_grant(service.port, "a", NULL);
    snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "grant a %lld -", (long long)plain.token);
    EXPECT_PROBLEM(call_acquire(service.port, "a", NULL), 409, "held", 3); /* no line */
    struct grant owned = call_grant(service.port, "b", own_id);
    snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "grant b %lld w\"7", (long long)owned.token);
    assert_int_equal(call_acquire(service.port, "b", own_id)->status, 200);
    snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "found b %lld w\"7", (long long)owned.token);
    const struct http_response *several = call(service.port, "POST", "/v1/locks", NULL,
                                               "{\"resources\": [\"c\", \"d\"], \"owner\": \"g\"}");
    assert_int_equal(several->status, 201);
    for (size_t i = 0; i < 2; i++) {
        const json_t *grant = json_array_get(json_object_get(several->json, "grants"), i);
        snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "grant %s %lld g", i == 0 ? "c" : "d",
                 (long long)json_integer_value(json_object_get(grant, "token")));
    }
    assert_int_equal(call_extend(service.port, "a", &plain, NULL)->status, 200); /* no line */
    call_give_back(service.port, "a", &plain);
    snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "release a 0 -");
    assert_int_equal(call_release(service.port, "a", &plain)->status, 200); /* no line: not held */
    EXPECT_PROBLEM(call_extend(service.port, "a", &plain, NULL), 409, "lock-lost", 1);
    snprintf(expected[wanted++], WORKDIR_PATH_BYTES, "loss a 0 -");
    break_and_tell(&expected[wanted], &wanted);
    assert_int_equal(process_stop(service.process), 0);

    read_lines(lines, &count);
    for (unsigned i = 0; i < wanted && i < count; i++)
        assert_string_equal(lines[i], expected[i]);
    assert_int_equal(count, wanted);
}

/* A reader of a log could release the lock with it. */
static void no_lock_id_is_in_any_log(void **state)
{
    serve((const char *const[]){"--audit-log", path, "--log-level", "debug", NULL});
    struct grant grant = call_grant(service.port, "secret", NULL);
    (void)call_extend(service.port, "secret", &grant, NULL);
    call_give_back(service.port, "secret", &grant);
    (void)call_extend(service.port, "secret", &grant, NULL);
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(workdir_count(path, "secret"), 3);
    assert_int_equal(workdir_count(path, grant.lock_id), 0);
    assert_int_equal(workdir_count(workdir.data_log, grant.lock_id), 0);
}

static void without_the_setting_nothing_is_written(void **state)
{
    serve(NULL);
    (void)call_grant(service.port, "quiet", NULL);
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(workdir_count(workdir.data_log, "quiet"), 0);
}

static void dash_is_stderr(void **state)
{
    serve((const char *const[]){"--audit-log", "-", NULL});
    (void)call_grant(service.port, "loud", NULL);
    process_wait_line(service.process, "\"event\":\"grant\",\"resource\":\"loud\"", TIMEOUT_MS,
                      NULL, 0);
    assert_int_equal(process_stop(service.process), 0);
}

static void request_id_is_given_back_and_written_down(void **state)
{
    static const char id[] = "X-Request-Id: req-1/~\r\n";
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char value[256], headers[512], longest[200];
    serve_with_log();
    (void)snprintf(headers, sizeof(headers), "%straceparent: %s\r\n", id, trace);
    const struct http_response *response =
        call(service.port, "POST", "/v1/locks/id", headers, NULL);
    EXPECT_HEADER(response, "X-Request-Id", "req-1/~");
    EXPECT_HEADER(call(service.port, "GET", "/nothing", id, NULL), "X-Request-Id", "req-1/~");
    wait_lines("\"request_id\":\"req-1/~\"", 1);
    wait_lines(trace, 1);

    /* None is made up for an answer, and none is taken that could forge a line. */
    memset(longest, 'x', 129);
    longest[129] = '\0';
    (void)snprintf(headers, sizeof(headers), "X-Request-Id: %s\r\ntraceparent: 00-0\r\n", longest);
    response = call(service.port, "POST", "/v1/locks/long", headers, NULL);
    assert_int_equal(response->status, 201);
    assert_false(http_header(response, "X-Request-Id", value, sizeof(value)));
    (void)snprintf(headers, sizeof(headers), "%s%s", id, id);
    response = call(service.port, "POST", "/v1/locks/twice", headers, NULL);
    assert_int_equal(response->status, 201);
    assert_false(http_header(response, "X-Request-Id", value, sizeof(value)));
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(workdir_count(path, longest), 0);
    assert_int_equal(workdir_count(path, "\"trace\""), 1);
    assert_int_equal(workdir_count(path, "\"request_id\":\""), 3);
}

static void calls_of_a_batch_have_its_request_id(void **state)
{
    static const char body[] = "{\"requests\":[{\"method\":\"POST\",\"path\":\"/v1/locks/a\"},"
                               "{\"method\":\"POST\",\"path\":\"/v1/locks/b\"}]}";
    static const char again[] = "{\"requests\":[{\"method\":\"POST\",\"path\":\"/v1/locks/c\"}]}";
    serve_with_log();
    (void)call(service.port, "POST", "/v1/batch", "X-Request-Id: one\r\n", body);
    wait_lines("\"request_id\":\"one\"", 2);
    (void)call(service.port, "POST", "/v1/batch", "X-Request-Id: two\r\nX-Request-Id: two\r\n",
               again);
    wait_lines("\"resource\":\"c\"", 1);
    assert_int_equal(workdir_count(path, "\"request_id\":\"two\""), 0);
}

static void refused_keys_are_written_down(void **state)
{
    char file[WORKDIR_PATH_BYTES], key[KEYED_KEY_MAX];
    workdir_join(workdir.path, "keys", file);
    keyed_new(file, "--role lock --prefix orders/", key);
    serve((const char *const[]){"--audit-log", path, "--keys", file, NULL});
    assert_int_equal(keyed_status(service.port, "", "POST", "/v1/locks/orders/1", NULL, NULL), 401);
    assert_int_equal(keyed_status(service.port, key, "POST", "/v1/locks/other", NULL, NULL), 403);
    assert_int_equal(keyed_status(service.port, key, "POST", "/v1/locks/orders/1", NULL, NULL),
                     201);
    assert_int_equal(process_stop(service.process), 0);
    assert_int_equal(workdir_count(path, "\"event\":\"refused\",\"why\":\"key-required\""), 1);
    assert_int_equal(workdir_count(path, "\"event\":\"refused\",\"why\":\"not-allowed\""), 1);
    assert_int_equal(workdir_count(path, "\"key\":\""), 2); /* the refused one, and the grant */
    /* "pawl_<id>_<secret>", and a secret may have a '_' of its own */
    const char *secret = strchr(key + strlen("pawl_"), '_') + 1;
    assert_int_equal(workdir_count(path, secret), 0);
}

/* They cost nothing to make, and could fill a disk. */
static void callers_without_a_key_get_few_lines(void **state)
{
    enum {
        STRANGERS = 10 * SERVER_AUDIT_STRANGERS_MAX, /* over one connection: most within a second */
    };
    static const char request[] = "GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char file[WORKDIR_PATH_BYTES], key[KEYED_KEY_MAX];
    workdir_join(workdir.path, "keys", file);
    keyed_new(file, "--role lock --prefix orders/", key);
    serve((const char *const[]){"--audit-log", path, "--keys", file, NULL});
    struct http *stranger = http_connect(service.port);
    for (int i = 0; i < STRANGERS; i++) {
        struct http_response response;
        assert_true(http_send(stranger, request, sizeof(request) - 1));
        http_receive(stranger, false, &response);
        assert_int_equal(response.status, 401);
        http_response_fini(&response);
    }
    http_close(stranger);
    assert_int_equal(process_stop(service.process), 0);

    unsigned more = 0;
    char *text = text_read(path, 0);
    for (const char *at = strstr(text, "\"more\":"); at != NULL; at = strstr(at + 1, "\"more\":"))
        more += (unsigned)strtoul(at + strlen("\"more\":"), NULL, 10);
    free(text);
    const unsigned told = workdir_count(path, "\"client\":");
    assert_int_equal(told + more, STRANGERS);
    assert_true(more > 0);
}

static void rotation_loses_no_line(void **state)
{
    char moved[WORKDIR_PATH_BYTES + 8];
    serve_with_log();
    struct knock *knock = knock_start(service.port);
    for (int i = 0; i < ROTATIONS; i++) {
        assert_true(knock_wait(knock, CALLS, TIMEOUT_MS));
        (void)snprintf(moved, sizeof(moved), "%s.%d", path, i);
        assert_int_equal(rename(path, moved), 0);
        process_signal(service.process, SIGHUP);
        wait_lines("\"event\":", 1);
    }
    const struct knock_counts counts = knock_stop(knock);
    assert_int_equal(process_stop(service.process), 0);
    unsigned grants = workdir_count(path, "\"event\":\"grant\"");
    unsigned releases = workdir_count(path, "\"event\":\"release\"");
    for (int i = 0; i < ROTATIONS; i++) {
        (void)snprintf(moved, sizeof(moved), "%s.%d", path, i);
        grants += workdir_count(moved, "\"event\":\"grant\"");
        releases += workdir_count(moved, "\"event\":\"release\"");
    }
    assert_int_equal(grants, releases);
    assert_int_equal(grants + releases, counts.answered);
    assert_int_equal(workdir_count(workdir.data_log, "reloaded: audit log"), ROTATIONS);
}

/* Calls go on, the log says so, and later lines say how many are missing. */
static void full_disk_is_told_and_counted(void **state)
{
    enum {
        LOST = 20,
    };
    char whole[WORKDIR_PATH_BYTES + 8];
    (void)snprintf(whole, sizeof(whole), "%s.whole", path);
    assert_int_equal(symlink("/dev/full", path), 0);
    serve_with_log();
    for (int i = 0; i < LOST; i++) {
        struct grant grant = call_grant(service.port, "full", NULL);
        call_give_back(service.port, "full", &grant);
    }
    process_wait_line(service.process, "audit log .* could not be written: No space left",
                      TIMEOUT_MS, NULL, 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(whole, path), 0);
    process_signal(service.process, SIGHUP);
    process_wait_line(service.process, "reloaded: audit log", TIMEOUT_MS, NULL, 0);
    (void)call_grant(service.port, "again", NULL);
    wait_lines("\"resource\":\"again\"", 1);
    assert_int_equal(process_stop(service.process), 0);

    char *text = text_read(path, 0);
    const char *dropped = strstr(text, "\"event\":\"dropped\",\"lines\":");
    assert_non_null(dropped);
    const long lost = strtol(strstr(dropped, "\"lines\":") + strlen("\"lines\":"), NULL, 10);
    assert_int_equal(lost + workdir_count(path, "\"resource\":\"full\""), 2 * LOST);
    assert_ptr_equal(strchr(text, '{'), text); /* no torn line is before it */
    free(text);
}

/* The process ends without its last lines. */
static void stuck_reader_does_not_hold_up_the_end(void **state)
{
    enum {
        PIPE_BYTES = 4096,
        GRANTS = 40, /* more lines than the pipe takes */
    };
    assert_int_equal(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_true(fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES) >= 0);
    serve_with_log();
    for (int i = 0; i < GRANTS; i++) {
        struct grant grant = call_grant(service.port, "stuck", NULL);
        call_give_back(service.port, "stuck", &grant);
    }
    process_signal(service.process, SIGTERM);
    process_wait_line(service.process, "audit log .* the reader of this file is stuck", TIMEOUT_MS,
                      NULL, 0);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    (void)close(reader);
}

static void file_that_cannot_be_opened_ends_the_start(void **state)
{
    char said_path[WORKDIR_PATH_BYTES + 8];
    (void)snprintf(said_path, sizeof(said_path), "%s.said", path);
    assert_int_equal(pawld_run_at(NULL, workdir.data,
                                  (const char *const[]){"--audit-log", "/none/audit", "--listen",
                                                        "127.0.0.1:0", NULL},
                                  said_path),
                     1);
    assert_int_equal(
        workdir_count(said_path, "cannot write the audit log /none/audit: No such file"), 1);
}

/* Runs a pawld that has to end with @status, and expects no audit log behind it. */
static void expect_no_file(const char *folder, const char *const options[], int status)
{
    char said_path[WORKDIR_PATH_BYTES + 8];
    (void)snprintf(said_path, sizeof(said_path), "%s.said", path);
    const int ended = pawld_run_at(NULL, folder, options, said_path);
    if (ended != status) {
        char *said = text_read(said_path, 0);
        fail_msg("ended with %d: %s", ended, said);
    }
    assert_int_equal(access(path, F_OK), -1);
}

static void start_that_is_refused_makes_no_file(void **state)
{
    char taken[32], other[WORKDIR_PATH_BYTES + 8];
    serve(NULL);
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", (unsigned)service.port);
    (void)snprintf(other, sizeof(other), "%s.other", workdir.data);
    expect_no_file(other, (const char *const[]){"--audit-log", path, "--listen", taken, NULL}, 1);
    /* Another process has the folder; and the longest lease is another. */
    expect_no_file(workdir.data,
                   (const char *const[]){"--audit-log", path, "--listen", "127.0.0.1:0", NULL}, 1);
    assert_int_equal(process_stop(service.process), 0);
    expect_no_file(workdir.data,
                   (const char *const[]){"--audit-log", path, "--listen", "127.0.0.1:0",
                                         "--max-ttl-ms", "1000", NULL},
                   2);
}

#define AUDIT_CASE(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static void delay_and_keep_stand_in_their_lines(void **state)
{
    char lock_id[128];
    serve_with_log();
    const struct http_response *response =
        call(service.port, "POST", "/v1/locks/d", NULL, "{\"delay_ms\": 1000}");
    assert_int_equal(response->status, 201);
    (void)snprintf(lock_id, sizeof(lock_id), "Lock-Id: %s\r\n", http_string(response, "lock_id"));
    response = call(service.port, "DELETE", "/v1/locks/d?keep_ms=500", lock_id, NULL);
    assert_int_equal(response->status, 200);
    wait_lines("\"event\":\"grant\",\"resource\":\"d\",\"token\":1,\"delay_ms\":1000,", 1);
    wait_lines("\"event\":\"release\",\"resource\":\"d\",\"keep_ms\":500,", 1);
}

/* Whatever its call is made of. */
static void writer_has_one_line_for_each_call(void **state)
{
    char headers[256], match[64];
    serve_with_log();
    const struct http_response *response =
        call(service.port, "POST", "/v1/rwlocks/w", NULL, "{\"mode\": \"write\"}");
    assert_int_equal(response->status, 201);
    const long long token = http_integer(response, "token");
    (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", http_string(response, "lock_id"));
    (void)snprintf(match, sizeof(match), "If-Match: \"%lld\"\r\n", token);
    assert_int_equal(call(service.port, "DELETE", "/v1/rwlocks/w?force=true", match, NULL)->status,
                     200);
    response = call(service.port, "POST", "/v1/rwlocks/w", NULL, "{\"mode\": \"write\"}");
    (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", http_string(response, "lock_id"));
    assert_int_equal(call(service.port, "DELETE", "/v1/rwlocks/w", headers, NULL)->status, 200);
    (void)call_grant(service.port, "last", NULL);
    wait_lines("\"resource\":\"last\"", 1);
    assert_int_equal(workdir_count(path, "\"event\":\"release\",\"resource\":\"w\""), 1);
    assert_int_equal(workdir_count(path, "\"event\":\"break\",\"resource\":\"w\""), 1);
    assert_int_equal(workdir_count(path, "\"event\":\"grant\",\"resource\":\"w\""), 2);
    assert_int_equal(workdir_count(path, "\"event\":"), 5);
}

static const struct CMUnitTest cases[] = {
    AUDIT_CASE(lines_are_what_clients_did),
    AUDIT_CASE(delay_and_keep_stand_in_their_lines),
    AUDIT_CASE(writer_has_one_line_for_each_call),
    AUDIT_CASE(no_lock_id_is_in_any_log),
    AUDIT_CASE(without_the_setting_nothing_is_written),
    AUDIT_CASE(dash_is_stderr),
    AUDIT_CASE(request_id_is_given_back_and_written_down),
    AUDIT_CASE(calls_of_a_batch_have_its_request_id),
    AUDIT_CASE(refused_keys_are_written_down),
    AUDIT_CASE(callers_without_a_key_get_few_lines),
    AUDIT_CASE(rotation_loses_no_line),
    AUDIT_CASE(full_disk_is_told_and_counted),
    AUDIT_CASE(stuck_reader_does_not_hold_up_the_end),
    AUDIT_CASE(file_that_cannot_be_opened_ends_the_start),
    AUDIT_CASE(start_that_is_refused_makes_no_file),
};

CASE_MAIN(cases, NULL, NULL)
