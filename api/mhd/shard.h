/* Connection shards: the connections of a server, spread over several daemons of libmicrohttpd.
 * These daemons listen to nothing, and the one loop drives them all.
 *
 * libmicrohttpd resumes a connection by a walk over all suspended connections of its daemon. With
 * ten thousand parked clients in one daemon that walk is near half of the cost of a grant. In a
 * shard it is bounded. Shards are filled one after the other, so a server with few clients has one.
 * Private to api/. */
#ifndef API_MHD_SHARD_H
#define API_MHD_SHARD_H

#include "fence/protocol/error.h"

#include <stdbool.h>

#include <microhttpd.h>

enum {
    API_SHARD_SIZE = 512,       /* connections */
    API_HTTP_MEMORY = 6 * 1024, /* bytes a connection has for the heads of request and answer: most
                                 * of what a parked request costs */
};

struct api_connections;

/* The part above the shards, which is told what happens in them. */
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
    unsigned due; /* rounds of work: something came, was answered, or has timed out */
    bool looks;   /* the next round asks the kernel what came */
};

struct api_shards {
    struct api_shards_user user;
    struct api_shard *shard;
    unsigned count;
    unsigned used;     /* the first so many have connections, and the others have none */
    unsigned hovering; /* requests that want a look in each turn, though nothing came */
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

/* Finds out which shards are due, and where something may have come. Without it a round only goes
 * on with what it knows. */
void api_shards_look(struct api_shards *shards);

/* Rounds that the answer to a parked request takes to leave: to be taken up, and to be sent. */
enum {
    API_SHARD_ANSWER_ROUNDS = 2,
};

/* A round of work in each shard that is due. True: some still are. */
bool api_shards_run(struct api_shards *shards);

/* How long until some shard is due although nothing comes; -1: never. */
int api_shards_timeout_ms(const struct api_shards *shards);

#endif
