/* TLS handshakes, apart from the connections that stand. A handshake costs the service a
 * millisecond or more, and a stranger nothing. So its own thread does them, one after the
 * other, in the order in which the clients spoke. The thread is nice (setpriority(2)): where
 * processors are short, the clients that are known already and the masters come first. A client
 * comes to the shards once its handshake is done.
 *
 * Private to api/. One loop calls these functions; the thread is not seen outside. */
#ifndef API_MHD_GREETING_H
#define API_MHD_GREETING_H

#include "api/mhd/connection.h"
#include "fence/protocol/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

enum {
    API_GREETINGS_NICE = 10, /* nice value of the thread, */
};

/* A client whose handshake is under way. */
struct api_greeting {
    struct api_connection *connection;
    struct sockaddr_storage from;
    socklen_t from_len;
    bool finished;                    /* the handshake is done, or failed */
    bool gone;                        /* finished: the client left, and nothing was done for it */
    struct api_greeting *prev, *next; /* of all */
    struct api_greeting *due_next;    /* in a list of connections that are due, or were served */
};

/* In order, the first one first. */
struct api_greetings_list {
    struct api_greeting *first, *last;
};

struct api_greetings {
    int fd;      /* an epoll instance: readable while there is something for a turn */
    int done_fd; /* an eventfd in it: the thread served some */
    unsigned count;
    struct api_greeting *first;

    pthread_t thread;
    bool runs; /* the thread: from the first client on */
    pthread_mutex_t lock;
    pthread_cond_t more;            /* something is due, or it stops */
    struct api_greetings_list due;  /* under the lock: for the thread */
    struct api_greetings_list done; /* under the lock: for the next turn */
    bool stops;                     /* under the lock */

    /* The handshake of @greeting is done, or failed: its connection is the owner's from here on. */
    void (*greeted)(void *context, const struct api_greeting *greeting);
    void *context;
};

/* FENCE_EIO. */
FENCE_CHECKED int api_greetings_init(struct api_greetings *greetings,
                                     void (*greeted)(void *context,
                                                     const struct api_greeting *greeting),
                                     void *context);

/* Ends the thread, and closes all that are not done. */
void api_greetings_fini(struct api_greetings *greetings);

/* @connection came through a door with TLS, from @from (copied). FENCE_ENOMEM. */
FENCE_CHECKED int api_greetings_add(struct api_greetings *greetings,
                                    struct api_connection *connection, const struct sockaddr *from,
                                    socklen_t from_len);

/* Hands clients that spoke to the thread, and tells the owner of those whose handshake ended. A
 * client that left before the thread came to it costs no handshake: its connection has ended. */
void api_greetings_turn(struct api_greetings *greetings);

#endif
