#include "api/wire/listen.h"

#include "fence/protocol/decimal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    HOST_MAX = 64,
};

/* Splits "host:port", "[host]:port" and ":port" at the last colon into @host; NULL or the port. */
static const char *split_address(const char *address, char *host, size_t host_size)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == '\0')
        return NULL;
    size_t len = (size_t)(colon - address);
    if (address[0] == '[') {
        if (address[len - 1] != ']' || len < 3)
            return NULL;
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return NULL; /* IPv6 without brackets: the colon of the port is ambiguous */
    }
    if (len >= host_size)
        return NULL;
    memcpy(host, address, len);
    host[len] = '\0';
    return colon + 1;
}

/* getaddrinfo() takes numbers past 65535 and drops their upper bits. */
static bool is_listen_port(const char *text)
{
    uint64_t port = 0;
    return fence_decimal_read(text, strlen(text), UINT16_MAX, &port);
}

/* Resolves an address of an interface of this machine, or of all interfaces: @everywhere stands for
 * an empty host. No name but localhost is looked up, because names can change. */
static int resolve_address(const char *address, const char *everywhere, struct addrinfo **ret_info)
{
    char text[HOST_MAX];
    const char *host = text;
    const char *port = split_address(address, text, sizeof(text));
    if (port == NULL || !is_listen_port(port))
        return FENCE_EINVAL;
    if (text[0] == '\0')
        host = everywhere;
    else if (strcasecmp(text, "localhost") == 0)
        host = "127.0.0.1";
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
    };
    return getaddrinfo(host, port, &hints, ret_info) == 0 ? 0 : FENCE_EINVAL;
}

/* @both: an IPv6 address also accepts IPv4, whatever the system's setting. */
static int open_at(const struct addrinfo *info, bool reuse_port, bool both)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    const int on = 1;
    const int off = 0;
    const int buffer = API_HTTP_SEND_BUFFER; /* for each connection that is accepted there */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)) < 0 ||
        (both && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
        (reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) ||
        bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int why = errno;
        (void)close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* @everywhere: "::" or "0.0.0.0". */
static int listen_at(const char *address, const char *everywhere, bool reuse_port, int *ret_fd)
{
    struct addrinfo *info = NULL;
    int result = resolve_address(address, everywhere, &info);
    if (result != 0)
        return result;
    const bool both = address[0] == ':' && info->ai_family == AF_INET6;
    int fd = open_at(info, reuse_port, both);
    int why = errno;
    freeaddrinfo(info);
    if (fd < 0) {
        errno = why;
        return FENCE_EIO;
    }
    *ret_fd = fd;
    return 0;
}

int api_listen(const char *address, bool reuse_port, int *ret_fd)
{
    const int result = listen_at(address, "::", reuse_port, ret_fd);
    const bool no_ipv6 = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
    if (result == FENCE_EIO && address[0] == ':' && no_ipv6)
        return listen_at(address, "0.0.0.0", reuse_port, ret_fd);
    return result;
}

static bool is_of_this_machine(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof(v4));
        return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof(v6));
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

bool api_listen_is_public(const char *address)
{
    struct addrinfo *info = NULL;
    if (strncmp(address, "unix:", 5) == 0 || resolve_address(address, "::", &info) != 0)
        return false;
    const bool is_public = !is_of_this_machine(info->ai_addr);
    freeaddrinfo(info);
    return is_public;
}

bool api_listen_socket_is_public(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage all;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    if (getsockname(fd, &address.any, &len) < 0)
        return true;
    return address.any.sa_family != AF_UNIX && !is_of_this_machine(&address.any);
}

int api_listen_claim(const char *address, int *ret_claim)
{
    int claim = -1;
    int result = api_listen(address, false, &claim);
    if (result != 0)
        return result;
    const int on = 1;
    if (setsockopt(claim, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0) {
        int why = errno;
        (void)close(claim);
        errno = why;
        return FENCE_EIO;
    }
    *ret_claim = claim;
    return 0;
}

uint16_t api_listen_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    if (getsockname(fd, &address.any, &len) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}
