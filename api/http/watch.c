#include "api/http/watch.h"

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>

enum {
    LEAVERS_A_TURN = 64,
};

int api_watch_open(int *ret_fd)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return FENCE_EIO;
    *ret_fd = fd;
    return 0;
}

void api_watch_add(int watch_fd, int socket, struct api_request *request)
{
    /* Once: a call that is not ended by it stays suspended for a moment. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = request};
    (void)epoll_ctl(watch_fd, EPOLL_CTL_ADD, socket, &event);
}

void api_watch_remove(int watch_fd, int socket)
{
    (void)epoll_ctl(watch_fd, EPOLL_CTL_DEL, socket, NULL);
}

int api_watch_door(int watch_fd, int listen_fd, bool open)
{
    struct epoll_event event = {.events = open ? EPOLLIN : 0, .data.ptr = NULL};
    if (epoll_ctl(watch_fd, EPOLL_CTL_MOD, listen_fd, &event) == 0)
        return 0;
    return epoll_ctl(watch_fd, EPOLL_CTL_ADD, listen_fd, &event) == 0 ? 0 : FENCE_EIO;
}

void api_watch_no_door(int watch_fd, int listen_fd)
{
    (void)epoll_ctl(watch_fd, EPOLL_CTL_DEL, listen_fd, NULL);
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

bool api_watch_has_left(int socket)
{
    struct pollfd end = {.fd = socket, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0 && end.revents & (POLLRDHUP | POLLHUP | POLLERR);
}
