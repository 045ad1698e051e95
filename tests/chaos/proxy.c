#include "tests/chaos/proxy.h"

#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/port.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CHUNK = 16 * 1024,
    FLOW_BYTES_MAX = 512 * 1024, /* kept of one direction; more stays with its sender */
    CONNECTIONS_MAX = 400,       /* for all links; more are closed at once */
    EVENTS_MAX = 64,
    BACKLOG = 128,
    RETRY_MS = 20, /* before a port that is not free yet is tried again */
};

/* The bytes of one read, and when it may go on. */
struct chunk {
    struct chunk *next;
    uint64_t due_us;
    size_t len;
    size_t sent;
    char bytes[];
};

/* One end of a connection, and what came in at it: that goes out at the other end. */
struct end {
    struct connection *connection;
    int fd;
    uint32_t watched; /* the events that epoll watches for; 0: it is not in there */
    bool ended;       /* nothing more will come in */
    bool full;        /* the last that was to go out at it did not fit */
    size_t bytes;     /* bytes in @first and what follows it */
    struct chunk *first, **last;
};

struct connection {
    struct connection *next;
    struct link *link;
    bool broken;       /* to be reset */
    struct end end[2]; /* ends of who connected; of whom it goes to */
};

struct link {
    uint16_t port;
    uint16_t upstream;
    int listener; /* -1: refuses */
    bool refuses;
    unsigned held;
    unsigned delay_ms;
};

struct proxy {
    pthread_t thread;
    pthread_mutex_t lock; /* on all that follows */
    bool over;
    int epoll;
    int wake;
    unsigned links;
    struct link link[PROXY_LINKS_MAX];
    unsigned connections;
    struct connection *first;
};

/* ---- one end --------------------------------------------------------------------------------- */

static void end_init(struct end *end, struct connection *connection, int fd)
{
    *end = (struct end){.connection = connection, .fd = fd};
    end->last = &end->first;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static void end_fini(struct end *end, bool reset)
{
    const struct linger none = {.l_onoff = 1};
    if (reset)
        setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    close(end->fd);
    while (end->first) {
        struct chunk *chunk = end->first;
        end->first = chunk->next;
        free(chunk);
    }
}

static void watch(struct proxy *proxy, struct end *end, uint32_t wanted)
{
    struct epoll_event event = {.events = wanted, .data.ptr = end};
    if (wanted == end->watched)
        return;
    int operation = EPOLL_CTL_MOD;
    if (wanted == 0)
        operation = EPOLL_CTL_DEL; /* or a connection that is gone would be reported for ever */
    else if (end->watched == 0)
        operation = EPOLL_CTL_ADD;
    epoll_ctl(proxy->epoll, operation, end->fd, &event);
    end->watched = wanted;
}

static void keep(struct end *end, const char *bytes, size_t len)
{
    struct chunk *chunk = malloc(sizeof(*chunk) + len);
    assert_non_null(chunk);
    *chunk = (struct chunk){
        .due_us = clock_us() + (uint64_t)end->connection->link->delay_ms * 1000,
        .len = len,
    };
    memcpy(chunk->bytes, bytes, len);
    *end->last = chunk;
    end->last = &chunk->next;
    end->bytes += len;
}

static void take_in(struct end *end)
{
    char bytes[CHUNK];
    while (!end->ended && end->bytes < FLOW_BYTES_MAX) {
        const ssize_t len = recv(end->fd, bytes, sizeof(bytes), 0);
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (len <= 0)
            end->ended = true; /* ended by an error, too: what came before it still arrives */
        else
            keep(end, bytes, (size_t)len);
    }
}

/* Sends what came in at @from, and is due, out at @to. */
static void hand_on(struct end *from, struct end *to, uint64_t now)
{
    to->full = false;
    while (from->first && from->first->due_us <= now) {
        struct chunk *chunk = from->first;
        const ssize_t len =
            send(to->fd, chunk->bytes + chunk->sent, chunk->len - chunk->sent, MSG_NOSIGNAL);
        if (len < 0) {
            to->full = errno == EAGAIN || errno == EINTR;
            from->connection->broken |= !to->full;
            return;
        }
        chunk->sent += (size_t)len;
        if (chunk->sent < chunk->len)
            continue;
        from->bytes -= chunk->len;
        from->first = chunk->next;
        if (!from->first)
            from->last = &from->first;
        free(chunk);
    }
}

/* ---- one connection -------------------------------------------------------------------------- */

static void connection_free(struct proxy *proxy, struct connection *connection, bool reset)
{
    for (unsigned side = 0; side < 2; side++) {
        watch(proxy, &connection->end[side], 0);
        end_fini(&connection->end[side], reset);
    }
    proxy->connections--;
    free(connection);
}

static void connection_new(struct proxy *proxy, struct link *link, int fd)
{
    const struct sockaddr_in address = port_address(link->upstream);
    const int to = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (to < 0 || proxy->connections >= CONNECTIONS_MAX ||
        (connect(to, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
         errno != EINPROGRESS)) {
        if (to >= 0)
            close(to);
        close(fd);
        return;
    }
    struct connection *connection = calloc(1, sizeof(*connection));
    assert_non_null(connection);
    connection->link = link;
    end_init(&connection->end[0], connection, fd);
    end_init(&connection->end[1], connection, to);
    connection->next = proxy->first;
    proxy->first = connection;
    proxy->connections++;
}

static const unsigned direction_from[2] = {PROXY_THERE, PROXY_BACK};

/* Moves what may move. True when the connection is over. */
static bool connection_move(struct proxy *proxy, struct connection *connection, uint64_t now)
{
    const unsigned held = connection->link->held;
    bool over = false;
    for (unsigned side = 0; side < 2; side++) {
        struct end *from = &connection->end[side], *to = &connection->end[1 - side];
        if (held & direction_from[side])
            continue;
        hand_on(from, to, now);
        over |= from->ended && !from->first;
    }
    if (over || connection->broken)
        return true;
    for (unsigned side = 0; side < 2; side++) {
        struct end *end = &connection->end[side];
        const bool reads = !end->ended && end->bytes < FLOW_BYTES_MAX;
        watch(proxy, end, (reads ? EPOLLIN : 0U) | (end->full ? EPOLLOUT : 0U));
    }
    return false;
}

/* When the next of what waits for its time is due. */
static uint64_t connection_due_us(const struct connection *connection)
{
    uint64_t due_us = UINT64_MAX;
    for (unsigned side = 0; side < 2; side++) {
        const struct chunk *chunk = connection->end[side].first;
        const bool waits = chunk && !(connection->link->held & direction_from[side]) &&
                           !connection->end[1 - side].full;
        if (waits && chunk->due_us < due_us)
            due_us = chunk->due_us;
    }
    return due_us;
}

/* ---- one link -------------------------------------------------------------------------------- */

static int listen_on(uint16_t port)
{
    const struct sockaddr_in address = port_address(port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Opens or closes its door, as was asked for. False if that has to be tried again. */
static bool link_tend(struct proxy *proxy, struct link *link)
{
    if (link->refuses && link->listener >= 0) {
        close(link->listener); /* which takes it out of epoll, too */
        link->listener = -1;
    }
    if (link->refuses || link->listener >= 0)
        return true;
    link->listener = listen_on(link->port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    return link->listener >= 0 &&
           epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, link->listener, &event) == 0;
}

static void link_accept(struct proxy *proxy, struct link *link)
{
    int fd = -1;
    while (link->listener >= 0 &&
           (fd = accept4(link->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        connection_new(proxy, link, fd);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static bool is_link(const struct proxy *proxy, const void *at)
{
    const char *byte = at, *first = (const char *)proxy->link;
    return byte >= first && byte < first + sizeof(proxy->link);
}

static void take_event(struct proxy *proxy, const struct epoll_event *event)
{
    uint64_t count;
    if (event->data.ptr == proxy)
        (void)!read(proxy->wake, &count, sizeof(count));
    else if (is_link(proxy, event->data.ptr))
        link_accept(proxy, event->data.ptr);
    else
        take_in(event->data.ptr);
}

/* Has everything done that can be done now. Returns how long nothing is due. */
static int tend_all(struct proxy *proxy)
{
    const uint64_t now = clock_us();
    uint64_t due_us = UINT64_MAX;
    for (unsigned i = 0; i < proxy->links; i++)
        if (!link_tend(proxy, &proxy->link[i]))
            due_us = now + (uint64_t)RETRY_MS * 1000;
    for (struct connection **at = &proxy->first; *at;) {
        struct connection *connection = *at;
        if (connection_move(proxy, connection, now)) {
            *at = connection->next;
            connection_free(proxy, connection, connection->broken);
            continue;
        }
        const uint64_t its_due_us = connection_due_us(connection);
        due_us = its_due_us < due_us ? its_due_us : due_us;
        at = &connection->next;
    }
    if (due_us == UINT64_MAX)
        return -1;
    return due_us <= now ? 0 : (int)((due_us - now) / 1000) + 1;
}

static void *run(void *arg)
{
    struct proxy *proxy = arg;
    struct epoll_event events[EVENTS_MAX];
    int timeout_ms = 0;
    for (bool over = false; !over;) {
        const int count = epoll_wait(proxy->epoll, events, EVENTS_MAX, timeout_ms);
        pthread_mutex_lock(&proxy->lock);
        for (int i = 0; i < count; i++)
            take_event(proxy, &events[i]);
        timeout_ms = tend_all(proxy);
        over = proxy->over;
        pthread_mutex_unlock(&proxy->lock);
    }
    return NULL;
}

struct proxy *proxy_new(void)
{
    struct proxy *proxy = calloc(1, sizeof(*proxy));
    assert_non_null(proxy);
    pthread_mutex_init(&proxy->lock, NULL);
    proxy->epoll = epoll_create1(EPOLL_CLOEXEC);
    proxy->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = proxy};
    assert_int_equal(epoll_ctl(proxy->epoll, EPOLL_CTL_ADD, proxy->wake, &event), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
    return proxy;
}

/* ---- what others ask for --------------------------------------------------------------------- */

static struct link *begin(struct proxy *proxy, unsigned link)
{
    pthread_mutex_lock(&proxy->lock);
    return &proxy->link[link];
}

static void commit(struct proxy *proxy)
{
    const uint64_t one = 1;
    pthread_mutex_unlock(&proxy->lock);
    (void)!write(proxy->wake, &one, sizeof(one));
}

static void break_all(struct proxy *proxy, const struct link *link)
{
    for (struct connection *at = proxy->first; at; at = at->next)
        at->broken |= at->link == link;
}

unsigned proxy_add(struct proxy *proxy, uint16_t upstream)
{
    const uint16_t port = port_free();
    pthread_mutex_lock(&proxy->lock);
    const unsigned number = proxy->links++;
    assert_in_range(number, 0, PROXY_LINKS_MAX - 1);
    struct link *link = &proxy->link[number];
    *link = (struct link){.port = port, .upstream = upstream, .listener = -1};
    if (!link_tend(proxy, link))
        fail_msg("cannot listen on 127.0.0.1:%u: %s", (unsigned)port, strerror(errno));
    commit(proxy);
    return number;
}

uint16_t proxy_port(const struct proxy *proxy, unsigned link)
{
    return proxy->link[link].port; /* which never changes */
}

void proxy_hold(struct proxy *proxy, unsigned link, unsigned directions)
{
    begin(proxy, link)->held = directions;
    commit(proxy);
}

void proxy_delay(struct proxy *proxy, unsigned link, unsigned delay_ms)
{
    begin(proxy, link)->delay_ms = delay_ms;
    commit(proxy);
}

void proxy_refuse(struct proxy *proxy, unsigned link, bool refuse)
{
    struct link *it = begin(proxy, link);
    it->refuses = refuse;
    if (refuse)
        break_all(proxy, it);
    commit(proxy);
}

void proxy_reset(struct proxy *proxy, unsigned link)
{
    break_all(proxy, begin(proxy, link));
    commit(proxy);
}

void proxy_point(struct proxy *proxy, unsigned link, uint16_t upstream)
{
    begin(proxy, link)->upstream = upstream;
    commit(proxy);
}

void proxy_free(struct proxy *proxy)
{
    if (!proxy)
        return;
    pthread_mutex_lock(&proxy->lock);
    proxy->over = true;
    commit(proxy);
    pthread_join(proxy->thread, NULL);
    while (proxy->first) {
        struct connection *connection = proxy->first;
        proxy->first = connection->next;
        connection_free(proxy, connection, true);
    }
    for (unsigned i = 0; i < proxy->links; i++)
        if (proxy->link[i].listener >= 0)
            close(proxy->link[i].listener);
    close(proxy->epoll);
    close(proxy->wake);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}
