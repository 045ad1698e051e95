#include "tests/unit/api/loop.h"

#include "api/wire/listen.h"
#include "tests/lib/case.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SLICE_MS = 50, /* how long one turn may sleep */
};

struct loop_case loop;

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One turn of the loop, which also wakes up when @fd has something (-1: none). */
static void turn(struct api_http *http, int fd)
{
    int timeout_ms = api_http_timeout_ms(http);
    if (timeout_ms < 0 || timeout_ms > SLICE_MS)
        timeout_ms = SLICE_MS;
    struct pollfd fds[] = {{.fd = api_http_fd(http), .events = POLLIN},
                           {.fd = api_http_watch_fd(http), .events = POLLIN},
                           {.fd = fd, .events = POLLIN}};
    (void)poll(fds, 3, timeout_ms);
    (void)api_http_watch_turn(http);
    api_http_turn(http);
}

struct api_door loop_door(void)
{
    struct api_door door = {.fd = -1};
    assert_int_equal(api_listen("127.0.0.1:0", false, &door.fd), 0);
    return door;
}

struct api_http *loop_serve(const struct api_routes *routes, unsigned idle_s)
{
    return loop_serve_for(routes, idle_s, NULL);
}

struct api_http *loop_serve_for(const struct api_routes *routes, unsigned idle_s,
                                const struct api_access *access)
{
    const struct api_door door = loop_door();
    const struct api_http_config config = {.doors = &door,
                                           .doors_count = 1,
                                           .routes = routes,
                                           .routes_count = 1,
                                           .idle_s = idle_s,
                                           .access = access};
    struct api_http *http = NULL;
    assert_int_equal(api_http_new(&config, &http), 0);
    return http;
}

struct api_http *loop_serve_observed(const struct api_routes *routes,
                                     const struct api_observer *observer, uint32_t wait_ms)
{
    const struct api_door door = loop_door();
    const struct api_http_config config = {
        .doors = &door,
        .doors_count = 1,
        .routes = routes,
        .routes_count = 1,
        .head_ms = wait_ms,
        .body_ms = wait_ms,
        .observer = *observer,
    };
    struct api_http *http = NULL;
    assert_int_equal(api_http_new(&config, &http), 0);
    return http;
}

int loop_connect(const struct api_http *http)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(api_http_port(http)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void loop_send(struct api_http *http, int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t sent = send(fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(sent > 0 || errno == EAGAIN);
        if (sent > 0) {
            text += sent;
            left -= (size_t)sent;
        }
        turn(http, -1);
    }
}

/* True if @response is whole. */
static bool complete(const char *response)
{
    const char *end = strstr(response, "\r\n\r\n");
    const char *length = strstr(response, "Content-Length: ");
    if (end == NULL || length == NULL || length > end)
        return false;
    return strlen(end + 4) >= strtoul(length + strlen("Content-Length: "), NULL, 10);
}

int loop_receive(struct api_http *http, int fd, char response[static LOOP_RESPONSE_MAX])
{
    size_t len = 0;
    response[0] = '\0';
    for (int64_t until = now_ms() + LOOP_PATIENCE_MS; now_ms() < until;) {
        turn(http, fd);
        ssize_t got = recv(fd, response + len, LOOP_RESPONSE_MAX - 1 - len, MSG_DONTWAIT);
        if (got == 0)
            return 0;
        if (got < 0)
            continue;
        len += (size_t)got;
        response[len] = '\0';
        if (complete(response))
            return (int)strtol(response + strlen("HTTP/1.1 "), NULL, 10);
    }
    fail_msg("no response came, but \"%s\"", response);
    return 0;
}

bool loop_closed(struct api_http *http, int fd)
{
    char byte;
    for (int64_t until = now_ms() + LOOP_PATIENCE_MS; now_ms() < until; turn(http, fd)) {
        ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return true;
    }
    return false;
}

void loop_turn_for(struct api_http *http, unsigned ms)
{
    for (int64_t until = now_ms() + ms; now_ms() < until;)
        turn(http, -1);
}

void loop_begin(struct api_http *http)
{
    loop.http = http;
    loop.fd = loop_connect(http);
}

int loop_end(void **state)
{
    api_http_free(loop.http);
    (void)close(loop.fd);
    return 0;
}

int loop_ask(const char *text)
{
    loop_send(loop.http, loop.fd, text);
    return loop_receive(loop.http, loop.fd, loop.response);
}

bool loop_says(const char *text)
{
    return strstr(loop.response, text) != NULL;
}

void assert_said(const char *text)
{
    if (!loop_says(text))
        fail_msg("no word of \"%s\" in %s", text, loop.response);
}

void assert_answered(const char *request, int status, const char *text)
{
    assert_int_equal(loop_ask(request), status);
    assert_said(text);
}

void loop_answer(struct api_request *request, const char *text)
{
    const struct api_answer answer = {.status = 200, .body = text, .len = strlen(text)};
    api_request_answer(request, &answer);
}
