#include "api/mhd/shard.h"

#include "api/mhd/connection.h"
#include "api/wire/socket_calls.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    /* The longest time until the next look at hovering requests and at other possible work. */
    HOVER_MS = 1,
    EVENTS_A_LOOK = 64, /* as many as there are shards, and more */
};

/* ---- daemons --------------------------------------------------------------------------------- */

/* Percent-encoding is undone once, by api/http/path.h; libmicrohttpd must leave it alone. */
static size_t unescape_nothing(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

static void log_line(void *context, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void log_line(void *context, const char *format, va_list args)
{
    const struct api_shards_user *user = context;
    if (user->log == NULL)
        return;
    char line[256];
    (void)vsnprintf(line, sizeof(line), format, args);
    user->log(user->log_context, line);
}

static struct MHD_Daemon *start_daemon(struct api_shard *shard, unsigned idle_s)
{
    struct api_shards_user *user = &shard->shards->user;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
    if (user->log != NULL)
        flags |= MHD_USE_ERROR_LOG;

    const struct MHD_OptionItem options[] = {
        /* The logger comes first. An earlier error would go to stderr. */
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)log_line, user},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)user->completed, shard},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)user->connected, shard},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape_nothing, shard},
        {MHD_OPTION_CONNECTION_LIMIT, shard->size, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, idle_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, API_HTTP_MEMORY, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(flags, 0, NULL, NULL, user->handle, shard, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

static int open_room(struct api_shards *shards, struct api_shard *shard, unsigned idle_s)
{
    shard->daemon = start_daemon(shard, idle_s);
    if (shard->daemon == NULL)
        return FENCE_EIO;
    int fd = MHD_get_daemon_info(shard->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = shard};
    return epoll_ctl(shards->fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : FENCE_EIO;
}

int api_shards_init(struct api_shards *shards, const struct api_shards_user *user,
                    unsigned connections, unsigned idle_s)
{
    int result = FENCE_ENOMEM;
    assert(connections > 0 && user->connections != NULL);
    assert(user->handle != NULL && user->completed != NULL && user->connected != NULL);
    shards->user = *user;
    shards->count = (connections + API_SHARD_SIZE - 1) / API_SHARD_SIZE;
    shards->fd = epoll_create1(EPOLL_CLOEXEC);
    shards->shard = calloc(shards->count, sizeof(*shards->shard));
    if (shards->shard == NULL)
        goto out;
    result = shards->fd >= 0 ? 0 : FENCE_EIO;
    for (unsigned i = 0; i < shards->count && result == 0; i++) {
        struct api_shard *shard = &shards->shard[i];
        shard->shards = shards;
        shard->size = connections < API_SHARD_SIZE ? connections : API_SHARD_SIZE;
        connections -= shard->size;
        result = open_room(shards, shard, idle_s);
    }
out:
    if (result != 0)
        api_shards_fini(shards);
    return result;
}

void api_shards_fini(struct api_shards *shards)
{
    for (unsigned i = 0; shards->shard != NULL && i < shards->count; i++)
        if (shards->shard[i].daemon != NULL)
            MHD_stop_daemon(shards->shard[i].daemon);
    free(shards->shard);
    if (shards->fd >= 0)
        (void)close(shards->fd);
    *shards = (struct api_shards){.fd = -1};
}

/* ---- connections ----------------------------------------------------------------------------- */

static unsigned connections_of(const struct api_shard *shard)
{
    return MHD_get_daemon_info(shard->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

int api_shard_socket(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

struct api_shard *api_shards_find_space(struct api_shards *shards)
{
    for (unsigned i = 0; i < shards->count; i++) {
        assert(connections_of(&shards->shard[i]) <= shards->shard[i].size);
        if (connections_of(&shards->shard[i]) == shards->shard[i].size)
            continue;
        shards->used = i < shards->used ? shards->used : i + 1;
        return &shards->shard[i];
    }
    return NULL;
}

unsigned api_shards_connections(const struct api_shards *shards)
{
    unsigned connections = 0;
    for (unsigned i = 0; i < shards->used; i++)
        connections += connections_of(&shards->shard[i]);
    return connections;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* -1: none. */
static int timeout_ms(const struct api_shard *shard)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    if (MHD_get_timeout(shard->daemon, &ms) != MHD_YES)
        return -1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

void api_shards_look(struct api_shards *shards)
{
    struct epoll_event events[EVENTS_A_LOOK];
    while (shards->used > 0 && connections_of(&shards->shard[shards->used - 1]) == 0)
        shards->used--;
    if (shards->used == 1) { /* there is nothing to choose */
        shards->shard[0].due = shards->shard[0].due > 0 ? shards->shard[0].due : 1;
        shards->shard[0].looks = true;
        return;
    }
    for (unsigned i = 0; i < shards->used; i++)
        if (shards->shard[i].due == 0 && timeout_ms(&shards->shard[i]) == 0)
            shards->shard[i].due = 1;
    const int count = epoll_wait(shards->fd, events, EVENTS_A_LOOK, 0);
    for (int i = 0; i < count; i++) {
        struct api_shard *shard = events[i].data.ptr;
        assert(shard >= shards->shard && shard < shards->shard + shards->count);
        if (shard->due == 0)
            shard->due = 1;
        shard->looks = true;
    }
}

bool api_shards_run(struct api_shards *shards)
{
    bool more = false;
    assert(shards->used <= shards->count);
    for (unsigned i = 0; i < shards->used; i++) {
        struct api_shard *shard = &shards->shard[i];
        if (shard->due == 0)
            continue;
        api_socket_calls_begin(&api_connection_calls, shards->user.connections, shard->looks);
        (void)MHD_run(shard->daemon);
        shard->looks = api_socket_calls_end();
        /* Hovering requests make libmicrohttpd want another turn at once. Their answers will cause
         * one. */
        shard->due--;
        if (shard->due == 0 && (shard->looks || (timeout_ms(shard) == 0 && shards->hovering == 0)))
            shard->due = 1;
        more |= shard->due > 0;
    }
    return more;
}

int api_shards_timeout_ms(const struct api_shards *shards)
{
    int least_ms = INT_MAX;
    for (unsigned i = 0; i < shards->used; i++) {
        const struct api_shard *shard = &shards->shard[i];
        int ms = shard->due > 0 ? 0 : timeout_ms(shard);
        if (ms == 0 && shards->hovering > 0)
            ms = HOVER_MS;
        if (ms >= 0 && ms < least_ms)
            least_ms = ms;
    }
    return least_ms < INT_MAX ? least_ms : -1;
}
