#include "api/mhd/greeting.h"

#include "api/tls/session.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    EVENTS_A_TURN = 64,
    UNREAD_SIZE = 512, /* bytes that a client sent instead of a handshake */
};

/* ---- lists ----------------------------------------------------------------------------------- */

static void append_greeting(struct api_greetings_list *list, struct api_greeting *greeting)
{
    assert((list->first == NULL) == (list->last == NULL));
    greeting->due_next = NULL;
    if (list->last != NULL)
        list->last->due_next = greeting;
    else
        list->first = greeting;
    list->last = greeting;
}

static struct api_greeting *take_first(struct api_greetings_list *list)
{
    struct api_greeting *greeting = list->first;
    if (greeting == NULL)
        return NULL;
    list->first = greeting->due_next;
    if (list->first == NULL)
        list->last = NULL;
    return greeting;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Returns the next client that is due; NULL: the thread must stop. */
static struct api_greeting *await_due(struct api_greetings *greetings)
{
    (void)pthread_mutex_lock(&greetings->lock);
    while (greetings->due.first == NULL && !greetings->stops)
        (void)pthread_cond_wait(&greetings->more, &greetings->lock);
    struct api_greeting *greeting = greetings->stops ? NULL : take_first(&greetings->due);
    (void)pthread_mutex_unlock(&greetings->lock);
    return greeting;
}

/* Reports whether the client has closed its side: then no handshake can succeed. */
static bool left_already(const struct api_greeting *greeting)
{
    struct pollfd end = {.fd = greeting->connection->fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0;
}

static void *serve_handshakes(void *context)
{
    struct api_greetings *greetings = context;
    struct api_greeting *greeting;
    /* Lowers this thread alone: in Linux each thread has a nice value (setpriority(2)). */
    errno = 0;
    const int nice_now = getpriority(PRIO_PROCESS, (id_t)gettid());
    if (nice_now != -1 || errno == 0)
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), nice_now + API_GREETINGS_NICE);
    while ((greeting = await_due(greetings)) != NULL) {
        greeting->gone = left_already(greeting);
        greeting->finished = greeting->gone || api_tls_session_greet(greeting->connection->session);
        (void)pthread_mutex_lock(&greetings->lock);
        append_greeting(&greetings->done, greeting);
        (void)pthread_mutex_unlock(&greetings->lock);
        (void)!eventfd_write(greetings->done_fd, 1);
    }
    return NULL;
}

/* Blocks all signals: other threads wait for them. */
static int start_handshakes(struct api_greetings *greetings)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&greetings->thread, NULL, serve_handshakes, greetings);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    greetings->runs = error == 0;
    return error == 0 ? 0 : FENCE_ENOMEM;
}

static void stop_thread(struct api_greetings *greetings)
{
    if (!greetings->runs)
        return;
    (void)pthread_mutex_lock(&greetings->lock);
    greetings->stops = true;
    (void)pthread_cond_signal(&greetings->more);
    (void)pthread_mutex_unlock(&greetings->lock);
    (void)pthread_join(greetings->thread, NULL);
    greetings->runs = false;
}

static void hand_to_thread(struct api_greetings *greetings, struct api_greeting *greeting)
{
    (void)pthread_mutex_lock(&greetings->lock);
    append_greeting(&greetings->due, greeting);
    (void)pthread_cond_signal(&greetings->more);
    (void)pthread_mutex_unlock(&greetings->lock);
}

/* ---- a client -------------------------------------------------------------------------------- */

/* Waits for one event, once: further events are reported after the next step. */
static int await_more(const struct api_greetings *greetings, struct api_greeting *greeting, int how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT,
                                .data.ptr = greeting};
    return epoll_ctl(greetings->fd, how, greeting->connection->fd, &event) == 0 ? 0 : FENCE_EIO;
}

static void let_go_of(struct api_greetings *greetings, struct api_greeting *greeting)
{
    assert((greeting->prev == NULL) == (greetings->first == greeting));
    greeting->connection->greeting = false;
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
    if (!greetings->runs && start_handshakes(greetings) != 0)
        return FENCE_ENOMEM;
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
    connection->greeting = true;
    greeting->next = greetings->first;
    if (greeting->next != NULL)
        greeting->next->prev = greeting;
    greetings->first = greeting;
    greetings->count++;
    return 0;
}

/* Wakes libmicrohttpd, which looks at a connection only when bytes arrive. A refused client may
 * send none. */
static void tell_refused(struct api_connection *connection)
{
    char unread[UNREAD_SIZE];
    if (api_tls_session_state(connection->session) != API_TLS_STANDS)
        (void)!api_connection_read(connection, unread, sizeof(unread));
}

static void end_greeting(struct api_greetings *greetings, struct api_greeting *greeting)
{
    assert(greeting->connection->greeting && greetings->greeted != NULL);
    let_go_of(greetings, greeting);
    greeting->connection->ended |= greeting->gone;
    tell_refused(greeting->connection);
    greetings->greeted(greetings->context, greeting);
    free(greeting);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void look_who_spoke(struct api_greetings *greetings)
{
    struct epoll_event events[EVENTS_A_TURN];
    eventfd_t served;
    const int count = epoll_wait(greetings->fd, events, EVENTS_A_TURN, 0);
    for (int i = 0; i < count; i++) {
        struct api_greeting *greeting = events[i].data.ptr;
        if (greeting == NULL)
            (void)!eventfd_read(greetings->done_fd, &served);
        else if (greeting->connection->ended)
            end_greeting(greetings, greeting);
        else
            hand_to_thread(greetings, greeting);
    }
}

void api_greetings_turn(struct api_greetings *greetings)
{
    if (greetings->count == 0)
        return;
    look_who_spoke(greetings);
    (void)pthread_mutex_lock(&greetings->lock);
    struct api_greetings_list done = greetings->done;
    greetings->done = (struct api_greetings_list){NULL, NULL};
    (void)pthread_mutex_unlock(&greetings->lock);
    struct api_greeting *greeting;
    while ((greeting = take_first(&done)) != NULL)
        if (greeting->finished || greeting->connection->ended ||
            await_more(greetings, greeting, EPOLL_CTL_MOD) != 0)
            end_greeting(greetings, greeting);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

int api_greetings_init(struct api_greetings *greetings,
                       void (*greeted)(void *context, const struct api_greeting *greeting),
                       void *context)
{
    assert(greeted != NULL);
    *greetings = (struct api_greetings){
        .fd = epoll_create1(EPOLL_CLOEXEC),
        .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .greeted = greeted,
        .context = context,
    };
    (void)pthread_mutex_init(&greetings->lock, NULL);
    (void)pthread_cond_init(&greetings->more, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (greetings->fd >= 0 && greetings->done_fd >= 0 &&
        epoll_ctl(greetings->fd, EPOLL_CTL_ADD, greetings->done_fd, &event) == 0)
        return 0;
    return FENCE_EIO; /* the owner calls api_greetings_fini() */
}

void api_greetings_fini(struct api_greetings *greetings)
{
    stop_thread(greetings);
    while (greetings->first != NULL) {
        struct api_greeting *greeting = greetings->first;
        const int fd = greeting->connection->fd;
        let_go_of(greetings, greeting);
        api_connections_remove(greeting->connection->connections, fd);
        (void)close(fd);
        free(greeting);
    }
    assert(greetings->count == 0 && !greetings->runs);
    if (greetings->fd >= 0)
        (void)close(greetings->fd);
    if (greetings->done_fd >= 0)
        (void)close(greetings->done_fd);
    (void)pthread_mutex_destroy(&greetings->lock);
    (void)pthread_cond_destroy(&greetings->more);
}
