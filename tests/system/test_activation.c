/* Listening sockets that a service manager passes: sd_listen_fds(3). The test is the manager: it
 * keeps the socket open while pawlds come and go. */
#include "api/wire/listen.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/knock.h"
#include "tests/system/workdir.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 20000,
    CROWD = 60,
    LEAST_SHARE = CROWD / 10, /* share of a worker that the system let run at all */
    RESTARTS = 3,
    CALLS = 20,
};

static int passed = -1; /* the socket */

static int stop(void **state)
{
    process_kill_all();
    process_pass(-1);
    (void)close(passed);
    return workdir_teardown(state);
}

/* Has children find a socket on a free port of loopback. It is blocking, as a manager may leave it.
 */
static uint16_t open_socket(int type, bool listens)
{
    const uint16_t port = port_free();
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)close(passed);
    passed = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    const int on = 1; /* the port may have been another test's a moment ago */
    assert_int_equal(setsockopt(passed, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    assert_int_equal(bind(passed, (const struct sockaddr *)&address, sizeof(address)), 0);
    if (listens)
        assert_int_equal(listen(passed, 1024), 0);
    process_pass(passed);
    return port;
}

/* Starts pawld as a manager does. @variables: "LISTEN_FDS=1 LISTEN_PID=$$". */
static struct process *start_passed(const char *variables, const char *workers)
{
    char script[512];
    char *program = pawl_program("pawld");
    (void)snprintf(script, sizeof(script),
                   "export %s; exec \"$0\" --data \"$1\" --workers \"$2\" "
                   "--listen 127.0.0.1:%u",
                   variables, (unsigned)port_free());
    struct process *process = process_start(
        (const char *const[]){"bash", "-c", script, program, workdir.data, workers, NULL},
        workdir.log);
    free(program);
    return process;
}

static void wait_serving(struct process *process, uint16_t port)
{
    char line[64];
    (void)snprintf(line, sizeof(line), "listening on 127\\.0\\.0\\.1:%u$", (unsigned)port);
    process_wait_line(process, line, TIMEOUT_MS, NULL, 0);
    pawl_wait_ready((struct pawl_service){.process = process, .port = port});
}

/* Its connections get what a client that never reads may cost the kernel. */
static void expect_bounded_answers(void)
{
    int buffer = 0;
    socklen_t len = sizeof(buffer);
    assert_int_equal(getsockopt(passed, SOL_SOCKET, SO_SNDBUF, &buffer, &len), 0);
    assert_int_equal(buffer, 2 * API_HTTP_SEND_BUFFER); /* the kernel doubles it: socket(7) */
}

static void passed_socket_takes_the_place_of_listen(void **state)
{
    static const char *const workers[] = {"1", "3"};
    const uint16_t port = open_socket(SOCK_STREAM, true);
    for (size_t i = 0; i < 2; i++) {
        struct process *process = start_passed("LISTEN_FDS=1 LISTEN_PID=$$", workers[i]);
        wait_serving(process, port);
        expect_bounded_answers();
        assert_int_equal(process_stop(process), 0);
    }
}

/* All of them accept from the one socket. */
static void connections_to_a_passed_socket_come_to_every_worker(void **state)
{
    struct http *crowd[CROWD];
    const uint16_t port = open_socket(SOCK_STREAM, true);
    struct process *process = start_passed("LISTEN_FDS=1 LISTEN_PID=$$", "2");
    wait_serving(process, port);
    call_grant(port, "crowd", NULL);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = call_begin(port, "POST", "/v1/locks/crowd", "{\"wait_ms\": 60000}");
    const int64_t waiters = http_integer(call_inspect(port, "crowd"), "waiters");
    print_message("%d of %d connections came to one worker\n", (int)waiters, CROWD);
    assert_in_range(waiters, LEAST_SHARE, CROWD - LEAST_SHARE);
    for (int i = 0; i < CROWD; i++)
        http_close(crowd[i]);
    assert_int_equal(process_stop(process), 0);
}

static void socket_that_is_named_metrics_serves_nothing_else(void **state)
{
    const uint16_t port = open_socket(SOCK_STREAM, true);
    struct process *process =
        start_passed("LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=metrics", "1");
    process_wait_line(process, "for metrics$", TIMEOUT_MS, NULL, 0);
    assert_int_equal(call(port, "GET", "/livez", NULL, NULL)->status, 200);
    EXPECT_PROBLEM(call(port, "GET", "/v1/fleet", NULL, NULL), 404, "not-found", 0);
    assert_int_equal(process_stop(process), 0);
}

static void sockets_for_another_process_are_not_taken(void **state)
{
    char passed_port[16];
    (void)snprintf(passed_port, sizeof(passed_port), ":%u$",
                   (unsigned)open_socket(SOCK_STREAM, true));
    struct process *process = start_passed("LISTEN_FDS=1 LISTEN_PID=1", "1");
    process_wait_line(process, "listening on ", TIMEOUT_MS, NULL, 0);
    assert_false(process_wrote(process, passed_port));
    assert_int_equal(process_stop(process), 0);
}

static void what_cannot_be_accepted_from_is_refused(void **state)
{
    static const struct {
        int type;
        bool listens;
        const char *variables;
        const char *sentence;
    } wrong[] = {
        {SOCK_STREAM, false, "LISTEN_FDS=1 LISTEN_PID=$$",
         "descriptor 3, .* is not a listening stream socket"},
        {SOCK_DGRAM, false, "LISTEN_FDS=1 LISTEN_PID=$$",
         "descriptor 3, .* is not a listening stream socket"},
        {SOCK_STREAM, true, "LISTEN_FDS=2 LISTEN_PID=$$",
         "descriptor 4, .* is not a listening stream socket"},
        {SOCK_STREAM, true, "LISTEN_FDS=17 LISTEN_PID=$$", "passed 17 sockets"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        open_socket(wrong[i].type, wrong[i].listens);
        struct process *process = start_passed(wrong[i].variables, "1");
        process_wait_line(process, wrong[i].sentence, TIMEOUT_MS, NULL, 0);
        assert_int_equal(process_wait(process, TIMEOUT_MS), 1);
    }
}

/* Between two processes clients wait in the queue of the socket. */
static void restart_over_a_passed_socket_refuses_nobody(void **state)
{
    const uint16_t port = open_socket(SOCK_STREAM, true);
    struct process *process = start_passed("LISTEN_FDS=1 LISTEN_PID=$$", "2");
    wait_serving(process, port);
    struct knock *knock = knock_start(port);
    assert_true(knock_wait(knock, CALLS, TIMEOUT_MS));
    for (int i = 0; i < RESTARTS; i++) {
        assert_int_equal(process_stop(process), 0);
        process = start_passed("LISTEN_FDS=1 LISTEN_PID=$$", i % 2 == 0 ? "1" : "2");
        assert_true(knock_wait(knock, CALLS, TIMEOUT_MS));
    }
    const struct knock_counts counts = knock_stop(knock);
    print_message("%u answered, %u told 503, over %u connections\n", counts.answered,
                  counts.unavailable, counts.connections);
    knock_expect_unhurt(&counts);
    assert_int_equal(process_stop(process), 0);
}

#define ACTIVATION_CASE(name) cmocka_unit_test_setup_teardown(name, workdir_setup, stop)

static const struct CMUnitTest cases[] = {
    ACTIVATION_CASE(passed_socket_takes_the_place_of_listen),
    ACTIVATION_CASE(connections_to_a_passed_socket_come_to_every_worker),
    ACTIVATION_CASE(socket_that_is_named_metrics_serves_nothing_else),
    ACTIVATION_CASE(sockets_for_another_process_are_not_taken),
    ACTIVATION_CASE(what_cannot_be_accepted_from_is_refused),
    ACTIVATION_CASE(restart_over_a_passed_socket_refuses_nobody),
};

CASE_MAIN(cases, NULL, NULL)
