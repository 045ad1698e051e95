/* The listeners of pawld and the ledger: several addresses, names, files, and a place for figures
 * only. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/workdir.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 10000,
    ARGS_MAX = 16,
    ANSWER_BYTES = 4096,
};

static char socket_path[WORKDIR_PATH_BYTES], unix_address[WORKDIR_PATH_BYTES + 8];

static int start(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "socket", socket_path);
    (void)snprintf(unix_address, sizeof(unix_address), "unix:%s", socket_path);
    return 0;
}

/* "pawld --data data" with @options. */
static const char *const *command_line(const char *program, const char *const options[])
{
    static const char *args[ARGS_MAX + 1];
    unsigned count = 0;
    args[count++] = program;
    args[count++] = "--data";
    args[count++] = workdir.data;
    for (; *options != NULL && count < ARGS_MAX; options++)
        args[count++] = *options;
    args[count] = NULL;
    return args;
}

static struct process *serve(const char *const options[])
{
    char *program = pawl_program("pawld");
    struct process *process = process_start(command_line(program, options), workdir.log);
    free(program);
    process_wait_line(process, "votes$", TIMEOUT_MS, NULL, 0);
    return process;
}

/* pawld is expected to end with @status, and to say @words. */
static void expect_end(const char *const options[], int status, const char *words)
{
    char *program = pawl_program("pawld");
    (void)remove(workdir.said);
    workdir_expect_said(process_run(command_line(program, options), workdir.said, TIMEOUT_MS),
                        status, words);
    free(program);
}

static uint16_t port_told(struct process *process, const char *regex)
{
    char port[8];
    process_wait_line(process, regex, TIMEOUT_MS, port, sizeof(port));
    return (uint16_t)strtoul(port, NULL, 10);
}

/* A connection to the file; -1, with errno. */
static int connect_to_file(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Asks over the file; what came is in @answer. */
static void ask_file(int fd, const char *path, char answer[static ANSWER_BYTES])
{
    char request[WORKDIR_PATH_BYTES];
    const int len =
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    assert_int_equal(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
    size_t got = 0;
    do {
        struct pollfd in = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&in, 1, TIMEOUT_MS), 1);
        const ssize_t more = recv(fd, answer + got, ANSWER_BYTES - 1 - got, 0);
        assert_true(more > 0);
        got += (size_t)more;
        answer[got] = '\0';
    } while (strchr(answer, '}') == NULL);
}

static void expect_served_by_file(void)
{
    char answer[ANSWER_BYTES];
    const int fd = connect_to_file();
    assert_true(fd >= 0);
    for (int i = 0; i < 3; i++) { /* kept alive */
        ask_file(fd, "/livez", answer);
        assert_non_null(strstr(answer, "200 OK"));
    }
    close(fd);
}

static void several_addresses_are_one_service(void **state)
{
    static const char *const workers[] = {"1", "3"};
    for (int i = 0; i < 2; i++) {
        char first[32], second[32];
        const uint16_t ports[] = {port_free(), port_free()};
        (void)snprintf(first, sizeof(first), "127.0.0.1:%u", (unsigned)ports[0]);
        (void)snprintf(second, sizeof(second), ":%u", (unsigned)ports[1]);
        struct process *process =
            serve((const char *const[]){"--workers", workers[i], "--open", "--listen", first,
                                        "--listen", second, "--listen", unix_address, NULL});
        const struct grant grant = call_grant(ports[0], "orders", NULL);
        EXPECT_PROBLEM(call_acquire(ports[1], "orders", NULL), 409, "held", 3);
        call_give_back(ports[1], "orders", &grant);
        expect_served_by_file();
        assert_true(process_wrote(process, "listening on unix:"));
        assert_int_equal(process_stop(process), 0);
    }
}

static bool has_address(const char *name)
{
    struct addrinfo *found = NULL;
    if (getaddrinfo(name, NULL, NULL, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

static void host_of_a_name_that_is_listened_on_is_served(void **state)
{
    char name[WORKDIR_PATH_BYTES], listen[WORKDIR_PATH_BYTES + 8], request[2 * WORKDIR_PATH_BYTES];
    assert_int_equal(gethostname(name, sizeof(name)), 0);
    if (!has_address(name))
        case_skip("the name of this machine has no address: add it to /etc/hosts");
    (void)snprintf(listen, sizeof(listen), "%s:0", name);
    struct process *process = serve((const char *const[]){"--workers", "2", "--listen",
                                                          "127.0.0.1:0", "--listen", listen, NULL});
    const uint16_t port = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+)$");
    assert_true(process_wrote(process, "listening on [0-9a-f:.]+.*:[0-9]+ \\("));
    struct http *http = http_connect(port);
    struct http_response response;
    (void)snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", name);
    assert_true(http_send(http, request, strlen(request)));
    http_receive(http, false, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    static const char other[] = "GET /livez HTTP/1.1\r\nHost: other.example\r\n\r\n";
    assert_true(http_send(http, other, strlen(other)));
    http_receive(http, false, &response);
    EXPECT_PROBLEM(&response, 403, "cross-site", 0);
    http_response_fini(&response);
    http_close(http);
    assert_int_equal(process_stop(process), 0);
}

static void name_without_an_address_is_told(void **state)
{
    expect_end((const char *const[]){"--listen", "no.such.invalid:7380", NULL}, 1,
               "cannot listen on no.such.invalid:7380: the name has no address");
}

static void one_address_that_is_taken_closes_the_others(void **state)
{
    char taken[32];
    struct process *process = serve((const char *const[]){"--listen", "127.0.0.1:0", NULL});
    const uint16_t port = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+)$");
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", (unsigned)port);
    workdir_join(workdir.path, "other", workdir.data);
    expect_end((const char *const[]){"--listen", unix_address, "--listen", taken, NULL}, 1,
               "in use");
    assert_int_equal(access(socket_path, F_OK), -1);
    assert_int_equal(process_stop(process), 0);
}

/* The memory of a service that was never started would be found by the next start. */
static void start_that_is_refused_leaves_no_folder(void **state)
{
    char taken[32];
    struct process *process = serve((const char *const[]){"--listen", "127.0.0.1:0", NULL});
    const uint16_t port = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+)$");
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", (unsigned)port);
    const struct {
        const char *address;
        int status;
        const char *words;
    } refused[] = {
        {taken, 1, "in use"},
        {"127.0.0.1:99999", 2, "--listen takes"},
        {"https://127.0.0.1:0", 2, "needs --tls-cert"},
        {":0", 2, "--open"},
    };
    workdir_join(workdir.path, "other", workdir.data);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        expect_end(
            (const char *const[]){"--listen", unix_address, "--listen", refused[i].address, NULL},
            refused[i].status, refused[i].words);
        assert_int_equal(access(workdir.data, F_OK), -1);
        assert_int_equal(access(socket_path, F_OK), -1);
    }
    assert_int_equal(process_stop(process), 0);
}

static void file_is_for_owner_and_group_and_goes_at_the_stop(void **state)
{
    struct stat file;
    struct process *process = serve((const char *const[]){"--listen", unix_address, NULL});
    assert_int_equal(stat(socket_path, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0660);
    assert_int_equal(process_stop(process), 0);
    assert_int_equal(access(socket_path, F_OK), -1);
}

static void file_of_a_dead_process_is_replaced(void **state)
{
    process_kill(serve((const char *const[]){"--listen", unix_address, NULL}));
    assert_int_equal(access(socket_path, F_OK), 0);
    assert_int_equal(connect_to_file(), -1);
    assert_int_equal(errno, ECONNREFUSED);
    struct process *process = serve((const char *const[]){"--listen", unix_address, NULL});
    expect_served_by_file();
    assert_int_equal(process_stop(process), 0);
}

static void file_of_a_live_process_is_refused(void **state)
{
    struct process *process = serve((const char *const[]){"--listen", unix_address, NULL});
    workdir_join(workdir.path, "other", workdir.data);
    expect_end((const char *const[]){"--listen", unix_address, NULL}, 1, "in use");
    expect_served_by_file();
    assert_int_equal(process_stop(process), 0);
}

static void file_of_another_kind_is_left_alone(void **state)
{
    workdir_write(socket_path, "");
    expect_end((const char *const[]){"--listen", unix_address, NULL}, 1, "File exists");
    assert_int_equal(access(socket_path, F_OK), 0);
}

static void path_that_is_too_long_is_told(void **state)
{
    char address[200] = "unix:/";
    memset(address + 6, 'a', 150);
    expect_end((const char *const[]){"--listen", address, NULL}, 2, "unix:/PATH");
}

static void door_for_metrics_serves_nothing_else(void **state)
{
    struct process *process = serve((const char *const[]){
        "--workers", "2", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", NULL});
    const uint16_t all = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+)$");
    const uint16_t few = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+), for metrics$");
    assert_int_equal(call(few, "GET", "/livez", NULL, NULL)->status, 200);
    assert_int_equal(call(few, "GET", "/readyz", NULL, NULL)->status, 200);
    assert_int_equal(call(few, "GET", "/metrics", NULL, NULL)->status, 200);
    EXPECT_PROBLEM(call(few, "GET", "/v1/fleet", NULL, NULL), 404, "not-found", 0);
    EXPECT_PROBLEM(call(few, "POST", "/v1/locks/orders", NULL, NULL), 404, "not-found", 0);
    EXPECT_PROBLEM(call(few, "PUT", "/v1/locks/orders", NULL, NULL), 404, "not-found", 0);
    call_grant(all, "orders", NULL);
    assert_int_equal(process_stop(process), 0);
}

#define DOOR_CASE(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static const struct CMUnitTest cases[] = {
    DOOR_CASE(several_addresses_are_one_service),
    DOOR_CASE(host_of_a_name_that_is_listened_on_is_served),
    DOOR_CASE(name_without_an_address_is_told),
    DOOR_CASE(one_address_that_is_taken_closes_the_others),
    DOOR_CASE(start_that_is_refused_leaves_no_folder),
    DOOR_CASE(file_is_for_owner_and_group_and_goes_at_the_stop),
    DOOR_CASE(file_of_a_dead_process_is_replaced),
    DOOR_CASE(file_of_a_live_process_is_refused),
    DOOR_CASE(file_of_another_kind_is_left_alone),
    DOOR_CASE(path_that_is_too_long_is_told),
    DOOR_CASE(door_for_metrics_serves_nothing_else),
};

CASE_MAIN(cases, NULL, NULL)
