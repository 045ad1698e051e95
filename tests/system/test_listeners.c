/* Where pawld and the ledger listen: several addresses, names, files, and a place for figures
 * only. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"

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
    PATH_BYTES = 256,
    ARGS_MAX = 16,
    ANSWER_BYTES = 4096,
};

static char *folder;
static char log_path[PATH_BYTES], data_path[PATH_BYTES], socket_path[PATH_BYTES];
static char unix_address[PATH_BYTES + 8];

static int start(void **state)
{
    (void)state;
    folder = tempdir_new();
    (void)snprintf(log_path, sizeof(log_path), "%s/log", folder);
    (void)snprintf(data_path, sizeof(data_path), "%s/data", folder);
    (void)snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
    (void)snprintf(unix_address, sizeof(unix_address), "unix:%s", socket_path);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    process_kill_all();
    tempdir_remove(folder);
    return 0;
}

/* "pawld --data data" with @options. */
static const char *const *command_line(const char *program, const char *const options[])
{
    static const char *args[ARGS_MAX + 1];
    unsigned count = 0;
    args[count++] = program;
    args[count++] = "--data";
    args[count++] = data_path;
    for (; *options != NULL && count < ARGS_MAX; options++)
        args[count++] = *options;
    args[count] = NULL;
    return args;
}

static struct process *serve(const char *const options[])
{
    char *program = pawl_program("pawld");
    struct process *process = process_start(command_line(program, options), log_path);
    free(program);
    process_wait_line(process, "votes$", TIMEOUT_MS, NULL, 0);
    return process;
}

/* Where pawld is expected to end; its words are in *@ret_said, which the caller frees. */
static int run(const char *const options[], char **ret_said)
{
    char path[PATH_BYTES];
    char *program = pawl_program("pawld");
    (void)snprintf(path, sizeof(path), "%s/said", folder);
    (void)remove(path);
    const int status = process_run(command_line(program, options), path, TIMEOUT_MS);
    *ret_said = text_read(path, 0);
    free(program);
    return status;
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
    char request[PATH_BYTES];
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

/* ---- several --------------------------------------------------------------------------------- */

static void several_addresses_are_one_service(void **state)
{
    static const char *const workers[] = {"1", "3"};
    (void)state;
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
    char name[PATH_BYTES], listen[PATH_BYTES + 8], request[2 * PATH_BYTES];
    (void)state;
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
    char *said = NULL;
    (void)state;
    assert_int_equal(run((const char *const[]){"--listen", "no.such.invalid:7380", NULL}, &said),
                     1);
    assert_non_null(strstr(said, "cannot listen on no.such.invalid:7380: the name has no address"));
    free(said);
}

static void one_address_that_is_taken_closes_the_others(void **state)
{
    char taken[32];
    char *said = NULL;
    (void)state;
    struct process *process = serve((const char *const[]){"--listen", "127.0.0.1:0", NULL});
    const uint16_t port = port_told(process, "listening on 127\\.0\\.0\\.1:([0-9]+)$");
    (void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", (unsigned)port);
    (void)snprintf(data_path, sizeof(data_path), "%s/other", folder);
    assert_int_equal(
        run((const char *const[]){"--listen", unix_address, "--listen", taken, NULL}, &said), 1);
    assert_non_null(strstr(said, "in use"));
    assert_int_equal(access(socket_path, F_OK), -1);
    free(said);
    assert_int_equal(process_stop(process), 0);
}

/* What a service that was never started had as its memory would be found by the next start. */
static void start_that_is_refused_leaves_no_folder(void **state)
{
    char taken[32];
    (void)state;
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
    (void)snprintf(data_path, sizeof(data_path), "%s/other", folder);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        char *said = NULL;
        const int status = run(
            (const char *const[]){"--listen", unix_address, "--listen", refused[i].address, NULL},
            &said);
        if (status != refused[i].status || strstr(said, refused[i].words) == NULL)
            fail_msg("%s: it ended with %d and said: %s", refused[i].address, status, said);
        assert_int_equal(access(data_path, F_OK), -1);
        assert_int_equal(access(socket_path, F_OK), -1);
        free(said);
    }
    assert_int_equal(process_stop(process), 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void file_is_for_owner_and_group_and_goes_at_the_stop(void **state)
{
    struct stat file;
    (void)state;
    struct process *process = serve((const char *const[]){"--listen", unix_address, NULL});
    assert_int_equal(stat(socket_path, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0660);
    assert_int_equal(process_stop(process), 0);
    assert_int_equal(access(socket_path, F_OK), -1);
}

static void file_of_a_dead_process_is_replaced(void **state)
{
    (void)state;
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
    char *said = NULL;
    (void)state;
    struct process *process = serve((const char *const[]){"--listen", unix_address, NULL});
    (void)snprintf(data_path, sizeof(data_path), "%s/other", folder);
    assert_int_equal(run((const char *const[]){"--listen", unix_address, NULL}, &said), 1);
    assert_non_null(strstr(said, "in use"));
    free(said);
    expect_served_by_file();
    assert_int_equal(process_stop(process), 0);
}

static void file_of_another_kind_is_left_alone(void **state)
{
    char *said = NULL;
    (void)state;
    FILE *file = fopen(socket_path, "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run((const char *const[]){"--listen", unix_address, NULL}, &said), 1);
    assert_non_null(strstr(said, "File exists"));
    assert_int_equal(access(socket_path, F_OK), 0);
    free(said);
}

static void path_that_is_too_long_is_told(void **state)
{
    char address[200] = "unix:/";
    char *said = NULL;
    (void)state;
    memset(address + 6, 'a', 150);
    assert_int_equal(run((const char *const[]){"--listen", address, NULL}, &said), 2);
    assert_non_null(strstr(said, "unix:/path"));
    free(said);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void door_for_metrics_serves_nothing_else(void **state)
{
    (void)state;
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

#define DOOR_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

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
