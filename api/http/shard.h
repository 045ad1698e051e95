/* Rooms: the connections of a server, spread over daemons of libmicrohttpd that listen to nothing
 * themselves, all driven by the one loop.
 *
 * To resume a suspended connection libmicrohttpd walks over all that its daemon has suspended. With
 * ten thousand clients parked in one daemon that walk is near half of what a grant costs; in a room
 * it is never longer than the room. Rooms are filled one after the other, so a server with few
 * clients has one to look after. Private to api/. */
#ifndef API_HTTP_SHARD_H
#define API_HTTP_SHARD_H

#include "fence/protocol/error.h"

#include <stdbool.h>

#include <microhttpd.h>

enum {
    API_ROOM_SIZE = 512, /* connections */
};

struct api_guards;

/* Who is told what happens in the rooms: the part above them. */
struct api_rooms_user {
    struct api_guards *guards;        /* of all connections */
    MHD_AccessHandlerCallback handle; /* libmicrohttpd's callbacks: each gets the struct api_room */
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connected;
    void *context;                                   /* the user's own */
    void (*log)(void *context, const char *message); /* may be NULL */
    void *log_context;
};

struct api_room {
    struct api_rooms *rooms;
    struct MHD_Daemon *daemon;
    unsigned size;
    unsigned due; /* rounds of work: something came, was answered, or has timed out */
};

struct api_rooms {
    struct api_rooms_user user;
    struct api_room *room;
    unsigned count;
    unsigned used;     /* the first so many; nobody is in the others */
    unsigned hovering; /* requests that want a look in each turn, though nothing came */
    int fd;            /* readable while there is something to read in one of them */
};

/* Opens rooms for @connections; those that are idle for @idle_s seconds are ended. FENCE_EIO,
 * FENCE_ENOMEM: nothing is open. */
FENCE_CHECKED int api_rooms_init(struct api_rooms *rooms, const struct api_rooms_user *user,
                                 unsigned connections, unsigned idle_s);

/* Ends all connections, of which none may be suspended. */
void api_rooms_fini(struct api_rooms *rooms);

/* The socket of a connection. */
int api_room_socket(struct MHD_Connection *connection);

/* The first that has space for a connection, which is to be added; NULL: all are full. */
struct api_room *api_rooms_find_space(struct api_rooms *rooms);

/* How many connections there are, in all of them. */
unsigned api_rooms_connections(const struct api_rooms *rooms);

/* Finds out which rooms are due. */
void api_rooms_look(struct api_rooms *rooms);

/* Rounds that the answer to a parked request takes to leave: to be taken up, and to be sent. */
enum {
    API_ROOM_ANSWER_ROUNDS = 2,
};

/* A round of work in each room that is due. True: some still are. */
bool api_rooms_run(struct api_rooms *rooms);

/* How long until some room is due although nothing comes; -1: never. */
int api_rooms_timeout_ms(const struct api_rooms *rooms);

#endif
