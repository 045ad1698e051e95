/* Handshakes of TLS are done beside the loop, by a thread that is nice. */
#include "api/mhd/greeting.h"
#include "api/tls/keys.h"
#include "tests/lib/case.h"
#include "tests/lib/tls.h"
#include "tests/unit/api/loop.h"

#include <dirent.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CROWD = 96,
    HELLO_MAX = 2048,
    TURNS_MAX = 1000,
};

static struct api_http *http;
static struct api_tls *tls;

static const struct api_routes routes = {NULL, 0, NULL};

static char hello[HELLO_MAX];
static size_t hello_len;

static ssize_t keep(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    assert_in_range(hello_len + size, 1, HELLO_MAX);
    memcpy(hello + hello_len, bytes, size);
    hello_len += size;
    return (ssize_t)size;
}

static ssize_t nothing(gnutls_transport_ptr_t session, void *buffer, size_t size)
{
    gnutls_transport_set_errno(session, EAGAIN);
    return -1;
}

static void record_hello(void)
{
    gnutls_session_t session = NULL;
    gnutls_certificate_credentials_t credentials = NULL;
    hello_len = 0;
    assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
    assert_int_equal(gnutls_priority_set_direct(session, "NORMAL", NULL), 0);
    assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
    gnutls_transport_set_ptr(session, session);
    gnutls_transport_set_push_function(session, keep);
    gnutls_transport_set_pull_function(session, nothing);
    assert_int_equal(gnutls_handshake(session), GNUTLS_E_AGAIN);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
}

static int setup(void **state)
{
    const struct tls_side *side = tls_service();
    const struct api_tls_config keys = {.cert = side->cert, .key = side->key};
    char why[API_TLS_WHY_MAX];
    assert_int_equal(api_tls_new(&keys, &tls, why), 0);
    struct api_door door = loop_door();
    door.tls = tls;
    const struct api_http_config config = {
        .doors = &door, .doors_count = 1, .routes = &routes, .routes_count = 1};
    assert_int_equal(api_http_new(&config, &http), 0);
    record_hello();
    return 0;
}

static int teardown(void **state)
{
    api_http_free(http);
    api_tls_free(tls);
    return 0;
}

static bool is_answered(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static unsigned answered(const int fds[static CROWD])
{
    unsigned count = 0;
    for (unsigned i = 0; i < CROWD; i++)
        count += is_answered(fds[i]);
    return count;
}

static void connect_all(int fds[static CROWD])
{
    for (unsigned i = 0; i < CROWD; i++) {
        fds[i] = loop_connect(http);
        assert_int_equal(send(fds[i], hello, hello_len, 0), hello_len);
    }
}

static void close_all(const int fds[static CROWD])
{
    for (unsigned i = 0; i < CROWD; i++)
        close(fds[i]);
}

/* How many threads of this process are nicer than its first. */
static unsigned nice_threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        const id_t id = (id_t)strtoul(task->d_name, NULL, 10);
        count += id != 0 && getpriority(PRIO_PROCESS, id) ==
                                getpriority(PRIO_PROCESS, (id_t)getpid()) + API_GREETINGS_NICE;
    }
    closedir(tasks);
    return count;
}

static void handshakes_are_done_by_a_thread_that_lets_others_go_first(void **state)
{
    int fds[CROWD];
    assert_int_equal(nice_threads(), 0);
    connect_all(fds);
    for (unsigned turns = 0; answered(fds) < CROWD; turns++) {
        assert_in_range(turns, 0, TURNS_MAX);
        loop_turn_for(http, 1);
    }
    assert_int_equal(nice_threads(), 1);
    assert_int_equal(api_http_connections(http), CROWD);
    close_all(fds);
}

/* It can still read, so it would see what the handshake sends. */
static void client_that_left_before_its_handshake_costs_none(void **state)
{
    char byte;
    const int fd = loop_connect(http);
    assert_int_equal(send(fd, hello, hello_len, 0), hello_len);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    for (unsigned turns = 0; api_http_accepted(http) == 0 || api_http_connections(http) > 0;
         turns++) {
        assert_in_range(turns, 0, TURNS_MAX);
        loop_turn_for(http, 1);
    }
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, ECONNRESET); /* the hello was never read */
    close(fd);
}

static void clients_that_leave_within_the_handshake_are_gone(void **state)
{
    int fds[CROWD];
    connect_all(fds);
    (void)api_http_watch_turn(http);
    close_all(fds);
    for (unsigned turns = 0; api_http_connections(http) > 0; turns++) {
        assert_in_range(turns, 0, TURNS_MAX);
        loop_turn_for(http, 1);
    }
}

static void server_ends_with_handshakes_under_way(void **state)
{
    int fds[CROWD];
    char byte;
    connect_all(fds);
    (void)api_http_watch_turn(http);
    api_http_free(http);
    http = NULL;
    assert_true(recv(fds[CROWD - 1], &byte, 1, 0) <= 0);
    close_all(fds);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(handshakes_are_done_by_a_thread_that_lets_others_go_first,
                                    setup, teardown),
    cmocka_unit_test_setup_teardown(client_that_left_before_its_handshake_costs_none, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(clients_that_leave_within_the_handshake_are_gone, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(server_ends_with_handshakes_under_way, setup, teardown),
};

CASE_MAIN(cases, NULL, NULL)
