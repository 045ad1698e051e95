/* The messages of pawld to a service manager: the datagrams of sd_notify(3), and when. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/thread.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGE_MAX = 2048,
    TIMEOUT_MS = 20000,
    SILENCE_MS = 1500, /* three times as long as from one look to the next */
    LOOKS = 4,
};

#define WATCHDOG_US "1000000"

static int manager = -1; /* its socket */
static char address[WORKDIR_PATH_BYTES];
static char message[MESSAGE_MAX];
static pid_t held; /* a thread; 0: none */

/* Listens as a manager does, at @name: a path, or "@" and an abstract name. */
static void listen_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const size_t len = strlen(name);
    assert_true(len < sizeof(at.sun_path));
    memcpy(at.sun_path, name, len);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(manager, (const struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

static int start(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "notify", address);
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    listen_at(address);
    return 0;
}

static int stop(void **state)
{
    if (held != 0)
        thread_let_go(held);
    held = 0;
    process_kill_all();
    (void)close(manager);
    (void)unsetenv("NOTIFY_SOCKET");
    return workdir_teardown(state);
}

/* The next datagram, in message; false if none comes. */
static bool receive(unsigned timeout_ms)
{
    struct pollfd readable = {.fd = manager, .events = POLLIN};
    if (poll(&readable, 1, (int)timeout_ms) <= 0)
        return false;
    const ssize_t len = recv(manager, message, sizeof(message) - 1, 0);
    assert_true(len > 0);
    message[len] = '\0';
    return true;
}

static void expect_line(const char *line)
{
    char *found = strstr(message, line);
    const size_t len = strlen(line);
    if (found == NULL || (found != message && found[-1] != '\n') ||
        (found[len] != '\0' && found[len] != '\n'))
        fail_msg("no line %s in \"%s\"", line, message);
}

static void expect_next(const char *line)
{
    if (!receive(TIMEOUT_MS))
        fail_msg("%s does not come", line);
    expect_line(line);
}

static uint64_t number_of(const char *name)
{
    const char *found = strstr(message, name);
    if (found == NULL)
        fail_msg("no %s in \"%s\"", name, message);
    return found != NULL ? strtoull(found + strlen(name), NULL, 10) : 0;
}

static uint64_t monotonic_us(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void manager_is_told_of_start_reload_and_end(void **state)
{
    struct pawl_service service =
        pawld_start_at(workdir.data, (const char *const[]){"--drain", "3s", NULL});
    expect_next("READY=1");
    assert_int_equal(call(service.port, "GET", "/livez", NULL, NULL)->status, 200);

    const uint64_t before_us = monotonic_us();
    process_signal(service.process, SIGHUP);
    expect_next("RELOADING=1");
    assert_in_range(number_of("MONOTONIC_USEC="), before_us, monotonic_us());
    expect_next("READY=1");

    process_signal(service.process, SIGTERM);
    expect_next("STOPPING=1");
    assert_true(number_of("EXTEND_TIMEOUT_USEC=") > 3000000);
    assert_int_equal(process_wait(service.process, TIMEOUT_MS), 0);
    assert_false(receive(0)); /* and of nothing else */
}

static void abstract_socket_is_told_too(void **state)
{
    (void)close(manager);
    (void)snprintf(address, sizeof(address), "@pawl-test-%d", (int)getpid());
    listen_at(address);
    struct pawl_service service =
        pawld_start_at(workdir.data, (const char *const[]){"--workers", "3", NULL});
    expect_next("READY=1");
    expect_line("STATUS=Serving with 3 workers");
    assert_int_equal(process_stop(service.process), 0);
}

/* It serves anyway. */
static void manager_that_cannot_be_told_holds_up_nothing(void **state)
{
    assert_int_equal(setenv("NOTIFY_SOCKET", "relative", 1), 0);
    struct pawl_service service = pawld_start_at(workdir.data, NULL);
    assert_true(process_wrote(service.process, "NOTIFY_SOCKET is relative"));
    assert_int_equal(call(service.port, "GET", "/livez", NULL, NULL)->status, 200);
    assert_int_equal(process_stop(service.process), 0);

    assert_int_equal(setenv("NOTIFY_SOCKET", "/nobody/is/here", 1), 0);
    service = pawld_start_at(workdir.data, NULL);
    process_wait_line(service.process, "cannot notify the service manager of READY=1: No such file",
                      TIMEOUT_MS, NULL, 0);
    assert_int_equal(call(service.port, "GET", "/livez", NULL, NULL)->status, 200);
    assert_int_equal(process_stop(service.process), 0);
}

static void drop_all(void)
{
    while (receive(0))
        ;
}

static void watchdog_is_fed_only_while_every_worker_turns(void **state)
{
    assert_int_equal(setenv("WATCHDOG_USEC", WATCHDOG_US, 1), 0);
    struct pawl_service service =
        pawld_start_at(workdir.data, (const char *const[]){"--workers", "2", NULL});
    expect_next("READY=1");
    for (int i = 0; i < LOOKS; i++)
        expect_next("WATCHDOG=1");

    held = thread_hold(process_id(service.process), "worker 2");
    (void)receive(SILENCE_MS); /* messages of the turns before */
    drop_all();
    if (receive(SILENCE_MS))
        fail_msg("a worker is stuck, and the manager is told %s", message);
    thread_let_go(held);
    held = 0;
    for (int i = 0; i < LOOKS; i++)
        expect_next("WATCHDOG=1");
    assert_int_equal(process_stop(service.process), 0);
}

static void watchdog_of_another_process_is_not_fed(void **state)
{
    assert_int_equal(setenv("WATCHDOG_USEC", "100000", 1), 0);
    assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
    struct pawl_service service = pawld_start_at(workdir.data, NULL);
    expect_next("READY=1");
    assert_false(receive(SILENCE_MS));
    assert_int_equal(process_stop(service.process), 0);
}

#define NOTIFY_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    NOTIFY_CASE(manager_is_told_of_start_reload_and_end),
    NOTIFY_CASE(abstract_socket_is_told_too),
    NOTIFY_CASE(manager_that_cannot_be_told_holds_up_nothing),
    NOTIFY_CASE(watchdog_is_fed_only_while_every_worker_turns),
    NOTIFY_CASE(watchdog_of_another_process_is_not_fed),
};

CASE_MAIN(cases, NULL, NULL)
