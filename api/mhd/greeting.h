/* TLS handshakes, separate from the established connections. A handshake costs the service a
 * millisecond or more, and costs a stranger nothing. So one thread does the handshakes, one after
 * the other, in the order in which the clients' bytes arrived. The thread is nice (setpriority(2)):
 * if processors are short, established clients and the masters come first. A client moves to the
 * shards once its handshake is done.
 *
 * Private to api/. One loop calls these functions; the thread is not visible outside. */
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
    bool gone;                        /* finished: the client disconnected, and no handshake was
                                       * done */
    struct api_greeting *prev, *next; /* of all */
    struct api_greeting *due_next;    /* in a list of clients that are due, or that were served */
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

    /* The handshake of @greeting is done, or failed: the owner gets its connection. */
    void (*greeted)(void *context, const struct api_greeting *greeting);
    void *context;
};

/* FENCE_EIO. */
FENCE_CHECKED int api_greetings_init(struct api_greetings *greetings,
                                     void (*greeted)(void *context,
                                                     const struct api_greeting *greeting),
                                     void *context);

/* Ends the thread, and closes all clients whose handshake is not done. */
void api_greetings_fini(struct api_greetings *greetings);

/* @connection came through a door with TLS, from @from (copied). FENCE_ENOMEM. */
FENCE_CHECKED int api_greetings_add(struct api_greetings *greetings,
                                    struct api_connection *connection, const struct sockaddr *from,
                                    socklen_t from_len);

/* Passes clients whose bytes arrived to the thread, and reports handshakes that ended to the owner.
 * A client that left before its turn costs no handshake: its connection has ended. */
void api_greetings_turn(struct api_greetings *greetings);

#endif
