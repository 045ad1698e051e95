#include "api/mhd/watch.h"

#include <assert.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

enum {
    STIRRED_A_TURN = 64,
};

int api_watch_open(int *ret_fd)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return FENCE_EIO;
    *ret_fd = fd;
    return 0;
}

void api_watch_add(int watch_fd, int socket, struct api_exchange *exchange)
{
    assert(watch_fd >= 0 && socket >= 0 && exchange != NULL);
    /* Only edges are reported. Unread bytes would otherwise be reported in each turn. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = exchange};
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

bool api_watch_turn(int watch_fd, void (*stirred)(struct api_exchange *exchange))
{
    struct epoll_event events[STIRRED_A_TURN];
    bool knocked = false;
    int count = epoll_wait(watch_fd, events, STIRRED_A_TURN, 0);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr != NULL)
            stirred(events[i].data.ptr);
        else
            knocked = true;
    }
    return knocked;
}

/* Reports whether the client has sent more than the kernel takes: then its end cannot arrive behind
 * that. */
static bool is_far_ahead(int socket)
{
    int unread = 0;
    return ioctl(socket, FIONREAD, &unread) == 0 && unread > API_HTTP_AHEAD_MAX;
}

bool api_watch_has_left(int socket)
{
    struct pollfd end = {.fd = socket, .events = POLLRDHUP};
    return (poll(&end, 1, 0) > 0 && end.revents & (POLLRDHUP | POLLHUP | POLLERR)) ||
           is_far_ahead(socket);
}
