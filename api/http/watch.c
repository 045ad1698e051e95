#include "api/http/watch.h"

#include "api/http/exchange.h"

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

int api_watch_door(int watch_fd, int listen_fd, bool open)
{
    struct epoll_event event = {.events = open ? EPOLLIN : 0, .data.ptr = NULL};
    if (epoll_ctl(watch_fd, EPOLL_CTL_MOD, listen_fd, &event) == 0)
        return 0;
    return epoll_ctl(watch_fd, EPOLL_CTL_ADD, listen_fd, &event) == 0 ? 0 : FENCE_EIO;
}

bool api_watch_turn(int watch_fd, void (*left)(struct api_request *request))
{
    struct epoll_event events[LEAVERS_A_TURN];
    bool knocked = false;
    int count = epoll_wait(watch_fd, events, LEAVERS_A_TURN, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr != NULL)
            left(events[i].data.ptr);
        else
            knocked = true;
    }
    return knocked;
}

bool api_watch_has_left(const struct api_request *request)
{
    struct pollfd socket = {.fd = socket_of(request), .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && socket.revents & (POLLRDHUP | POLLHUP | POLLERR);
}
