/* TLS handshakes, apart from the connections that stand. A handshake costs the service a
 * millisecond or more, and a stranger nothing. So each turn gives the handshakes only so much time,
 * in the order in which the clients spoke. The other connections, and the masters, have their turn
 * in between. A client comes to the shards once its handshake is done.
 *
 * Private to api/. One loop, one thread. */
#ifndef API_HTTP_GREETING_H
#define API_HTTP_GREETING_H

#include "api/http/connection.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
    API_GREETINGS_MS = 3, /* for handshakes in one turn; the last one may take longer */
};

/* A client whose handshake is under way. */
struct api_greeting {
    struct api_connection *connection;
    struct sockaddr_storage from;
    socklen_t from_len;
    bool due;                         /* something came since the last step */
    struct api_greeting *prev, *next; /* of all */
    struct api_greeting *due_next;    /* of those that are due */
};

struct api_greetings {
    int fd; /* an epoll instance: readable while something came from any of them */
    unsigned count;
    struct api_greeting *first;
    struct api_greeting *due_first, *due_last;

    /* The handshake of @greeting is done, or failed: its connection is the owner's from here on. */
    void (*greeted)(void *context, const struct api_greeting *greeting);
    void *context;
};

/* FENCE_EIO. */
FENCE_CHECKED int api_greetings_init(struct api_greetings *greetings,
                                     void (*greeted)(void *context,
                                                     const struct api_greeting *greeting),
                                     void *context);

/* Closes all that are not done. */
void api_greetings_fini(struct api_greetings *greetings);

/* @connection came through a door with TLS, from @from (copied). FENCE_ENOMEM. */
FENCE_CHECKED int api_greetings_add(struct api_greetings *greetings,
                                    struct api_connection *connection, const struct sockaddr *from,
                                    socklen_t from_len);

/* Goes on with handshakes for API_GREETINGS_MS. True: some are still due. */
bool api_greetings_turn(struct api_greetings *greetings);

#endif
