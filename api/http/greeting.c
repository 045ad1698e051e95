#include "api/http/greeting.h"

#include "api/tls/session.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_A_TURN = 64,
    UNREAD_SIZE = 512, /* of what a client sent in place of a handshake */
};

static uint64_t now_ns(void)
{
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int api_greetings_init(struct api_greetings *greetings,
                       void (*greeted)(void *context, const struct api_greeting *greeting),
                       void *context)
{
    *greetings = (struct api_greetings){
        .fd = epoll_create1(EPOLL_CLOEXEC), .greeted = greeted, .context = context};
    return greetings->fd >= 0 ? 0 : FENCE_EIO;
}

/* ---- which are due --------------------------------------------------------------------------- */

/* One event a step: what comes meanwhile is told after the step. */
static int await_more(const struct api_greetings *greetings, struct api_greeting *greeting, int how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT,
                                .data.ptr = greeting};
    return epoll_ctl(greetings->fd, how, greeting->connection->fd, &event) == 0 ? 0 : FENCE_EIO;
}

static void make_due(struct api_greetings *greetings, struct api_greeting *greeting)
{
    if (greeting->due)
        return;
    greeting->due = true;
    greeting->due_next = NULL;
    if (greetings->due_last != NULL)
        greetings->due_last->due_next = greeting;
    else
        greetings->due_first = greeting;
    greetings->due_last = greeting;
}

static struct api_greeting *take_due(struct api_greetings *greetings)
{
    struct api_greeting *greeting = greetings->due_first;
    greetings->due_first = greeting->due_next;
    if (greetings->due_first == NULL)
        greetings->due_last = NULL;
    greeting->due = false;
    return greeting;
}

static void look_who_spoke(struct api_greetings *greetings)
{
    struct epoll_event events[EVENTS_A_TURN];
    const int count = epoll_wait(greetings->fd, events, EVENTS_A_TURN, 0);
    for (int i = 0; i < count; i++)
        make_due(greetings, events[i].data.ptr);
}

/* ---- a client -------------------------------------------------------------------------------- */

static void let_go_of(struct api_greetings *greetings, struct api_greeting *greeting)
{
    assert((greeting->prev == NULL) == (greetings->first == greeting));
    (void)epoll_ctl(greetings->fd, EPOLL_CTL_DEL, greeting->connection->fd, NULL);
    if (greeting->prev != NULL)
        greeting->prev->next = greeting->next;
    else
        greetings->first = greeting->next;
    if (greeting->next != NULL)
        greeting->next->prev = greeting->prev;
    assert(greetings->count > 0);
    greetings->count--;
}

int api_greetings_add(struct api_greetings *greetings, struct api_connection *connection,
                      const struct sockaddr *from, socklen_t from_len)
{
    assert(connection->session != NULL && from_len <= sizeof(struct sockaddr_storage));
    struct api_greeting *greeting = calloc(1, sizeof(*greeting));
    if (greeting == NULL)
        return FENCE_ENOMEM;
    greeting->connection = connection;
    greeting->from_len = from_len;
    memcpy(&greeting->from, from, from_len);
    if (await_more(greetings, greeting, EPOLL_CTL_ADD) != 0) {
        free(greeting);
        return FENCE_ENOMEM;
    }
    greeting->next = greetings->first;
    if (greeting->next != NULL)
        greeting->next->prev = greeting;
    greetings->first = greeting;
    greetings->count++;
    return 0;
}

/* libmicrohttpd looks at a connection when something comes. Nothing may come from a client that was
 * refused, so that is told here. */
static void tell_refused(struct api_connection *connection)
{
    char unread[UNREAD_SIZE];
    if (api_tls_session_state(connection->session) != API_TLS_STANDS)
        (void)!api_connection_read(connection, unread, sizeof(unread));
}

static void greet(struct api_greetings *greetings, struct api_greeting *greeting)
{
    struct api_connection *connection = greeting->connection;
    if (!connection->ended && !api_tls_session_greet(connection->session) &&
        await_more(greetings, greeting, EPOLL_CTL_MOD) == 0)
        return;
    let_go_of(greetings, greeting);
    tell_refused(connection);
    greetings->greeted(greetings->context, greeting);
    free(greeting);
}

bool api_greetings_turn(struct api_greetings *greetings)
{
    if (greetings->count == 0)
        return false;
    const uint64_t until_ns = now_ns() + API_GREETINGS_MS * UINT64_C(1000000);
    look_who_spoke(greetings);
    while (greetings->due_first != NULL && now_ns() < until_ns)
        greet(greetings, take_due(greetings));
    return greetings->due_first != NULL;
}

void api_greetings_fini(struct api_greetings *greetings)
{
    while (greetings->first != NULL) {
        struct api_greeting *greeting = greetings->first;
        const int fd = greeting->connection->fd;
        let_go_of(greetings, greeting);
        api_connections_remove(greeting->connection->connections, fd);
        (void)close(fd);
        free(greeting);
    }
    if (greetings->fd >= 0)
        (void)close(greetings->fd);
    *greetings = (struct api_greetings){.fd = -1};
}
