#include "api/mhd/server.h"

#include "api/mhd/callbacks.h"
#include "api/mhd/connection.h"
#include "api/mhd/greeting.h"
#include "api/mhd/shard.h"
#include "api/mhd/transport.h"
#include "api/mhd/waiting.h"
#include "api/mhd/watch.h"
#include "api/wire/listen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 64,     /* rounds of work in one turn */
    TURN_US = 1000,      /* time for one turn: the loop must read the masters' replies in between */
    ACCEPTS_A_TURN = 16, /* connections accepted before the open connections have their turn */
    OTHERS_MS = 3,       /* time that other servers get to accept before this one does */
    EVICTIONS = 16,      /* connections without a request that are ended at a time, to make space */
    QUEUE_ROUNDS = 128,  /* rounds of ACCEPTS_A_TURN, before the doors are closed */
    FAREWELL_ROUNDS = 8, /* rounds in which the last answers may leave at the end */
};

struct api_http {
    struct api_shards shards;
    struct api_connections connections;
    struct api_greetings greetings;
    struct api_exchanges exchanges;
    struct api_door doors[API_DOORS_MAX];
    unsigned doors_count; /* some may be closed: -1 */
    unsigned doors_open;
    bool holds;          /* no client is let in yet */
    bool accepting;      /* false: there is no space, or there was none at the last try */
    bool short_of_space; /* the shortage was logged; until a tenth of the space is free */
    unsigned capacity;   /* connections */
    uint64_t accepted;   /* since the start, */
    uint64_t evicted;    /* and of them */
    void (*log)(void *context, const char *message);
    void *log_context;
    bool (*crowded)(void *context);
    void *crowded_context;
    uint64_t left_since_ms; /* since when this server leaves clients to others; 0: it does not */
};

/* ---- the doors ------------------------------------------------------------------------------- */

static int add_to_shard(struct api_http *http, struct api_shard *shard, int fd,
                        const struct sockaddr *from, socklen_t from_len)
{
    assert(api_connections_find(&http->connections, fd) != NULL);
    shard->due = 1;
    shard->looks = true; /* usually its request is already there */
    if (MHD_add_connection(shard->daemon, fd, from, from_len) == MHD_YES)
        return 0;
    api_connections_remove(&http->connections, fd); /* it is closed already */
    return ENOMEM;
}

/* Handles a finished handshake. There is space: it was counted from the start. */
static void on_greeted(void *context, const struct api_greeting *greeting)
{
    struct api_http *http = context;
    const int fd = greeting->connection->fd;
    if (greeting->connection->ended) { /* there is no client to answer */
        api_connections_remove(&http->connections, fd);
        (void)close(fd);
        return;
    }
    struct api_shard *shard = api_shards_find_space(&http->shards);
    assert(shard != NULL && !greeting->connection->greeting);
    const int lost =
        add_to_shard(http, shard, fd, (const struct sockaddr *)&greeting->from, greeting->from_len);
    (void)lost; /* no memory: the connection is closed, and its client must retry */
}

/* Returns NULL if all connections are in use. */
static struct api_shard *find_space(struct api_http *http)
{
    if (api_http_connections(http) >= http->capacity)
        return NULL;
    return api_shards_find_space(&http->shards);
}

/* Accepts a client. EAGAIN: there is none; any other error: it cannot be accepted. */
static int accept_into(struct api_http *http, const struct api_door *door, struct api_shard *shard)
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    socklen_t from_len = sizeof(from);
    const int fd =
        accept4(door->fd, (struct sockaddr *)&from, &from_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno;
    const bool local = from.ss_family == AF_UNIX;
    if (api_connections_add(&http->connections, fd, door, local) != 0) {
        (void)close(fd);
        return ENOMEM;
    }
    if (door->tls == NULL)
        return add_to_shard(http, shard, fd, (struct sockaddr *)&from, from_len);
    if (api_greetings_add(&http->greetings, api_connections_find(&http->connections, fd),
                          (struct sockaddr *)&from, from_len) == 0)
        return 0;
    api_connections_remove(&http->connections, fd);
    (void)close(fd);
    return ENOMEM;
}

/* Once in each episode: it ends when a tenth of the connections is free. */
static void log_shortage(struct api_http *http, int error)
{
    char line[160];
    if (http->short_of_space || http->log == NULL)
        return;
    http->short_of_space = true;
    if (error == ENOSPC)
        (void)snprintf(line, sizeof(line),
                       "new clients wait to be accepted: all %u connections are in use\n",
                       http->capacity);
    else
        (void)snprintf(line, sizeof(line), "new clients wait to be accepted: %s\n",
                       strerror(error));
    http->log(http->log_context, line);
}

static bool somebody_knocks(const struct api_http *http)
{
    struct pollfd doors[API_DOORS_MAX];
    for (unsigned i = 0; i < http->doors_count; i++)
        doors[i] = (struct pollfd){.fd = http->doors[i].fd, .events = POLLIN};
    return poll(doors, http->doors_count, 0) > 0;
}

static uint64_t http_now_us(void)
{
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t http_now_ms(void)
{
    return http_now_us() / 1000;
}

/* Reports whether another server should accept the client at @door. It was woken as well, but may
 * not have run yet. */
static bool leaves_to_others(struct api_http *http, const struct api_door *door)
{
    struct pollfd knocks = {.fd = door->fd, .events = POLLIN};
    if (!door->shared || http->crowded == NULL || !http->crowded(http->crowded_context) ||
        poll(&knocks, 1, 0) <= 0) {
        http->left_since_ms = 0;
        return false;
    }
    if (http->left_since_ms == 0)
        http->left_since_ms = http_now_ms();
    return http_now_ms() - http->left_since_ms < OTHERS_MS;
}

/* Accepts up to ACCEPTS_A_TURN clients; returns why it stopped: EBUSY if others should accept the
 * next one, 0 if there may be more. */
static int accept_some(struct api_http *http, const struct api_door *door, bool *ret_anybody)
{
    int error = 0;
    for (int i = 0; i < ACCEPTS_A_TURN && error == 0; i++) {
        if (leaves_to_others(http, door))
            return EBUSY;
        struct api_shard *shard = find_space(http);
        error = shard != NULL ? accept_into(http, door, shard) : ENOSPC;
        *ret_anybody |= error == 0;
        http->accepted += error == 0;
        http->left_since_ms = error == 0 ? 0 : http->left_since_ms;
        if (error == EINTR || error == ECONNABORTED)
            error = 0;
    }
    return error;
}

/* Accepts at each door. Returns the error that kept clients out, EBUSY if others should accept
 * them, EAGAIN, or 0 if there may be more. */
static int accept_at_doors(struct api_http *http, bool *ret_anybody)
{
    int result = EAGAIN;
    for (unsigned i = 0; i < http->doors_count; i++) {
        if (http->doors[i].fd < 0)
            continue;
        const int error = accept_some(http, &http->doors[i], ret_anybody);
        if (error != EAGAIN && (result == EAGAIN || result == 0))
            result = error;
    }
    return result;
}

static void watch_doors(const struct api_http *http)
{
    for (unsigned i = 0; i < http->doors_count; i++) /* they are there already */
        if (http->doors[i].fd >= 0)
            (void)!api_watch_door(api_http_watch_fd(http), http->doors[i].fd, http->accepting);
}

/* Accepts new connections; returns true if there was any. When all shards are full, or descriptors
 * run out, further clients wait in the kernel's backlog, and each later turn tries again. Clients
 * that do not finish a head, or are idle, are ended to make space. */
static bool accept_clients(struct api_http *http)
{
    bool anybody = false;
    if (http->holds)
        return false;
    const int error = accept_at_doors(http, &anybody);
    const bool accepting = error == 0 || error == EAGAIN;
    if (!accepting && error != EBUSY && somebody_knocks(http)) {
        log_shortage(http, error);
        http->evicted += api_connections_evict(&http->connections, EVICTIONS);
    }
    if (accepting && http->short_of_space &&
        api_http_connections(http) < http->capacity - http->capacity / 10)
        http->short_of_space = false;
    if (accepting == http->accepting)
        return anybody;
    http->accepting = accepting;
    watch_doors(http);
    return anybody;
}

/* The server owns the doors only once all of them are watched. */
static int open_doors(struct api_http *http, const struct api_http_config *config)
{
    assert(config->doors_count <= API_DOORS_MAX && http->doors_count == 0);
    for (unsigned i = 0; i < config->doors_count; i++) {
        const int result =
            api_watch_door(api_http_watch_fd(http), config->doors[i].fd, !config->holds);
        if (result != 0)
            return result;
        http->doors[i] = config->doors[i];
    }
    http->doors_count = config->doors_count;
    http->doors_open = config->doors_count;
    http->holds = config->holds;
    http->accepting = !config->holds;
    return 0;
}

/* The struct stays, since connections refer to their door. */
static void close_door(struct api_http *http, struct api_door *door)
{
    if (door->fd < 0)
        return;
    api_watch_no_door(api_http_watch_fd(http), door->fd);
    (void)close(door->fd);
    door->fd = -1;
    assert(http->doors_open > 0);
    http->doors_open--;
}

static void close_doors(struct api_http *http)
{
    for (unsigned i = 0; i < http->doors_count; i++)
        close_door(http, &http->doors[i]);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Takes over what @config says. Opens nothing. */
static void set_up(struct api_http *http, const struct api_http_config *config)
{
    http->log = config->log;
    http->log_context = config->log_context;
    http->crowded = config->crowded;
    http->crowded_context = config->crowded_context;
    http->capacity = config->connections > 0 ? config->connections : API_HTTP_CONNECTIONS;
    struct api_requests *requests = &http->exchanges.requests;
    const struct api_served served = {
        .routes = config->routes,
        .routes_count = config->routes_count,
        .hosts = config->hosts,
        .origins = config->origins,
        .access = config->access,
    };
    http->exchanges.watch_fd = -1;
    api_requests_init(requests, &served, &config->observer, &api_mhd_transport);
    requests->parking.left = config->left;
    requests->parking.left_context = config->left_context;
    api_connections_init(
        &http->connections, config->head_ms > 0 ? config->head_ms : API_HTTP_WAIT_MS,
        config->body_ms > 0 ? config->body_ms : API_HTTP_WAIT_MS, &requests->observer);
    http->connections.log = config->log;
    http->connections.log_context = config->log_context;
}

static int open_rooms(struct api_http *http, const struct api_http_config *config)
{
    const struct api_shards_user user = {
        .connections = &http->connections,
        .handle = api_callback_handle,
        .completed = api_callback_completed,
        .connected = api_callback_connected,
        .context = &http->exchanges,
        .log = config->log,
        .log_context = config->log_context,
    };
    const int result = api_shards_init(&http->shards, &user, http->capacity,
                                       config->idle_s > 0 ? config->idle_s : API_HTTP_IDLE_S);
    return result != 0 ? result : api_greetings_init(&http->greetings, on_greeted, http);
}

int api_http_new(const struct api_http_config *config, struct api_http **ret_http)
{
    int result = 0;
    int why = 0;
    assert(config->routes_count == 0 || config->routes != NULL);
    struct api_http *http = calloc(1, sizeof(*http));
    if (http == NULL)
        return FENCE_ENOMEM;
    set_up(http, config);
    result = open_rooms(http, config);
    if (result != 0)
        goto out;
    result = api_watch_open(&http->exchanges.watch_fd);
    if (result != 0)
        goto out;
    result = api_watch_door(api_http_watch_fd(http), http->greetings.fd, true);
    if (result != 0)
        goto out;
    result = open_doors(http, config);
    if (result != 0)
        goto out;

    *ret_http = http;
    http = NULL;
out:
    why = errno;
    api_http_free(http);
    errno = why;
    return result;
}

uint16_t api_http_port(const struct api_http *http)
{
    return http->doors_open > 0 ? api_listen_port(http->doors[0].fd) : 0;
}

int api_http_fd(const struct api_http *http)
{
    return http->shards.fd;
}

int api_http_watch_fd(const struct api_http *http)
{
    return http->exchanges.watch_fd;
}

bool api_http_watch_turn(struct api_http *http)
{
    if (!api_watch_turn(api_http_watch_fd(http), api_waiting_stirred))
        return false;
    const bool anybody = http->doors_open > 0 && accept_clients(http);
    const bool turns = anybody || http->greetings.count > 0;
    if (turns)
        api_http_turn(http);
    return turns;
}

int api_http_timeout_ms(struct api_http *http)
{
    const int shards_ms = api_shards_timeout_ms(&http->shards);
    int connections_ms = api_connections_timeout_ms(&http->connections);
    const int costly_ms = api_costly_timeout_ms(&http->exchanges.requests.costly);
    if (costly_ms >= 0 && (connections_ms < 0 || connections_ms > costly_ms))
        connections_ms = costly_ms;
    if (http->left_since_ms != 0 && (connections_ms < 0 || connections_ms > OTHERS_MS))
        connections_ms = OTHERS_MS;
    if (shards_ms < 0 || connections_ms < 0)
        return shards_ms < 0 ? connections_ms : shards_ms;
    return shards_ms < connections_ms ? shards_ms : connections_ms;
}

void api_http_send(struct api_http *http)
{
    bool more = true;
    const uint64_t until_us = http_now_us() + TURN_US;
    for (int round = 0; round < ROUNDS_MAX && more && http_now_us() < until_us; round++) {
        more = api_shards_run(&http->shards);
        /* Done afterwards, since clients that have just left make space. */
        if (http->doors_open > 0 && !http->accepting)
            more |= accept_clients(http);
    }
}

void api_http_turn(struct api_http *http)
{
    api_connections_expire(&http->connections);
    api_shards_look(&http->shards);
    api_http_send(http);
    api_costly_turn(&http->exchanges.requests.costly);
    api_greetings_turn(&http->greetings);
}

void api_http_let_in(struct api_http *http)
{
    if (!http->holds)
        return;
    http->holds = false;
    http->accepting = true;
    watch_doors(http);
}

void api_http_leave(struct api_http *http)
{
    api_requests_leave(&http->exchanges.requests);
    for (unsigned i = 0; i < http->doors_count; i++)
        if (http->doors[i].stays)
            close_door(http, &http->doors[i]);
}

void api_http_hand_over(struct api_http *http)
{
    close_doors(http);
    api_http_leave(http);
}

bool api_http_is_open(const struct api_http *http)
{
    return http->doors_open > 0;
}

struct api_request *api_http_waiting(const struct api_http *http)
{
    return api_requests_waiting(&http->exchanges.requests);
}

/* Connections in the queue of a listening socket are reset when it is closed. */
static void empty_queues(struct api_http *http)
{
    bool anybody = false;
    for (int round = 0; round < QUEUE_ROUNDS; round++)
        if (accept_at_doors(http, &anybody) != 0)
            break;
}

void api_http_quiesce(struct api_http *http)
{
    http->exchanges.requests.served.stopping = true;
    if (http->doors_open > 0)
        empty_queues(http);
    close_doors(http);
}

unsigned api_http_parked(const struct api_http *http)
{
    return http->exchanges.requests.parking.count;
}

unsigned api_http_connections(const struct api_http *http)
{
    return api_shards_connections(&http->shards) + http->greetings.count;
}

unsigned api_http_capacity(const struct api_http *http)
{
    return http->capacity;
}

uint64_t api_http_accepted(const struct api_http *http)
{
    return http->accepted;
}

uint64_t api_http_evicted(const struct api_http *http)
{
    return http->evicted;
}

void api_http_free(struct api_http *http)
{
    if (http == NULL)
        return;
    api_http_quiesce(http);
    api_requests_stop(&http->exchanges.requests);
    /* The next round handles a resumed connection; no connection may be suspended at the stop. */
    for (int round = 0; round < FAREWELL_ROUNDS; round++) {
        api_shards_look(&http->shards);
        (void)api_shards_run(&http->shards);
    }
    assert(http->shards.hovering == 0);
    if (http->greetings.greeted != NULL)
        api_greetings_fini(&http->greetings);
    api_shards_fini(&http->shards);
    api_connections_fini(&http->connections);
    if (http->exchanges.watch_fd >= 0)
        (void)close(http->exchanges.watch_fd);
    free(http);
}
