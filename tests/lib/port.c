#include "tests/lib/port.h"

#include "tests/lib/case.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PORT_FIRST = 10000,
    PORT_COUNT = 20000, /* up to 29999; Linux connects from 32768 upwards */
    PORT_STRIDE = 37,   /* test programs with neighbouring process ids start this far apart */
};

struct sockaddr_in port_address(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

static bool is_free(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    /* As servers bind: connections that linger in TIME_WAIT do not count. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    struct sockaddr_in address = port_address(port);
    bool bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return bound;
}

/* An abstract socket with the port's name, which no other caller can have while this process lives.
 * It keeps the port between its choice and its use, when nothing is bound to it. */
static bool is_reserved_for_us(uint16_t port)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "pawl-test-port-%u",
                          (unsigned)port);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (bind(fd, (struct sockaddr *)&address, size) == 0)
        return true; /* kept open until the process ends */
    close(fd);
    return false;
}

uint16_t port_free(void)
{
    static unsigned next;
    if (next == 0)
        next = (unsigned)getpid() * PORT_STRIDE;
    for (unsigned tries = 0; tries < PORT_COUNT; tries++) {
        uint16_t port = (uint16_t)(PORT_FIRST + next++ % PORT_COUNT);
        if (is_free(port) && is_reserved_for_us(port))
            return port;
    }
    fail_msg("no free port on 127.0.0.1");
    return 0;
}
