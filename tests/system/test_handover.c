/* A pawld that takes the place of a running one: clients go on, and none is refused. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/handing.h"
#include "tests/system/knock.h"
#include "tests/system/line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 25000,
    MOMENT_MS = 500, /* for all masters */
    REPLACEMENTS = 3,
    CALLS = 40,
};

static int start_fleet(void **state)
{
    fleet_start(3, REDIS_VOLATILE);
    pawl_init_new(fleet);
    return handing_setup(state);
}

static bool is_ready(void *arg)
{
    return call(handing.port, "GET", "/readyz", NULL, NULL)->status == 200;
}

static bool has_path(void *arg)
{
    struct stat file;
    return stat(handing.path, &file) == 0;
}

static struct process *serve(const char *const options[])
{
    struct process *process = handing_start(options);
    process_wait_line(process, "listening on ", TIMEOUT_MS, NULL, 0);
    assert_true(wait_until(is_ready, NULL, TIMEOUT_MS));
    process_wait_line(process, "another pawld can replace this pawld", TIMEOUT_MS, NULL, 0);
    return process;
}

static void wait_replaced(struct process *old)
{
    process_wait_line(old, "replaces this pawld", TIMEOUT_MS, NULL, 0);
    assert_int_equal(process_wait(old, TIMEOUT_MS), 0);
}

static void replace_under_load(const char *const *const workers[], struct knock_counts *ret_counts)
{
    struct process *process = serve(workers[0]);
    struct knock *knock = knock_start(handing.port);
    assert_true(knock_wait(knock, CALLS, TIMEOUT_MS));
    for (int i = 1; i <= REPLACEMENTS; i++) {
        struct process *old = process;
        process = handing_start(workers[i]);
        wait_replaced(old);
        assert_true(knock_wait(knock, CALLS, TIMEOUT_MS));
    }
    *ret_counts = knock_stop(knock);
    print_message("%u answered, %u told 503 %s, over %u connections\n", ret_counts->answered,
                  ret_counts->unavailable, ret_counts->last_503, ret_counts->connections);
    assert_int_equal(process_stop(process), 0);
}

/* With one worker, more, and fewer: there is a socket for each that there was. */
static void replacement_over_masters_is_seen_by_nobody(void **state)
{
    static const char *const one[] = {"--workers", "1", NULL};
    static const char *const two[] = {"--workers", "2", NULL};
    static const char *const three[] = {"--workers", "3", NULL};
    static const char *const *const workers[] = {two, three, one, two};
    struct knock_counts counts;
    replace_under_load(workers, &counts);
    knock_expect_unhurt(&counts);
    assert_int_equal(counts.stopping, 0);
}

/* The next process opens the file when the one before has closed it. */
static void replacement_over_a_file_refuses_no_connection(void **state)
{
    static const char *const one[] = {"--workers", "1", NULL};
    static const char *const two[] = {"--workers", "2", NULL};
    static const char *const *const workers[] = {one, two, one, one};
    struct knock_counts counts;
    replace_under_load(workers, &counts);
    knock_expect_unhurt(&counts);
}

static void lock_and_its_waiter_outlive_a_replacement(void **state)
{
    struct process *old = serve((const char *const[]){"--drain", "2s", NULL});
    struct grant holder = call_grant(handing.port, "kept", NULL);
    struct http *waiter =
        call_begin(handing.port, "POST", "/v1/locks/kept", "{\"wait_ms\": 300000}");
    assert_true(line_becomes(handing.port, "kept", 1, TIMEOUT_MS));
    struct process *new = handing_start(NULL);
    process_wait_line(old, "replaces this pawld", TIMEOUT_MS, NULL, 0);
    (void)call_keep(handing.port, "kept", &holder, NULL);
    EXPECT_PROBLEM(call_end(waiter), 503, "stopping", 0); /* when the drain is over */
    assert_int_equal(process_wait(old, TIMEOUT_MS), 0);
    call_give_back(handing.port, "kept", &holder);
    assert_int_equal(process_stop(new), 0);
    assert_false(has_path(NULL));
}

static void file_of_a_door_outlives_a_replacement(void **state)
{
    char address[WORKDIR_PATH_BYTES + 8];
    struct stat file;
    (void)snprintf(address, sizeof(address), "unix:%s/socket", workdir.path);
    struct process *old = serve((const char *const[]){"--listen", address, NULL});
    struct process *new = handing_start(NULL);
    wait_replaced(old);
    process_wait_line(new, "listening on unix:", TIMEOUT_MS, NULL, 0);
    assert_int_equal(stat(address + strlen("unix:"), &file), 0);
    assert_int_equal(process_stop(new), 0);
    assert_int_not_equal(stat(address + strlen("unix:"), &file), 0);
}

/* A release that misses a master leaves the rest of a lease there. */
static void successor_waits_a_moment_for_all_masters(void **state)
{
    struct process *old = serve(NULL);
    redis_fleet_pause(fleet, 2);
    struct process *process = handing_start(NULL);
    wait_ms(MOMENT_MS / 2);
    assert_true(process_alive(old));
    wait_replaced(old); /* a master that is dead holds it up no longer */
    redis_fleet_resume(fleet, 2);
    assert_int_equal(process_stop(process), 0);
}

/* The successor has the sockets, and lets no client in: its masters are not there. */
static void successor_that_is_not_ready_changes_nothing(void **state)
{
    char url[64], at_file[WORKDIR_PATH_BYTES + 8];
    (void)snprintf(at_file, sizeof(at_file), "unix:%s/door", workdir.path);
    struct process *old = serve((const char *const[]){"--listen", at_file, NULL});
    char *program = pawl_program("pawld");
    (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)port_free());
    struct process *wrong = process_start(
        (const char *const[]){program, "--hand-over", handing.path, "--master", url, NULL},
        workdir.log);
    free(program);
    process_wait_line(wrong, "replacing the pawld", TIMEOUT_MS, NULL, 0);
    do /* all the time, no client is let in by the other one */
        assert_true(is_ready(NULL));
    while (!process_wrote(wrong, "not ready after 10000 ms"));
    assert_int_equal(process_wait(wrong, TIMEOUT_MS), 1);
    process_wait_line(old, "did not replace this pawld: it ended", TIMEOUT_MS, NULL, 0);
    assert_true(is_ready(NULL));
    assert_int_equal(access(at_file + strlen("unix:"), F_OK), 0);
    struct process *new = handing_start(NULL); /* and the next one can */
    wait_replaced(old);
    assert_true(is_ready(NULL));
    assert_int_equal(process_stop(new), 0);
}

/* As one that speaks another language. */
static int connect_to_path(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, handing.path,
           strlen(handing.path)); /* short: a socket was made there */
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* A slip of an operator must not cost a file. */
static void path_of_a_file_is_refused_and_the_file_stays(void **state)
{
    struct stat file;
    workdir_write(handing.path, "");
    struct process *process = handing_start(NULL);
    assert_int_equal(process_wait(process, TIMEOUT_MS), 1);
    assert_int_equal(stat(handing.path, &file), 0);
    assert_true(S_ISREG(file.st_mode));
}

/* As scripts do that have all pawld read their keys again. */
static void reload_while_one_waits_for_the_other_ends_neither(void **state)
{
    struct process *old = serve(NULL);
    struct http *idle = http_connect(handing.port); /* for which the old one stays a while */
    struct process *new = handing_start(NULL);
    process_wait_line(new, "replacing the pawld", TIMEOUT_MS, NULL, 0);
    process_signal(new, SIGHUP);
    wait_replaced(old);
    http_close(idle);
    assert_true(wait_until(is_ready, NULL, TIMEOUT_MS));
    assert_int_equal(process_stop(new), 0);
}

static void nonsense_ends_nothing(void **state)
{
    static const char *const nonsense[] = {"leave", "pawld 2 take", "", "x"};
    struct process *process = serve(NULL);
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        char bytes[16];
        const int fd = connect_to_path();
        assert_int_equal(send(fd, nonsense[i], strlen(nonsense[i]), 0), strlen(nonsense[i]));
        assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 0); /* it hangs up */
        (void)close(fd);
    }
    struct stat file;
    assert_int_equal(stat(handing.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_true(is_ready(NULL));
    struct process *new = handing_start(NULL);
    wait_replaced(process);
    assert_int_equal(process_stop(new), 0);
}

static void socket_of_one_that_was_killed_is_replaced(void **state)
{
    process_kill(serve(NULL));
    assert_true(has_path(NULL));
    struct process *process = serve(NULL);
    assert_int_equal(process_stop(process), 0);
    assert_false(has_path(NULL));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(replacement_over_masters_is_seen_by_nobody, start_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(replacement_over_a_file_refuses_no_connection, handing_setup,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(lock_and_its_waiter_outlive_a_replacement, start_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(file_of_a_door_outlives_a_replacement, start_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(successor_waits_a_moment_for_all_masters, start_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(successor_that_is_not_ready_changes_nothing, start_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(path_of_a_file_is_refused_and_the_file_stays, handing_setup,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(reload_while_one_waits_for_the_other_ends_neither,
                                    handing_setup, workdir_teardown),
    cmocka_unit_test_setup_teardown(nonsense_ends_nothing, start_fleet, workdir_teardown),
    cmocka_unit_test_setup_teardown(socket_of_one_that_was_killed_is_replaced, handing_setup,
                                    workdir_teardown),
};

CASE_MAIN(cases, NULL, NULL)
