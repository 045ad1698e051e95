#include "tests/chaos/call.h"

#include "tests/lib/answer.h"
#include "tests/lib/port.h"
#include "tests/lib/wait.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REQUEST_MAX = 1024,
    ANSWER_MAX = 16 * 1024,
};

/* Waits for @events until @end_ms: false once that is over. A process that was stopped meanwhile is
 * told to look again, as what it waits for may have come. */
static bool wait_for(int fd, short events, uint64_t end_ms)
{
    const uint64_t now_ms = wait_now_ms();
    if (now_ms >= end_ms)
        return false;
    struct pollfd poll_fd = {.fd = fd, .events = events};
    (void)poll(&poll_fd, 1, (int)(end_ms - now_ms));
    return true;
}

static bool send_all(int fd, const char *bytes, size_t len, uint64_t end_ms)
{
    while (len > 0) {
        const ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n >= 0) {
            bytes += n;
            len -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, end_ms)) {
            return false;
        }
    }
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void receive(int fd, uint64_t end_ms, struct call_answer *answer)
{
    char text[ANSWER_MAX];
    size_t len = 0;
    struct answer read;
    enum answer_state state = ANSWER_PARTIAL;
    while (state == ANSWER_PARTIAL) {
        const ssize_t n = recv(fd, text + len, sizeof(text) - len, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!wait_for(fd, POLLIN, end_ms))
                return;
            continue;
        }
        if (n <= 0)
            return;
        len += (size_t)n;
        state = answer_read(text, len, &read);
    }
    if (state != ANSWER_WHOLE)
        return;
    answer->status = read.status;
    answer->json = json_loadb(read.body, read.body_len, JSON_DECODE_ANY, NULL);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static size_t write_request(const struct call_request *request, char text[static REQUEST_MAX])
{
    const char *body = request->body ? request->body : "";
    const char *headers = request->headers ? request->headers : "";
    const int len =
        snprintf(text, REQUEST_MAX,
                 "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                 "%s%sContent-Length: %zu\r\n\r\n%s",
                 request->method, request->path, headers,
                 request->body ? "Content-Type: application/json\r\n" : "", strlen(body), body);
    return len < REQUEST_MAX ? (size_t)len : 0;
}

static int begin_connect(uint16_t port)
{
    const struct sockaddr_in address = port_address(port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
        errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

void call(const struct call_request *request, struct call_answer *ret_answer)
{
    const uint64_t end_ms = wait_now_ms() + request->timeout_ms;
    struct call_answer answer = {0};
    char text[REQUEST_MAX];
    const size_t len = write_request(request, text);
    const int fd = begin_connect(request->port);
    if (fd >= 0) {
        if (send_all(fd, text, len, end_ms))
            receive(fd, end_ms, &answer);
        close(fd);
    }
    if (request->loses_answer)
        call_answer_fini(&answer);
    *ret_answer = answer;
}

void call_answer_fini(struct call_answer *answer)
{
    json_decref(answer->json);
    *answer = (struct call_answer){0};
}

int64_t call_integer(const struct call_answer *answer, const char *name)
{
    return json_integer_value(json_object_get(answer->json, name));
}

const char *call_string(const struct call_answer *answer, const char *name)
{
    return json_string_value(json_object_get(answer->json, name));
}
