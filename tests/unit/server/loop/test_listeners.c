#include "api/wire/listen.h"
#include "server/loop/listeners.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WORKERS = 3,
    PATH_BYTES = 256,
};

static struct server_listeners listeners;

/* Every worker has a socket at each listener, and all of a listener have one port. */
static void expect_open(unsigned count)
{
    assert_int_equal(listeners.count, count);
    for (unsigned worker = 0; worker < WORKERS; worker++) {
        struct api_door own[API_DOORS_MAX];
        server_listeners_of(&listeners, worker, own);
        for (unsigned i = 0; i < count; i++) {
            assert_true(own[i].fd >= 0);
            assert_int_equal(api_listen_port(own[i].fd),
                             api_listen_port(listeners.listener[i].fd[0]));
        }
    }
}

static void each_worker_has_a_socket_of_each_address(void **state)
{
    char address[PATH_BYTES];
    char *folder = tempdir_new();
    (void)snprintf(address, sizeof(address), "unix:%s/socket", folder);
    const struct server_listens listens = {
        .address = {"127.0.0.1:0", address},
        .address_count = 2,
        .metrics = {"localhost:0"},
        .metrics_count = 1,
    };
    assert_int_equal(server_listeners_open(&listens, NULL, WORKERS, &listeners), 0);
    expect_open(3);
    assert_false(listeners.listener[0].metrics_only);
    assert_true(listeners.listener[2].metrics_only);
    assert_true(listeners.listener[0].fd[0] != listeners.listener[0].fd[1]);
    assert_int_equal(access(address + strlen("unix:"), F_OK), 0);
    server_listeners_close(&listeners);
    assert_int_equal(access(address + strlen("unix:"), F_OK), -1);
    tempdir_remove(folder);
}

static const struct server_listener_kind plain = {.metrics_only = false};
static const struct server_listener_kind for_metrics = {.metrics_only = true};

/* As a supervisor hands it over: it stays the caller's, and non-blocking from then on. */
static void socket_of_somebody_else_is_a_listener(void **state)
{
    const struct server_listens none = {.address_count = 0};
    int fd = -1;
    assert_int_equal(api_listen("127.0.0.1:0", false, &fd), 0);
    assert_int_equal(server_listeners_open(&none, NULL, WORKERS, &listeners), 0);
    assert_int_equal(server_listeners_add(&listeners, &fd, 1, "descriptor 3", &for_metrics), 0);
    expect_open(1);
    assert_true(listeners.listener[0].metrics_only);
    assert_int_equal(api_listen_port(listeners.listener[0].fd[2]), api_listen_port(fd));
    assert_int_equal(accept(listeners.listener[0].fd[1], NULL, NULL), -1); /* does not block */
    server_listeners_close(&listeners);
    assert_true(api_listen_port(fd) > 0);
    close(fd);
}

static void what_a_worker_was_given_is_its_own(void **state)
{
    const struct server_listens listens = {.address = {"127.0.0.1:0"}, .address_count = 1};
    struct api_door own[API_DOORS_MAX];
    assert_int_equal(server_listeners_open(&listens, NULL, 1, &listeners), 0);
    server_listeners_of(&listeners, 0, own);
    server_listeners_given(&listeners, 0);
    server_listeners_close(&listeners);
    assert_true(api_listen_port(own[0].fd) > 0);
    close(own[0].fd);
}

static void more_listeners_than_there_is_room_for_are_refused(void **state)
{
    const struct server_listens none = {.address_count = 0};
    int fd = -1;
    assert_int_equal(api_listen("127.0.0.1:0", false, &fd), 0);
    assert_int_equal(server_listeners_open(&none, NULL, 1, &listeners), 0);
    for (int i = 0; i < API_DOORS_MAX; i++)
        assert_int_equal(server_listeners_add(&listeners, &fd, 1, "one", &plain), 0);
    assert_int_equal(server_listeners_add(&listeners, &fd, 1, "one too many", &plain), FENCE_EBUSY);
    assert_int_equal(listeners.count, API_DOORS_MAX);
    server_listeners_close(&listeners);
    close(fd);
}

static void names_are_told_from_addresses(void **state)
{
    static const char *const names[] = {"locks.example.com:7380", "pawld:0",
                                        "https://locks.example.com:1"};
    static const char *const others[] = {
        "127.0.0.1:7380", "[::1]:7380", ":7380", "localhost:1", "LocalHost:1",
        "unix:/run/a:1",  "nowhere",    "",      "a b:1",       "http://[::1]:1"};
    char name[API_HOST_NAME_MAX + 1];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(server_listen_name(names[i], name));
    assert_string_equal(name, "locks.example.com");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (server_listen_name(others[i], name))
            fail_msg("%s is taken for a name", others[i]);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(each_worker_has_a_socket_of_each_address),
    cmocka_unit_test(socket_of_somebody_else_is_a_listener),
    cmocka_unit_test(what_a_worker_was_given_is_its_own),
    cmocka_unit_test(more_listeners_than_there_is_room_for_are_refused),
    cmocka_unit_test(names_are_told_from_addresses),
};

CASE_MAIN(cases, NULL, NULL)
