/* A client that asks and never reads: what it costs the kernel of the service has a bound. */
#include "api/wire/listen.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FLEET_REQUEST "GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\n\r\n"

enum {
    LOOKS_MS = 5000,
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

/* Behind the line's number and its colon: "0100007F:1CD4 0100007F:B3A2 01 00000000:00000000 ...":
 * local address and port, remote address and port, state, and what waits to be sent, in columns. */
enum {
    LOCAL_PORT_AT = 9,
    REMOTE_PORT_AT = 23,
    QUEUE_AT = 31,
};

/* NULL: the line is of other sockets. */
static const char *find_queue(const char *line, uint16_t local, uint16_t remote)
{
    const char *colon = strchr(line, ':');
    const char *columns = colon != NULL ? colon + 2 : "";
    if (strlen(columns) <= QUEUE_AT || strtoul(columns + LOCAL_PORT_AT, NULL, 16) != local ||
        strtoul(columns + REMOTE_PORT_AT, NULL, 16) != remote)
        return NULL;
    return columns + QUEUE_AT;
}

struct looked_for {
    uint16_t port, peer;
    unsigned long bytes; /* that the kernel keeps to send from @port to @peer */
};

/* A look at a table that changes meanwhile may miss a line. */
static bool find_unsent(void *arg)
{
    struct looked_for *looked_for = arg;
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/net/tcp", "r"); /* proc(5) */
    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file)) {
        const char *queue = find_queue(line, looked_for->port, looked_for->peer);
        found = queue != NULL;
        looked_for->bytes = found ? strtoul(queue, NULL, 16) : 0;
    }
    (void)fclose(file);
    return found;
}

static unsigned long unsent(uint16_t port, uint16_t peer)
{
    struct looked_for looked_for = {.port = port, .peer = peer};
    assert_true(wait_until(find_unsent, &looked_for, LOOKS_MS));
    return looked_for.bytes;
}

/* Sends requests until no call takes more. */
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
