/* A client that asks and never reads: what it costs the kernel of the service has a bound. */
#include "api/http/limits.h"
#include "tests/lib/case.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FLEET_REQUEST "GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\n\r\n"

enum {
    QUIET_MS = 500, /* nothing more can be sent for so long: the service takes no more */
    SEND_BUFFER_MAX = 2 * API_HTTP_SEND_BUFFER + 65536, /* the kernel's own part, and one segment */
};

static uint16_t local_port(int fd)
{
    struct sockaddr_in address = {.sin_port = 0};
    socklen_t len = sizeof(address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/* "   0: 0100007F:1CD4 0100007F:B3A2 01 00000000:00000000 ...": number, local address and port,
 * remote address and port, state, and what waits to be sent, in columns. */
enum {
    LOCAL_PORT_AT = 15,
    REMOTE_PORT_AT = 29,
    QUEUE_AT = 37,
};

static bool is_between(const char *line, uint16_t local, uint16_t remote)
{
    return strlen(line) > QUEUE_AT && strtoul(line + LOCAL_PORT_AT, NULL, 16) == local &&
           strtoul(line + REMOTE_PORT_AT, NULL, 16) == remote;
}

/* Bytes that the kernel keeps to send from @port to @peer (proc(5), /proc/net/tcp). */
static unsigned long unsent(uint16_t port, uint16_t peer)
{
    char line[512];
    unsigned long bytes = 0;
    bool found = false;
    FILE *file = fopen("/proc/net/tcp", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (!is_between(line, port, peer))
            continue;
        bytes = strtoul(line + QUEUE_AT, NULL, 16);
        found = true;
    }
    (void)fclose(file);
    assert_true(found);
    return bytes;
}

/* Sends requests until nobody takes more. */
static void ask_until_nothing_is_taken(int fd)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    while (poll(&writable, 1, QUIET_MS) > 0) {
        assert_false(writable.revents & (POLLERR | POLLHUP));
        (void)!send(fd, FLEET_REQUEST, sizeof(FLEET_REQUEST) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

static void client_that_never_reads_costs_a_bounded_buffer(void **state)
{
    (void)state;
    const uint16_t port = pawld_start_new(fleet).port;
    struct http *deaf = http_connect(port);
    const int least = 1;
    assert_int_equal(setsockopt(http_fd(deaf), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    ask_until_nothing_is_taken(http_fd(deaf));
    const unsigned long bytes = unsent(port, local_port(http_fd(deaf)));
    assert_in_range(bytes, 1, SEND_BUFFER_MAX);

    struct grant grant = call_grant(port, "others", NULL); /* are served */
    call_give_back(port, "others", &grant);
    http_close(deaf);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(client_that_never_reads_costs_a_bounded_buffer, 3, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
