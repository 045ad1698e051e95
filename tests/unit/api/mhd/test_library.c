/* The acts of libmicrohttpd itself, for which functions of api/wire/socket_calls.h and the check
 * of api/wire/framing.h stand in for it (api/wire/README.md). This program links neither. A version
 * that does better fails here, and tells what it no longer needs. */
#undef _FORTIFY_SOURCE /* it makes inline functions of those that stand below */
#include "api/mhd/shard.h"
#include "tests/lib/case.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum {
    ROUNDS = 50,
    CROWD = 100,          /* clients that speak at once */
    BOUND = 32,           /* the descriptors that api/wire tells the library in one round */
    MEMORY = 6 * 1024,    /* as in api/mhd/shard.h */
    LINE = 2 * MEMORY,    /* longer than the library's buffer */
    RESPONSE_MAX = 16384, /* bytes */
    SWEEP = 400,          /* sizes of a head below MEMORY that are tried, */
    SWEEP_STEP = 20,
};

#define HEAD(method, path) method " " path " HTTP/1.1\r\nHost: localhost\r\n"
#define GET                HEAD("GET", "/") "\r\n"

/* Calls of the library, counted. */
static struct {
    unsigned recv, send, sendmsg, shutdown, epoll_wait;
    unsigned tcp_options; /* set by setsockopt() */
    int events;           /* that epoll_wait() returned */
} calls;

/* The dynamic linker finds these before those of the C library. Its headers have reserved names. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
    calls.recv++;
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    calls.send++;
    return sendto(fd, bytes, size, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    calls.sendmsg++;
    return syscall(SYS_sendmsg, fd, message, flags);
}

int shutdown(int fd, int how)
{
    calls.shutdown++;
    return (int)syscall(SYS_shutdown, fd, how);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    calls.tcp_options += level == IPPROTO_TCP;
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    const int count = epoll_pwait(fd, events, max, timeout_ms, NULL);
    calls.epoll_wait++;
    calls.events += count > 0 ? count : 0;
    return count;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static void expect_needed(bool needed, const char *what)
{
    if (!needed)
        fail_msg("libmicrohttpd %s no longer needs %s: remove it", MHD_get_version(), what);
}

/* A server on the library alone. */
static struct MHD_Daemon *library;
static unsigned handled; /* requests */
static unsigned logged;  /* lines */
static char seen[256];   /* the value of the header X-Seen that the handler saw */
static const size_t answer_len = 2;

/* The parameters are the library's own. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *data_size, void **request)
{
    static char body[RESPONSE_MAX];
    (void)context, (void)url, (void)method, (void)version, (void)data;
    if (*request == NULL) {
        *request = &handled;
        return MHD_YES;
    }
    if (*data_size > 0) {
        *data_size = 0;
        return MHD_YES;
    }
    handled++;
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Seen");
    (void)snprintf(seen, sizeof(seen), "%s", value != NULL ? value : "");
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer_len, body, MHD_RESPMEM_PERSISTENT);
    const enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

static void count_line(void *context, const char *format, va_list args)
{
    (void)context, (void)format, (void)args;
    logged++;
}

static int setup(void **state)
{
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG;
    library =
        MHD_start_daemon(flags, 0, NULL, NULL, handle, NULL, MHD_OPTION_EXTERNAL_LOGGER, count_line,
                         NULL, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
    assert_non_null(library);
    memset(&calls, 0, sizeof(calls));
    handled = 0;
    logged = 0;
    return 0;
}

static int teardown(void **state)
{
    MHD_stop_daemon(library);
    return 0;
}

/* A client over TCP. */
static int connect_client(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    const int served = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(served >= 0);
    close(listener);
    assert_int_equal(MHD_add_connection(library, served, (struct sockaddr *)&address, len),
                     MHD_YES);
    return client;
}

static void write_text(int fd, const char *text, size_t len)
{
    assert_int_equal(write(fd, text, len), len);
}

static void run_rounds(void)
{
    for (int i = 0; i < ROUNDS; i++)
        (void)MHD_run(library);
}

/* All that comes on @fd in some rounds. Returns its length. */
static size_t exchange(int fd, const char *text, size_t len, char response[static RESPONSE_MAX])
{
    size_t got_len = 0;
    write_text(fd, text, len);
    for (int i = 0; i < ROUNDS; i++) {
        (void)MHD_run(library);
        const ssize_t got =
            recvfrom(fd, response + got_len, RESPONSE_MAX - 1 - got_len, MSG_DONTWAIT, NULL, NULL);
        got_len += got > 0 ? (size_t)got : 0;
    }
    response[got_len] = '\0';
    return got_len;
}

static void head_is_shown_without_what_follows_a_nul(void **state)
{
    static const char text[] = HEAD("GET", "/") "X-Seen: shown\0hidden\r\n\r\n";
    char response[RESPONSE_MAX];
    const int fd = connect_client();
    (void)exchange(fd, text, sizeof(text) - 1, response);
    expect_needed(calls.recv > 0 && handled == 1 && strcmp(seen, "shown") == 0,
                  "api_wire_recv() to refuse a NUL, and api/mhd/head.h");
    close(fd);
}

/* The line fills its buffer. It asks for another round at once, and for ever. */
static void chunk_size_line_longer_than_its_buffer_makes_it_spin(void **state)
{
    static char text[LINE + 1];
    const int head =
        snprintf(text, sizeof(text), HEAD("POST", "/") "Transfer-Encoding: chunked\r\n\r\n1;");
    memset(text + head, 'x', (size_t)(LINE - head));
    const int fd = connect_client();
    write_text(fd, text, LINE);
    run_rounds();
    MHD_UNSIGNED_LONG_LONG timeout_ms = 1;
    const bool asks = MHD_get_timeout(library, &timeout_ms) == MHD_YES && timeout_ms == 0;
    expect_needed(handled == 0 && asks, "api_wire_recv() to take long chunk-size lines out");
    close(fd);
}

/* Nothing is left for the head of the answer: the connection is closed without a word. */
static void head_that_nearly_fills_its_memory_is_handled_but_not_answered(void **state)
{
    static char text[MEMORY + 1], response[RESPONSE_MAX];
    bool silent = false;
    for (int size = MEMORY - SWEEP; size < MEMORY && !silent; size += SWEEP_STEP) {
        const int head = snprintf(text, sizeof(text), HEAD("GET", "/") "X-Long: ");
        memset(text + head, 'x', (size_t)(size - head));
        memcpy(text + size - 4, "\r\n\r\n", 4);
        const int fd = connect_client();
        handled = 0;
        silent = exchange(fd, text, (size_t)size, response) == 0 && handled == 1;
        close(fd);
    }
    expect_needed(silent, "api_wire_recv() to refuse a head that leaves no room for its answer");
}

static void each_round_asks_the_kernel(void **state)
{
    const int fd = connect_client();
    run_rounds();
    expect_needed(calls.epoll_wait >= ROUNDS, "api_wire_epoll_wait() to spare rounds the kernel");
    close(fd);
}

static void round_takes_in_all_who_speak(void **state)
{
    int fds[CROWD];
    for (int i = 0; i < CROWD; i++) {
        fds[i] = connect_client();
        run_rounds();
    }
    for (int i = 0; i < CROWD; i++)
        write_text(fds[i], GET, strlen(GET));
    calls.events = 0;
    (void)MHD_run(library);
    expect_needed(calls.events > BOUND, "api_wire_epoll_wait() to bound a round");
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
}

static void answers_are_written_past_any_session_of_tls(void **state)
{
    char response[RESPONSE_MAX];
    const int fd = connect_client();
    assert_true(exchange(fd, GET, strlen(GET), response) > 0);
    expect_needed(calls.sendmsg > 0, "api_wire_sendmsg()");
    calls.send = 0;
    static const char asks[] =
        HEAD("POST", "/") "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    assert_true(exchange(fd, asks, strlen(asks), response) > 0);
    assert_non_null(strstr(response, "100 Continue"));
    expect_needed(calls.send > 0, "api_wire_send()");
    close(fd);
}

static void connection_ends_past_any_session_of_tls(void **state)
{
    static const char last[] = HEAD("GET", "/") "Connection: close\r\n\r\n";
    char response[RESPONSE_MAX];
    const int fd = connect_client();
    assert_true(exchange(fd, last, strlen(last), response) > 0);
    expect_needed(calls.shutdown > 0, "api_wire_shutdown()");
    close(fd);
}

static void options_of_tcp_are_set_on_a_connection_of_the_unix_domain(void **state)
{
    static const struct sockaddr address = {.sa_family = AF_UNIX};
    char response[RESPONSE_MAX];
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(MHD_add_connection(library, fds[1], &address, sizeof(address)), MHD_YES);
    assert_true(exchange(fds[0], GET, strlen(GET), response) > 0);
    expect_needed(calls.tcp_options > 0 && logged > 0, "api_wire_setsockopt()");
    close(fds[0]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(head_is_shown_without_what_follows_a_nul),
    CASE(chunk_size_line_longer_than_its_buffer_makes_it_spin),
    CASE(head_that_nearly_fills_its_memory_is_handled_but_not_answered),
    CASE(each_round_asks_the_kernel),
    CASE(round_takes_in_all_who_speak),
    CASE(answers_are_written_past_any_session_of_tls),
    CASE(connection_ends_past_any_session_of_tls),
    CASE(options_of_tcp_are_set_on_a_connection_of_the_unix_domain),
};

CASE_MAIN(cases, NULL, NULL)
