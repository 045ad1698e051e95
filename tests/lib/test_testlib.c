/* The helpers that the tests of real processes stand on: if these lie, so do those. */
#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;
static char log_path[256];

static int make_dir(void **state)
{
    dir = tempdir_new();
    snprintf(log_path, sizeof(log_path), "%s/log", dir);
    return 0;
}

static int clean_up(void **state)
{
    process_kill_all();
    tempdir_remove(dir);
    return 0;
}

static struct process *shell(const char *script)
{
    return process_start((const char *const[]){"sh", "-c", script, NULL}, log_path);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void status_is_the_exit_code_or_128_plus_the_signal(void **state)
{
    assert_int_equal(process_wait(shell("exit 3"), 5000), 3);
    struct process *sleeper = shell("exec sleep 60");
    process_signal(sleeper, SIGTERM);
    assert_int_equal(process_wait(sleeper, 5000), 128 + SIGTERM);
    assert_int_equal(process_run((const char *const[]){"/no/such/program", NULL}, log_path, 5000),
                     127);
}

static void waited_line_gives_its_group_and_is_of_this_start(void **state)
{
    char port[8];
    struct process *old = shell("echo listening on 127.0.0.1:1; exec sleep 60");
    process_wait_line(old, "listening on 127\\.0\\.0\\.1:([0-9]+)$", 5000, port, sizeof(port));
    assert_string_equal(port, "1");
    process_kill(old);

    struct process *new = shell("sleep 0.1; echo listening on 127.0.0.1:2 >&2; exec sleep 60");
    assert_false(process_wrote(new, "listening"));
    process_wait_line(new, "listening on 127\\.0\\.0\\.1:([0-9]+)$", 5000, port, sizeof(port));
    assert_string_equal(port, "2");
}

static void killed_process_is_gone(void **state)
{
    struct process *process = shell("trap '' TERM; while :; do sleep 0.01; done");
    const pid_t pid = process_id(process);
    assert_int_equal(kill(pid, 0), 0);
    process_kill_all();
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

/* ---- masters --------------------------------------------------------------------------------- */

static void durable_master_keeps_its_data_over_a_kill_and_a_blank_one_does_not(void **state)
{
    struct redis_fleet *fleet = redis_fleet_new(2, REDIS_ALWAYS);
    for (unsigned i = 0; i < 2; i++) {
        freeReplyObject(redis_fleet_command(fleet, i, "SET key %u", i));
        redis_fleet_kill(fleet, i);
    }
    redis_fleet_restart(fleet, 0, true);
    redis_fleet_restart(fleet, 1, false);
    assert_int_equal(redis_fleet_integer(fleet, 0, "EXISTS key"), 1);
    assert_int_equal(redis_fleet_integer(fleet, 1, "EXISTS key"), 0);
    redis_fleet_free(fleet);
}

static void persistence_is_as_asked(void **state)
{
    static const char *const appendfsync[] = {"always", "everysec", NULL};
    for (unsigned p = REDIS_ALWAYS; p <= REDIS_VOLATILE; p++) {
        struct redis_fleet *fleet = redis_fleet_new(1, p);
        redisReply *reply = redis_fleet_command(fleet, 0, "CONFIG GET append[of]*[yc]");
        for (size_t i = 0; i < reply->elements; i += 2) {
            const char *value = reply->element[i + 1]->str;
            if (strcmp(reply->element[i]->str, "appendonly") == 0)
                assert_string_equal(value, appendfsync[p] ? "yes" : "no");
            else if (appendfsync[p])
                assert_string_equal(value, appendfsync[p]);
        }
        assert_int_equal(reply->elements, 4);
        freeReplyObject(reply);
        redis_fleet_free(fleet);
    }
}

static void paused_master_answers_nothing_until_resumed(void **state)
{
    struct redis_fleet *fleet = redis_fleet_new(1, REDIS_VOLATILE);
    redis_fleet_pause(fleet, 0);
    redisContext *redis = redisConnect("127.0.0.1", fleet->master[0].port);
    assert_int_equal(redis->err, 0);
    redisSetTimeout(redis, (struct timeval){.tv_usec = 100000});
    assert_null(redisCommand(redis, "PING"));
    redisFree(redis);
    redis_fleet_resume(fleet, 0);
    freeReplyObject(redis_fleet_command(fleet, 0, "PING"));
    redis_fleet_free(fleet);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

/* A peer that sends @bytes to each client that connects, then ends the connection. Returns its
 * port.
 */
static uint16_t peer(const char *bytes)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, /* any port */
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    if (fork() == 0) {
        alarm(10); /* whatever happens to the test, it does not stay */
        int client = accept(fd, NULL, NULL);
        char request[1024];
        _exit(recv(client, request, sizeof(request), 0) > 0 &&
                      send(client, bytes, strlen(bytes), MSG_NOSIGNAL) > 0
                  ? 0
                  : 1);
    }
    close(fd);
    return ntohs(address.sin_port);
}

static void body_ends_where_its_length_says(void **state)
{
    struct http *http = http_connect(peer("HTTP/1.1 201 Created\r\nX-Token:  34\r\n"
                                          "content-length: 12\r\n\r\n{\"token\":34}"
                                          "HTTP/1.1 204 No Content\r\n\r\n"));
    struct http_response response;
    char token[8];
    http_request(http, "POST", "/", NULL, "{}", &response);
    assert_int_equal(response.status, 201);
    assert_int_equal(http_integer(&response, "token"), 34);
    assert_true(http_header(&response, "x-token", token, sizeof(token)));
    assert_string_equal(token, "34");
    assert_false(http_header(&response, "Token", token, sizeof(token)));
    http_response_fini(&response);

    http_receive(http, false, &response);
    assert_int_equal(response.status, 204);
    assert_int_equal(response.body_len, 0);
    http_response_fini(&response);
    http_close(http);
}

static void chunks_are_put_together(void **state)
{
    struct http_response response;
    http_once(peer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\n{\"a\r\nB\r\n\": \"012345\"\r\n1\r\n}\r\n0\r\n\r\n"),
              "GET", "/", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    assert_string_equal(http_string(&response, "a"), "012345");
    http_response_fini(&response);
}

static void response_cut_short_has_status_0(void **state)
{
    static const char *const cut[] = {
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}",
    };
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        struct http_response response;
        http_once(peer(cut[i]), "GET", "/", NULL, NULL, &response);
        assert_int_equal(response.status, 0);
        http_response_fini(&response);
    }
    struct http_response response;
    http_once(port_free(), "GET", "/", NULL, NULL, &response);
    assert_int_equal(response.status, 0);
    http_response_fini(&response);
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* A child goes on where its parent was, so both look at the same port first. */
static void port_is_not_given_to_two_processes(void **state)
{
    (void)port_free();
    int pipe_of_child[2];
    assert_int_equal(pipe(pipe_of_child), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const uint16_t port = port_free();
        (void)!write(pipe_of_child[1], &port, sizeof(port));
        (void)pause();
        _exit(0);
    }
    uint16_t port_of_child = 0;
    assert_int_equal(read(pipe_of_child[0], &port_of_child, sizeof(port_of_child)),
                     sizeof(port_of_child));
    const uint16_t port = port_free();
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(pipe_of_child[0]);
    close(pipe_of_child[1]);
    assert_int_not_equal(port, port_of_child);
}

/* ---- what a failed comparison shows ---------------------------------------------------------- */

static void both_texts_are_shown_in_full_however_long(void **state)
{
    char expected[5000];
    char came[5000];
    memset(expected, 'e', sizeof(expected));
    memset(came, 'c', sizeof(came));
    memset(came, 'e', 7);
    expected[sizeof(expected) - 1] = came[sizeof(came) - 1] = '\0';
    char *shown = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&shown, &len);
    assert_non_null(out);
    text_show_difference(out, came, expected);
    fclose(out);
    assert_non_null(strstr(shown, "from byte 7 on"));
    assert_non_null(strstr(shown, expected));
    assert_non_null(strstr(shown, came));
    assert_true(strstr(shown, expected) < strstr(shown, came));
    free(shown);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(both_texts_are_shown_in_full_however_long),
    cmocka_unit_test(status_is_the_exit_code_or_128_plus_the_signal),
    cmocka_unit_test(waited_line_gives_its_group_and_is_of_this_start),
    cmocka_unit_test(killed_process_is_gone),
    cmocka_unit_test(durable_master_keeps_its_data_over_a_kill_and_a_blank_one_does_not),
    cmocka_unit_test(persistence_is_as_asked),
    cmocka_unit_test(paused_master_answers_nothing_until_resumed),
    cmocka_unit_test(body_ends_where_its_length_says),
    cmocka_unit_test(chunks_are_put_together),
    cmocka_unit_test(response_cut_short_has_status_0),
    cmocka_unit_test(port_is_not_given_to_two_processes),
};

CASE_MAIN(cases, make_dir, clean_up)
