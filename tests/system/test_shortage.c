/* pawld that runs out of something: it refuses, says so once, and recovers. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/line.h"
#include "tests/system/usage.h"
#include "tests/system/workdir.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHORTAGE_SANITIZED
#endif
#endif

enum {
    TIMEOUT_MS = 20000,
    CROWD = 60,
    SPARE = 20, /* descriptors that are left */
    MEMORY_CROWD = 8000,
    MEMORY_SPARE = 64 * 1024,
    FEW = 200, /* lines of log: far fewer than clients */
    FILE_BYTES = 100 * 1024,
    FILE_CALLS = 2000, /* far more than FILE_BYTES have room for */
    FEWEST_FILES = 8,
    FEW_FILES = 31,
};

static struct pawl_service service;

static int start(void **state)
{
    line_may_be_long();
    return workdir_setup(state);
}

static void serve(const char *const options[])
{
    service = pawld_start_at(workdir.data, options);
    pawl_wait_ready(service);
}

static unsigned lines_with(const char *part)
{
    return workdir_count(workdir.data_log, part);
}

static unsigned open_files(void)
{
    char path[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)process_id(service.process));
    DIR *files = opendir(path);
    assert_non_null(files);
    while (readdir(files) != NULL)
        count++;
    (void)closedir(files);
    return count - 2; /* "." and ".." */
}

static void limit(int resource, rlim_t to, struct rlimit *ret_before)
{
    const pid_t pid = process_id(service.process);
    assert_int_equal(prlimit(pid, (enum __rlimit_resource)resource, NULL, ret_before), 0);
    const struct rlimit now = {.rlim_cur = to, .rlim_max = ret_before->rlim_max};
    assert_int_equal(prlimit(pid, (enum __rlimit_resource)resource, &now, NULL), 0);
}

static bool answers(struct http *http, unsigned timeout_ms)
{
    struct http_response response;
    struct pollfd readable = {.fd = http_fd(http), .events = POLLIN};
    if (poll(&readable, 1, (int)timeout_ms) <= 0)
        return false;
    http_receive(http, false, &response);
    const bool served = response.status == 200;
    http_response_fini(&response);
    return served;
}

/* Those that are connected go on, the others wait, and all are served when there are some again. */
static void clients_wait_while_descriptors_are_out(void **state)
{
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct http *crowd[CROWD];
    struct rlimit before;
    unsigned served = 0;
    serve(NULL);
    limit(RLIMIT_NOFILE, open_files() + SPARE, &before);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = http_connect(service.port);
        assert_true(http_send(crowd[i], request, strlen(request)));
    }
    process_wait_line(service.process, "new clients wait to be accepted: Too many open files",
                      TIMEOUT_MS, NULL, 0);
    for (; served < CROWD && answers(crowd[served], 500); served++)
        ;
    assert_in_range(served, SPARE / 2, SPARE + 2);
    const struct http_response *grant = NULL;
    assert_true(http_send(crowd[0], request, strlen(request)));
    assert_true(answers(crowd[0], TIMEOUT_MS));

    const struct rlimit again = before;
    assert_int_equal(prlimit(process_id(service.process), RLIMIT_NOFILE, &again, NULL), 0);
    for (; served < CROWD; served++)
        assert_true(answers(crowd[served], TIMEOUT_MS));
    for (int i = 0; i < CROWD; i++)
        http_close(crowd[i]);
    grant = call_acquire(service.port, "after", NULL);
    assert_int_equal(grant->status, 201);
    assert_int_equal(lines_with("new clients wait to be accepted"), 1);
    assert_int_equal(process_stop(service.process), 0);
}

/* Each new client costs memory. Those that there is none for are refused or let go, and the process
 * lives. */
static void memory_that_is_out_ends_nothing(void **state)
{
#ifdef SHORTAGE_SANITIZED
    case_skip("the sanitizers' own memory is not to be bounded");
#endif
    static struct http *crowd[MEMORY_CROWD];
    struct rlimit before;
    serve(NULL);
    const struct grant kept = call_grant(service.port, "kept", NULL);
    limit(RLIMIT_AS, (rlim_t)usage_memory_kb(service.process, "VmSize:") * 1024 + MEMORY_SPARE,
          &before);
    unsigned clients = 0;
    for (; clients < MEMORY_CROWD && lines_with("Cannot allocate memory") == 0; clients++) {
        char request[96];
        const int len =
            snprintf(request, sizeof(request),
                     "POST /v1/locks/m/%u HTTP/1.1\r\nHost: localhost\r\n\r\n", clients);
        crowd[clients] = http_connect(service.port);
        (void)http_send(crowd[clients], request, (size_t)len); /* it may be let go already */
    }
    process_wait_line(service.process, "Cannot allocate memory", TIMEOUT_MS, NULL, 0);
    assert_true(process_alive(service.process));
    assert_int_equal(prlimit(process_id(service.process), RLIMIT_AS, &before, NULL), 0);
    for (unsigned i = 0; i < clients; i++)
        http_close(crowd[i]);
    pawl_wait_ready(service);
    assert_int_equal(call_acquire(service.port, "after", NULL)->status, 201);
    call_give_back(service.port, "kept", &kept);
    assert_in_range(lines_with("\n"), 1, FEW);
    assert_int_equal(process_stop(service.process), 0);
}

/* As a full disk: SIGXFSZ ends no pawld. */
static void file_that_may_not_grow_grants_nothing_until_it_may(void **state)
{
    struct rlimit before;
    serve(NULL);
    const struct grant kept = call_grant(service.port, "kept", NULL);
    limit(RLIMIT_FSIZE, FILE_BYTES, &before);
    unsigned granted = 0;
    int status = 201;
    for (; granted < FILE_CALLS && status == 201; granted++) {
        char name[32];
        snprintf(name, sizeof(name), "more/%u", granted);
        status = call_acquire_once(service.port, name, "{\"ttl_ms\": 60000}")->status;
    }
    assert_int_equal(status, 503);
    assert_true(process_alive(service.process));
    assert_int_equal(prlimit(process_id(service.process), RLIMIT_FSIZE, &before, NULL), 0);
    pawl_wait_ready(service);
    call_give_back(service.port, "kept", &kept);
    assert_int_equal(process_stop(service.process), 0);
}

static void start_without_descriptors_ends_with_a_reason(void **state)
{
    char *path = pawl_program("pawld");
    for (unsigned limit = FEWEST_FILES; limit <= FEW_FILES; limit++) {
        char command[64];
        snprintf(command, sizeof(command), "ulimit -n %u; exec \"$0\" \"$@\"", limit);
        const char *argv[] = {"sh",         "-c",       command,       path, "--data",
                              workdir.data, "--listen", "127.0.0.1:0", NULL};
        (void)unlink(workdir.said);
        assert_int_equal(process_run(argv, workdir.said, TIMEOUT_MS), 1);
        assert_int_equal(workdir_count(workdir.said, "ulimit -n"), 1);
    }
    free(path);
}

#define SHORTAGE_CASE(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static const struct CMUnitTest cases[] = {
    SHORTAGE_CASE(clients_wait_while_descriptors_are_out),
    SHORTAGE_CASE(memory_that_is_out_ends_nothing),
    SHORTAGE_CASE(file_that_may_not_grow_grants_nothing_until_it_may),
    SHORTAGE_CASE(start_without_descriptors_ends_with_a_reason),
};

CASE_MAIN(cases, NULL, NULL)
