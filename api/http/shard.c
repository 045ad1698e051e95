#include "api/http/shard.h"

#include "api/http/limits.h"
#include "api/http/recv.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    /* The longest until the next look at requests that hover, and at what else may be ready then.
     */
    HOVER_MS = 1,
    EVENTS_A_LOOK = 64, /* as many as there are rooms, and more */
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
    const struct api_rooms_user *user = context;
    if (user->log == NULL)
        return;
    char line[256];
    (void)vsnprintf(line, sizeof(line), format, args);
    user->log(user->log_context, line);
}

static struct MHD_Daemon *start_daemon(struct api_room *room, unsigned idle_s)
{
    struct api_rooms_user *user = &room->rooms->user;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
    if (user->log != NULL)
        flags |= MHD_USE_ERROR_LOG;

    const struct MHD_OptionItem options[] = {
        /* The logger comes first, or what goes wrong before it is known goes to stderr. */
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)log_line, user},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)user->completed, room},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)user->connected, room},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape_nothing, room},
        {MHD_OPTION_CONNECTION_LIMIT, room->size, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, idle_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, API_HTTP_MEMORY, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(flags, 0, NULL, NULL, user->handle, room, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

static int open_room(struct api_rooms *rooms, struct api_room *room, unsigned idle_s)
{
    room->daemon = start_daemon(room, idle_s);
    if (room->daemon == NULL)
        return FENCE_EIO;
    int fd = MHD_get_daemon_info(room->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = room};
    return epoll_ctl(rooms->fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : FENCE_EIO;
}

int api_rooms_init(struct api_rooms *rooms, const struct api_rooms_user *user, unsigned connections,
                   unsigned idle_s)
{
    int result = FENCE_ENOMEM;
    rooms->user = *user;
    rooms->count = (connections + API_ROOM_SIZE - 1) / API_ROOM_SIZE;
    rooms->fd = epoll_create1(EPOLL_CLOEXEC);
    rooms->room = calloc(rooms->count, sizeof(*rooms->room));
    if (rooms->room == NULL)
        goto out;
    result = rooms->fd >= 0 ? 0 : FENCE_EIO;
    for (unsigned i = 0; i < rooms->count && result == 0; i++) {
        struct api_room *room = &rooms->room[i];
        room->rooms = rooms;
        room->size = connections < API_ROOM_SIZE ? connections : API_ROOM_SIZE;
        connections -= room->size;
        result = open_room(rooms, room, idle_s);
    }
out:
    if (result != 0)
        api_rooms_fini(rooms);
    return result;
}

void api_rooms_fini(struct api_rooms *rooms)
{
    for (unsigned i = 0; rooms->room != NULL && i < rooms->count; i++)
        if (rooms->room[i].daemon != NULL)
            MHD_stop_daemon(rooms->room[i].daemon);
    free(rooms->room);
    if (rooms->fd >= 0)
        (void)close(rooms->fd);
    *rooms = (struct api_rooms){.fd = -1};
}

/* ---- connections ----------------------------------------------------------------------------- */

static unsigned connections_of(const struct api_room *room)
{
    return MHD_get_daemon_info(room->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

int api_room_socket(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

struct api_room *api_rooms_find_space(struct api_rooms *rooms)
{
    for (unsigned i = 0; i < rooms->count; i++) {
        if (connections_of(&rooms->room[i]) == rooms->room[i].size)
            continue;
        rooms->used = i < rooms->used ? rooms->used : i + 1;
        return &rooms->room[i];
    }
    return NULL;
}

unsigned api_rooms_connections(const struct api_rooms *rooms)
{
    unsigned connections = 0;
    for (unsigned i = 0; i < rooms->used; i++)
        connections += connections_of(&rooms->room[i]);
    return connections;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* -1: none. */
static int timeout_ms(const struct api_room *room)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    if (MHD_get_timeout(room->daemon, &ms) != MHD_YES)
        return -1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

void api_rooms_look(struct api_rooms *rooms)
{
    struct epoll_event events[EVENTS_A_LOOK];
    while (rooms->used > 0 && connections_of(&rooms->room[rooms->used - 1]) == 0)
        rooms->used--;
    if (rooms->used == 1) { /* there is nothing to choose */
        rooms->room[0].due = rooms->room[0].due > 0 ? rooms->room[0].due : 1;
        return;
    }
    for (unsigned i = 0; i < rooms->used; i++)
        if (rooms->room[i].due == 0 && timeout_ms(&rooms->room[i]) == 0)
            rooms->room[i].due = 1;
    const int count = epoll_wait(rooms->fd, events, EVENTS_A_LOOK, 0);
    for (int i = 0; i < count; i++) {
        struct api_room *room = events[i].data.ptr;
        if (room->due == 0)
            room->due = 1;
    }
}

bool api_rooms_run(struct api_rooms *rooms)
{
    bool more = false;
    for (unsigned i = 0; i < rooms->used; i++) {
        struct api_room *room = &rooms->room[i];
        if (room->due == 0)
            continue;
        api_recv_through(rooms->user.guards);
        (void)MHD_run(room->daemon);
        api_recv_through(NULL);
        /* What hovers has libmicrohttpd want another turn at once; its answers will bring one. */
        room->due--;
        if (room->due == 0 && timeout_ms(room) == 0 && rooms->hovering == 0)
            room->due = 1;
        more |= room->due > 0;
    }
    return more;
}

int api_rooms_timeout_ms(const struct api_rooms *rooms)
{
    int least_ms = INT_MAX;
    for (unsigned i = 0; i < rooms->used; i++) {
        const struct api_room *room = &rooms->room[i];
        int ms = room->due > 0 ? 0 : timeout_ms(room);
        if (ms == 0 && rooms->hovering > 0)
            ms = HOVER_MS;
        if (ms >= 0 && ms < least_ms)
            least_ms = ms;
    }
    return least_ms < INT_MAX ? least_ms : -1;
}
