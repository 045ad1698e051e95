#include "api/mhd/connection.h"

#include "api/mhd/refusal.h"
#include "api/tls/session.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    FDS_FIRST = 256,
    DRAIN_SIZE = 4096,
    DRAINS_A_READ = 16,
};

static uint64_t connection_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void disarm(struct api_connection *connection)
{
    api_deadline_clear(&connection->connections->deadlines, &connection->deadline);
}

static void arm(struct api_connection *connection, enum api_connection_wait wait)
{
    assert(!connection->ended);
    api_deadline_set(&connection->connections->deadlines, &connection->deadline, wait,
                     connection_now_ms());
}

/* NULL if @deadline is. */
static struct api_connection *of_deadline(struct api_deadline *deadline)
{
    return deadline == NULL ? NULL
                            : (struct api_connection *)((char *)deadline -
                                                        offsetof(struct api_connection, deadline));
}

/* Reports whether requests wait for their answers. Meanwhile nothing more is read, so the client
 * must not be blamed for an incomplete next request. */
static bool is_owed(const struct api_connection *connection)
{
    return connection->framing.completed != connection->answered;
}

/* Waits for the rest of a request. */
static void await_rest(struct api_connection *connection)
{
    enum api_connection_wait wait = API_CONNECTION_FREE;
    const enum api_framing_phase phase = api_framing_phase(&connection->framing);
    if (connection->fresh)
        return; /* a handshake does not end the wait for the first byte */
    if (!is_owed(connection) && phase == API_FRAMING_HEAD)
        wait = API_CONNECTION_HEAD;
    else if (!is_owed(connection) && phase == API_FRAMING_BODY)
        wait = API_CONNECTION_BODY;
    if (wait == connection->deadline.wait)
        return;
    if (wait == API_CONNECTION_FREE)
        disarm(connection);
    else
        arm(connection, wait);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Makes libmicrohttpd look at the connection again: its next read finds the end. */
static void wake(const struct api_connection *connection)
{
    (void)shutdown(connection->fd, SHUT_RD);
}

static void say_goodbye(const struct api_connection *connection)
{
    if (connection->session != NULL && !connection->greeting)
        api_tls_session_end(connection->session);
}

static void end(struct api_connection *connection)
{
    disarm(connection);
    connection->ended = true;
    say_goodbye(connection);
    (void)shutdown(connection->fd, SHUT_RDWR);
}

/* Reads the bytes that a refused client still sends. Otherwise the kernel would reset the
 * connection before the client has read the reason. Returns 0 at the end, or -1 with EAGAIN. */
static ssize_t drain(const struct api_connection *connection)
{
    char dropped[DRAIN_SIZE];
    ssize_t got = 1;
    for (int i = 0; i < DRAINS_A_READ && got > 0; i++)
        got = recvfrom(connection->fd, dropped, sizeof(dropped), MSG_DONTWAIT, NULL, NULL);
    if (got > 0) {
        errno = EAGAIN;
        got = -1;
    }
    return got;
}

/* Sends the reason. A client without TLS is answered without TLS. A failed session has sent its
 * alert. */
static void tell_fault(const struct api_connection *connection, enum api_problem problem,
                       const char *detail)
{
    struct api_tls_session *session = connection->session;
    if (session != NULL && api_tls_session_state(session) == API_TLS_FAILED)
        return;
    if (session != NULL && api_tls_session_state(session) == API_TLS_PLAIN)
        session = NULL;
    api_refusal_send(connection->fd, session, problem, detail, connection->framing.is_head);
}

/* Answers a request that was not complete. */
static void refuse_unfinished(const struct api_connection *connection, enum api_problem problem,
                              const char *detail)
{
    const struct api_observer *observer = connection->connections->observer;
    const struct api_observed observed = {
        .method = API_METHOD_OTHER,
        .status = api_problem_status(problem),
        .outcome = api_outcome_of_problem(problem),
        .caller = "",
    };
    if (observer->answered != NULL)
        observer->answered(observer->context, &observed);
    tell_fault(connection, problem, detail);
}

static enum api_problem problem_of_fault(const struct api_fault *fault)
{
    static const enum api_problem problems[] = {
        [API_FAULT_SYNTAX] = API_PROBLEM_INVALID,
        [API_FAULT_LARGE_HEAD] = API_PROBLEM_HEAD,
        [API_FAULT_LARGE_BODY] = API_PROBLEM_TOO_LARGE,
    };
    assert((size_t)fault->kind < sizeof(problems) / sizeof(problems[0]));
    return problems[fault->kind];
}

static ssize_t refuse_connection(struct api_connection *connection)
{
    const struct api_fault *fault = connection->fault;
    assert(fault != NULL && connection->deadline.wait != API_CONNECTION_LINGER);
    refuse_unfinished(connection, problem_of_fault(fault), fault->detail);
    say_goodbye(connection);
    (void)shutdown(connection->fd, SHUT_WR);
    arm(connection, API_CONNECTION_LINGER);
    return drain(connection);
}

/* Looks for the end of the client's bytes. It may have arrived together with a request:
 * libmicrohttpd takes a short read for all bytes, and is not notified of the end again. Its
 * connection would stay open until it counts as idle. Most clients send a next request, or close,
 * before this looks. */
static void see_end(struct api_connection *connection)
{
    struct pollfd end = {.fd = connection->fd, .events = POLLRDHUP};
    disarm(connection);
    if (poll(&end, 1, 0) > 0 && (end.revents & POLLRDHUP))
        wake(connection);
    else
        arm(connection, API_CONNECTION_IDLE);
}

static void expire(struct api_connection *connection)
{
    assert(connection->deadline.wait < API_CONNECTION_WAITS && !connection->ended);
    if (connection->deadline.wait == API_CONNECTION_END) {
        see_end(connection);
        return;
    }
    if (connection->deadline.wait != API_CONNECTION_LINGER && !connection->fresh)
        refuse_unfinished(connection, API_PROBLEM_REQUEST_TIMEOUT, NULL);
    end(connection);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void log_tls_failure(const struct api_connection *connection)
{
    char line[320];
    const struct api_connections *connections = connection->connections;
    const char *why = api_tls_session_why(connection->session);
    if (connections->log == NULL || why[0] == '\0')
        return;
    (void)snprintf(line, sizeof(line), "tls: %s\n", why);
    connections->log(connections->log_context, line);
}

/* Handles a failure: no part of a request was read. The connection lingers, so that the client can
 * read the answer, or the TLS alert. */
static void note_failure(struct api_connection *connection)
{
    static const struct api_fault plain = {API_FAULT_SYNTAX,
                                           "This port accepts only TLS. Use https://."};
    static const struct api_fault failed = {API_FAULT_SYNTAX, NULL};
    const bool is_plain = api_tls_session_state(connection->session) == API_TLS_PLAIN;
    assert(connection->fault == NULL);
    connection->fault = is_plain ? &plain : &failed;
    if (!is_plain)
        log_tls_failure(connection);
}

static ssize_t receive(struct api_connection *connection, char *buffer, size_t size)
{
    if (connection->session == NULL)
        return recvfrom(connection->fd, buffer, size, 0, NULL, NULL);
    const ssize_t got = api_tls_session_read(connection->session, buffer, size);
    if (got < 0 && errno == EPROTO)
        note_failure(connection);
    return got;
}

/* Reports whether a read of @got bytes, with room for @room, got all bytes there are. */
static bool is_drained(const struct api_connection *connection, size_t got, size_t room)
{
    return connection->session != NULL ? api_tls_session_is_drained(connection->session)
                                       : got < room;
}

/* The time for the head begins with its first byte. Empty lines before it do not count. */
static void note_first_byte(struct api_connection *connection, bool between_requests)
{
    if (!connection->fresh || (between_requests && connection->framing.completed == 0))
        return;
    disarm(connection);
    connection->fresh = false;
}

/* Reads until the kernel has no more bytes, the buffer is full, a request is complete, or one is
 * refused. Returns the result of the last read. */
static ssize_t fill(struct api_connection *connection, char *buffer, size_t size, size_t *ret_kept)
{
    ssize_t got = 0;
    bool more = true;
    *ret_kept = 0;
    while (more) {
        const size_t room = size - *ret_kept;
        size_t kept = 0;
        got = receive(connection, buffer + *ret_kept, room);
        if (got <= 0)
            break;
        connection->fault =
            api_framing_feed(&connection->framing, buffer + *ret_kept, (size_t)got, &kept);
        assert((size_t)got <= room && kept <= (size_t)got);
        *ret_kept += kept;
        const bool drained = is_drained(connection, (size_t)got, room);
        const enum api_framing_phase phase = api_framing_phase(&connection->framing);
        const bool whole = phase == API_FRAMING_IDLE;
        note_first_byte(connection, whole);
        /* A short read has all bytes. But the end may follow half a request, or bytes that are
         * dropped. The end behind a whole request is found when the request is answered. */
        more = connection->fault == NULL && *ret_kept < size && phase != API_FRAMING_LOST &&
               !(drained && whole && *ret_kept > 0);
    }
    return got;
}

ssize_t api_connection_read(struct api_connection *connection, char *buffer, size_t size)
{
    size_t kept = 0;
    if (connection->ended)
        return 0;
    if (connection->fault != NULL)
        return connection->deadline.wait == API_CONNECTION_LINGER ? drain(connection)
                                                                  : refuse_connection(connection);

    const ssize_t got = fill(connection, buffer, size, &kept);
    if (connection->fault != NULL && kept == 0)
        return refuse_connection(connection);
    await_rest(connection);
    if (kept == 0) {
        if (got > 0) {
            errno = EAGAIN;
            return -1;
        }
        return got;
    }
    if (connection->fault != NULL || got == 0)
        wake(connection); /* libmicrohttpd is not notified of the end, or of more bytes, again */
    return (ssize_t)kept;
}

const char *api_connection_subject(const struct api_connection *connection)
{
    return connection->session != NULL ? api_tls_session_subject(connection->session) : "";
}

/* ---- libmicrohttpd's calls ------------------------------------------------------------------- */

static void *find_called(void *connections, int fd)
{
    return api_connections_find(connections, fd);
}

static ssize_t read_called(void *connection, char *buffer, size_t size)
{
    return api_connection_read(connection, buffer, size);
}

static bool speaks_tls(const void *connection)
{
    return ((const struct api_connection *)connection)->session != NULL;
}

static ssize_t write_called(void *connection, const void *bytes, size_t size)
{
    return api_tls_session_write(((struct api_connection *)connection)->session, bytes, size);
}

/* Ends the TLS session as well, so that the client sees the end. */
static void end_called(void *connection)
{
    assert(speaks_tls(connection));
    api_tls_session_end(((struct api_connection *)connection)->session);
}

static bool is_local(const void *connection)
{
    return ((const struct api_connection *)connection)->local;
}

const struct api_socket_calls api_connection_calls = {
    .find = find_called,
    .read = read_called,
    .is_encrypted = speaks_tls,
    .write = write_called,
    .end = end_called,
    .is_local = is_local,
};

/* ---- the exchange's side --------------------------------------------------------------------- */

void api_connection_refused(struct api_connection *connection)
{
    disarm(connection);
}

void api_connection_answered(struct api_connection *connection)
{
    if (!is_owed(connection)) { /* the request was answered before it was complete: the
                                 * connection ends */
        disarm(connection);
        connection->ended = true;
        return;
    }
    connection->answered++;
    if (connection->ended || connection->fault != NULL)
        return;
    await_rest(connection);
    if (!is_owed(connection) && connection->deadline.wait == API_CONNECTION_FREE)
        arm(connection, API_CONNECTION_END);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void api_connections_init(struct api_connections *connections, uint32_t head_ms, uint32_t body_ms,
                          const struct api_observer *observer)
{
    *connections = (struct api_connections){.observer = observer};
    api_deadlines_init(&connections->deadlines, head_ms, body_ms);
}

static void connection_free(struct api_connection *connection)
{
    if (connection != NULL)
        api_tls_session_free(connection->session);
    free(connection);
}

void api_connections_fini(struct api_connections *connections)
{
    for (size_t i = 0; i < connections->size; i++)
        connection_free(connections->by_fd[i]);
    free(connections->by_fd);
    *connections = (struct api_connections){.by_fd = NULL};
}

/* The kernel bounds how high a descriptor can be. */
static int make_room(struct api_connections *connections, size_t fd)
{
    size_t size = connections->size > 0 ? connections->size : FDS_FIRST;
    if (fd < connections->size)
        return 0;
    while (size <= fd)
        size *= 2;
    struct api_connection **by_fd =
        realloc(connections->by_fd, size * sizeof(struct api_connection *));
    if (by_fd == NULL)
        return FENCE_ENOMEM;
    memset(by_fd + connections->size, 0,
           (size - connections->size) * sizeof(struct api_connection *));
    connections->by_fd = by_fd;
    connections->size = size;
    return 0;
}

int api_connections_add(struct api_connections *connections, int fd, const struct api_door *door,
                        bool local)
{
    assert(fd >= 0);
    const int result = make_room(connections, (size_t)fd);
    if (result != 0)
        return result;
    assert(connections->by_fd[fd] == NULL);
    struct api_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL)
        return FENCE_ENOMEM;
    if (door->tls != NULL && api_tls_session_new(door->tls, fd, &connection->session) != 0) {
        free(connection);
        return FENCE_ENOMEM;
    }
    connection->connections = connections;
    connection->door = door;
    connection->local = local;
    connection->fd = fd;
    connection->fresh = true;
    api_deadline_init(&connection->deadline);
    connections->by_fd[fd] = connection;
    arm(connection, API_CONNECTION_HEAD);
    return 0;
}

void api_connections_remove(struct api_connections *connections, int fd)
{
    struct api_connection *connection = api_connections_find(connections, fd);
    if (connection == NULL)
        return;
    assert(connection->fd == fd && connection->connections == connections);
    assert(!connection->greeting); /* no thread has its session */
    disarm(connection);
    connections->by_fd[fd] = NULL;
    connection_free(connection);
}

struct api_connection *api_connections_find(const struct api_connections *connections, int fd)
{
    return fd >= 0 && (size_t)fd < connections->size ? connections->by_fd[fd] : NULL;
}

void api_connections_expire(struct api_connections *connections)
{
    const uint64_t now_ms = connection_now_ms();
    int left = API_CONNECTION_EXPIRE_MAX;
    for (unsigned wait = 0; wait < API_CONNECTION_WAITS; wait++) {
        const enum api_connection_wait which = (enum api_connection_wait)wait;
        struct api_deadline *due = NULL;
        while ((due = api_deadlines_due(&connections->deadlines, which, now_ms)) != NULL &&
               left-- > 0)
            expire(of_deadline(due));
    }
}

int api_connections_timeout_ms(const struct api_connections *connections)
{
    return api_deadlines_timeout_ms(&connections->deadlines, connection_now_ms());
}

/* Returns the connection that has waited longest, if it has waited long enough. */
static struct api_connection *find_old(const struct api_connections *connections,
                                       enum api_connection_wait wait, uint64_t now_ms)
{
    return of_deadline(
        api_deadlines_older(&connections->deadlines, wait, API_CONNECTION_EVICT_MS, now_ms));
}

unsigned api_connections_evict(struct api_connections *connections, unsigned count)
{
    unsigned evicted = 0;
    const uint64_t now_ms = connection_now_ms();
    for (; evicted < count; evicted++) {
        struct api_connection *unfinished = find_old(connections, API_CONNECTION_HEAD, now_ms);
        struct api_connection *idle = find_old(connections, API_CONNECTION_IDLE, now_ms);
        if (unfinished != NULL)
            expire(unfinished);
        else if (idle != NULL)
            end(idle);
        else
            break;
    }
    return evicted;
}
