#include "server/system/passed_sockets.h"

#include "fence/protocol/decimal.h"
#include "server/system/options.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool read_passed_number(const char *name, uint64_t max, uint64_t *ret_number)
{
    const char *text = getenv(name);
    return text && fence_decimal_read(text, strlen(text), max, ret_number);
}

/* Returns how many sockets are for this process. */
static uint64_t count_passed(void)
{
    uint64_t pid = 0;
    uint64_t count = 0;
    if (!read_passed_number("LISTEN_PID", INT_MAX, &pid) || pid != (uint64_t)getpid() ||
        !read_passed_number("LISTEN_FDS", INT_MAX, &count))
        return 0;
    return count;
}

/* "metrics:http": one for each socket. */
static void read_passed_names(struct server_passed *passed)
{
    const char *names = getenv("LISTEN_FDNAMES");
    for (unsigned i = 0; i < passed->count && names != NULL; i++) {
        const size_t len = strcspn(names, ":");
        if (len < sizeof(passed->name[i])) {
            memcpy(passed->name[i], names, len);
            passed->name[i][len] = '\0';
        }
        names = names[len] == ':' ? names + len + 1 : NULL;
    }
}

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

static bool is_listening(int fd)
{
    const int domain = socket_option(fd, SO_DOMAIN);
    return socket_option(fd, SO_ACCEPTCONN) == 1 && socket_option(fd, SO_TYPE) == SOCK_STREAM &&
           (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX);
}

static void forget_variables(void)
{
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
}

int server_passed_sockets(struct server_passed *ret_passed)
{
    const uint64_t count = count_passed();
    *ret_passed = (struct server_passed){.count = (unsigned)count};
    if (count > SERVER_PASSED_MAX) {
        (void)server_options_error("the service manager passed %u sockets, and the limit is %d",
                                   ret_passed->count, SERVER_PASSED_MAX);
        return FENCE_EINVAL;
    }
    read_passed_names(ret_passed);
    forget_variables();
    for (int fd = SERVER_PASSED_FIRST; fd < SERVER_PASSED_FIRST + (int)count; fd++) {
        if (!is_listening(fd)) {
            (void)server_options_error(
                "descriptor %d, which the service manager passed, is not a listening stream "
                "socket: give the socket unit ListenStream= and Accept=no",
                fd);
            return FENCE_EINVAL;
        }
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

void server_socket_name(int fd, char *ret_name, size_t size)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un file;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";
    (void)getsockname(fd, &address.any, &len);
    if (address.any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
        (void)snprintf(ret_name, size, "%s:%u", host, ntohs(address.v4.sin_port));
    } else if (address.any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
        (void)snprintf(ret_name, size, "[%s]:%u", host, ntohs(address.v6.sin6_port));
    } else if (len > offsetof(struct sockaddr_un, sun_path) && address.file.sun_path[0] == '\0') {
        (void)snprintf(ret_name, size, "unix:@%.*s",
                       (int)(len - offsetof(struct sockaddr_un, sun_path) - 1),
                       address.file.sun_path + 1);
    } else {
        (void)snprintf(ret_name, size, "unix:%.*s", (int)sizeof(address.file.sun_path),
                       len > offsetof(struct sockaddr_un, sun_path) ? address.file.sun_path : "");
    }
}
