#include "storage/redis/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(FENCE_HOST_MAX + 1 >= INET6_ADDRSTRLEN, "any address fits");

/* IPv4 as the last four bytes of ::ffff:a.b.c.d, so that both families compare alike. */
static bool read_address(const struct sockaddr_storage *from, struct in6_addr *ret_address)
{
    if (from->ss_family == AF_INET6) {
        *ret_address = ((const struct sockaddr_in6 *)from)->sin6_addr;
        return true;
    }
    if (from->ss_family != AF_INET)
        return false;
    memset(ret_address, 0, 10);
    memset(&ret_address->s6_addr[10], 0xff, 2);
    memcpy(&ret_address->s6_addr[12], &((const struct sockaddr_in *)from)->sin_addr, 4);
    return true;
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

void storage_redis_host(int fd, char ret_host[static FENCE_HOST_MAX + 1])
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_storage own = {0};
    socklen_t peer_len = sizeof(peer);
    socklen_t own_len = sizeof(own);
    struct in6_addr to;
    struct in6_addr from;
    ret_host[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &own_len) != 0)
        return;
    if (peer.ss_family == AF_UNIX) {
        memcpy(ret_host, STORAGE_HOST_LOCAL, sizeof(STORAGE_HOST_LOCAL));
        return;
    }
    if (!read_address(&peer, &to) || !read_address(&own, &from))
        return;
    if (is_loopback(&to) || memcmp(&to, &from, sizeof(to)) == 0)
        memcpy(ret_host, STORAGE_HOST_LOCAL, sizeof(STORAGE_HOST_LOCAL));
    else if (IN6_IS_ADDR_V4MAPPED(&to))
        (void)inet_ntop(AF_INET, &to.s6_addr[12], ret_host, FENCE_HOST_MAX + 1);
    else
        (void)inet_ntop(AF_INET6, &to, ret_host, FENCE_HOST_MAX + 1);
}
