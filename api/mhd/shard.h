/* Connection shards: the connections of a server, distributed over several daemons of
 * libmicrohttpd. These daemons do not listen, and the one loop drives them all.
 *
 * To resume a connection, libmicrohttpd walks over all suspended connections of its daemon. With
 * ten thousand parked clients in one daemon that walk is near half of the cost of a grant. In a
 * shard it is bounded. Shards are filled one after the other, so a server with few clients uses
 * one. Private to api/. */
#ifndef API_MHD_SHARD_H
#define API_MHD_SHARD_H

#include "fence/protocol/error.h"

#include <stdbool.h>

#include <microhttpd.h>

enum {
    API_SHARD_SIZE = 512,       /* connections */
    API_HTTP_MEMORY = 6 * 1024, /* bytes a connection has for the heads of request and answer:
                                 * most of the cost of a parked request */
};

struct api_connections;

/* The code above the shards, which gets their events. */
struct api_shards_user {
    struct api_connections *connections; /* the table of all connections */
    MHD_AccessHandlerCallback
        handle; /* libmicrohttpd's callbacks: each gets the struct api_shard */
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connected;
    void *context;                                   /* the user's own */
    void (*log)(void *context, const char *message); /* may be NULL */
    void *log_context;
};

struct api_shard {
    struct api_shards *shards;
    struct MHD_Daemon *daemon;
    unsigned size;
    unsigned due; /* rounds of work: bytes arrived, an answer is ready, or a time is up */
    bool looks;   /* the next round asks the kernel for arrived bytes */
};

struct api_shards {
    struct api_shards_user user;
    struct api_shard *shard;
    unsigned count;
    unsigned used;     /* the first so many shards have connections, and no others */
    unsigned hovering; /* requests that want a look in each turn, even if no bytes arrive */
    int fd;            /* readable while there is something to read in one of them */
};

/* Opens shards for @connections. A connection that is idle for @idle_s seconds is ended. FENCE_EIO,
 * FENCE_ENOMEM: nothing is open. */
FENCE_CHECKED int api_shards_init(struct api_shards *shards, const struct api_shards_user *user,
                                  unsigned connections, unsigned idle_s);

/* Ends all connections, of which none may be suspended. */
void api_shards_fini(struct api_shards *shards);

/* The socket of a connection. */
int api_shard_socket(struct MHD_Connection *connection);

/* The first shard with space for another connection; NULL: all are full. */
struct api_shard *api_shards_find_space(struct api_shards *shards);

/* How many connections there are, in all of them. */
unsigned api_shards_connections(const struct api_shards *shards);

/* Finds out which shards are due, and where bytes may have arrived. Without it a round only uses
 * what it knows. */
void api_shards_look(struct api_shards *shards);

/* Rounds that the answer to a parked request takes to leave: to be taken up, and to be sent. */
enum {
    API_SHARD_ANSWER_ROUNDS = 2,
};

/* Does a round of work in each shard that is due. Returns true if some shards still are. */
bool api_shards_run(struct api_shards *shards);

/* Returns the time until a shard is due even if no bytes arrive; -1: never. */
int api_shards_timeout_ms(const struct api_shards *shards);

#endif
