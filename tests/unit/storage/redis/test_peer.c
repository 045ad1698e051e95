#include "storage/redis/peer.h"
#include "tests/lib/case.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The address of a UDP socket connected to @address:9 leads. Nothing is sent: connecting one only
 * asks the routes. False if there is no route (no IPv6 here, say). */
static bool host_of(int family, const char *address, char ret_host[static FENCE_HOST_MAX + 1])
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (family == AF_INET)
        assert_int_equal(inet_pton(family, address, &ipv4.sin_addr), 1);
    else
        assert_int_equal(inet_pton(family, address, &ipv6.sin6_addr), 1);
    int failed = family == AF_INET ? connect(fd, (struct sockaddr *)&ipv4, sizeof(ipv4))
                                   : connect(fd, (struct sockaddr *)&ipv6, sizeof(ipv6));
    if (!failed)
        storage_redis_host(fd, ret_host);
    close(fd);
    return !failed;
}

static void loopback_is_this_machine_under_each_of_its_addresses(void **state)
{
    char host[FENCE_HOST_MAX + 1];
    assert_true(host_of(AF_INET, "127.0.0.1", host));
    assert_string_equal(host, STORAGE_HOST_LOCAL);
    assert_true(host_of(AF_INET, "127.3.2.1", host));
    assert_string_equal(host, STORAGE_HOST_LOCAL);
    if (host_of(AF_INET6, "::1", host))
        assert_string_equal(host, STORAGE_HOST_LOCAL);
    if (host_of(AF_INET6, "::ffff:127.0.0.1", host))
        assert_string_equal(host, STORAGE_HOST_LOCAL);
}

/* The address that this machine has in a network, if it has any: what others would reach it by. */
static bool own_address(char ret_address[static INET_ADDRSTRLEN])
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in own = {0};
    socklen_t own_len = sizeof(own);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, "192.0.2.7", &to.sin_addr), 1);
    bool found = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
                 getsockname(fd, (struct sockaddr *)&own, &own_len) == 0;
    close(fd);
    return found && inet_ntop(AF_INET, &own.sin_addr, ret_address, INET_ADDRSTRLEN);
}

static void own_address_in_a_network_is_this_machine(void **state)
{
    char address[INET_ADDRSTRLEN];
    char host[FENCE_HOST_MAX + 1];
    if (!own_address(address) || !host_of(AF_INET, address, host))
        case_skip("this machine is in no network");
    assert_string_equal(host, STORAGE_HOST_LOCAL);
}

static void unix_socket_is_this_machine(void **state)
{
    int pair[2];
    char host[FENCE_HOST_MAX + 1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    storage_redis_host(pair[0], host);
    assert_string_equal(host, STORAGE_HOST_LOCAL);
    close(pair[0]);
    close(pair[1]);
}

static void other_machine_is_named_by_its_address_in_either_family(void **state)
{
    char host[FENCE_HOST_MAX + 1];
    if (!host_of(AF_INET, "192.0.2.7", host))
        case_skip("this machine has no route to others");
    assert_string_equal(host, "192.0.2.7");
    if (host_of(AF_INET6, "::ffff:192.0.2.7", host))
        assert_string_equal(host, "192.0.2.7");
}

static void socket_that_leads_nowhere_has_no_host(void **state)
{
    char host[FENCE_HOST_MAX + 1];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memset(host, 'x', sizeof(host));
    storage_redis_host(fd, host);
    assert_string_equal(host, "");
    close(fd);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(loopback_is_this_machine_under_each_of_its_addresses),
    cmocka_unit_test(own_address_in_a_network_is_this_machine),
    cmocka_unit_test(unix_socket_is_this_machine),
    cmocka_unit_test(other_machine_is_named_by_its_address_in_either_family),
    cmocka_unit_test(socket_that_leads_nowhere_has_no_host),
};

CASE_MAIN(cases, NULL, NULL)
