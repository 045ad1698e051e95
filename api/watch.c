#include "api/watch.h"

#include "api/exchange.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>

enum {
    LEAVERS_A_TURN = 64,
};

static int socket_of(const struct api_request *request)
{
    return MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

int api_watch_open(int *ret_fd)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return FENCE_EIO;
    *ret_fd = fd;
    return 0;
}

void api_watch_add(int watch_fd, struct api_request *request)
{
    /* Once: a call that is not ended by it stays suspended for a moment. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = request};
    (void)epoll_ctl(watch_fd, EPOLL_CTL_ADD, socket_of(request), &event);
}

void api_watch_remove(int watch_fd, const struct api_request *request)
{
    (void)epoll_ctl(watch_fd, EPOLL_CTL_DEL, socket_of(request), NULL);
}

void api_watch_turn(int watch_fd, void (*left)(struct api_request *request))
{
    struct epoll_event events[LEAVERS_A_TURN];
    int count = epoll_wait(watch_fd, events, LEAVERS_A_TURN, 0);
    for (int i = 0; i < count; i++)
        left(events[i].data.ptr);
}

bool api_watch_has_left(const struct api_request *request)
{
    struct pollfd socket = {.fd = socket_of(request), .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && socket.revents & (POLLRDHUP | POLLHUP | POLLERR);
}
