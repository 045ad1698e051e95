/* Watches for clients that disconnect while their request is suspended: libmicrohttpd does not read
 * their sockets. Also watches for clients that want to connect. An exchange is only a pointer here,
 * which is passed back. Private to api/mhd. */
#ifndef API_MHD_WATCH_H
#define API_MHD_WATCH_H

#include "fence/protocol/error.h"

#include <stdbool.h>

struct api_exchange;

enum {
    API_HTTP_AHEAD_MAX = 32 * 1024, /* bytes that a client may send behind a request that waits
                                     * for its answer; a client that sends more counts as
                                     * disconnected */
};

/* Makes the descriptor that becomes readable when a client disconnects, or sends more.
 * FENCE_EIO. */
FENCE_CHECKED int api_watch_open(int *ret_fd);

/* The request on @socket has just been suspended, or is about to be resumed. If it cannot be
 * watched for lack of memory, it waits until its time is up. */
void api_watch_add(int watch_fd, int socket, struct api_exchange *exchange);
void api_watch_remove(int watch_fd, int socket);

/* Has a listening socket watched too, or, not @open, left alone for a while. It is forgotten when
 * it is closed. FENCE_EIO. */
FENCE_CHECKED int api_watch_door(int watch_fd, int listen_fd, bool open);

/* Stops watching a listening socket. Call it before the socket is closed: the kernel continues to
 * watch a socket that another descriptor has open too. */
void api_watch_no_door(int watch_fd, int listen_fd);

/* Calls @stirred once for each request whose client has disconnected or sent more since the last
 * time; it may answer that request. The number is bounded: the rest keeps the descriptor readable.
 * Returns true if a client wants to connect. */
bool api_watch_turn(int watch_fd, void (*stirred)(struct api_exchange *exchange));

/* Reports whether the client at @socket has disconnected, noticed or not. A client that sent more
 * than API_HTTP_AHEAD_MAX ahead counts as disconnected: its end could not be seen behind that. */
bool api_watch_has_left(int socket);

#endif
