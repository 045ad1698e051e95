/* Clients that leave while their request is suspended. libmicrohttpd does not read their sockets,
 * so they are watched here. So are clients that want to connect. An exchange is no more than a
 * pointer here, that comes back. Private to api/mhd. */
#ifndef API_MHD_WATCH_H
#define API_MHD_WATCH_H

#include "fence/protocol/error.h"

#include <stdbool.h>

struct api_exchange;

enum {
    API_HTTP_AHEAD_MAX = 32 * 1024, /* bytes that a client may send behind a request that waits for
                                     * its answer; who sends more counts as gone */
};

/* Makes the descriptor that becomes readable when somebody stirs: leaves, or sends more. FENCE_EIO.
 */
FENCE_CHECKED int api_watch_open(int *ret_fd);

/* The request on @socket has just been suspended, or is about to be resumed. One that cannot be
 * watched, since memory is out, waits until its time is up. */
void api_watch_add(int watch_fd, int socket, struct api_exchange *exchange);
void api_watch_remove(int watch_fd, int socket);

/* Has a listening socket watched too, or, not @open, left alone for a while. It is forgotten when
 * it is closed. FENCE_EIO. */
FENCE_CHECKED int api_watch_door(int watch_fd, int listen_fd, bool open);

/* It is watched no more. To be called before it is closed: the kernel goes on watching a socket
 * that another descriptor has open too. */
void api_watch_no_door(int watch_fd, int listen_fd);

/* Calls @stirred once for each request whose client has left or sent more since the last time; it
 * may answer that request. A bounded number: what is left keeps the descriptor readable. True if a
 * client wants to connect.
 */
bool api_watch_turn(int watch_fd, void (*stirred)(struct api_exchange *exchange));

/* Reports whether the client at @socket has gone by now, noticed or not. One that sent more than
 * API_HTTP_AHEAD_MAX ahead counts as gone: its end could not be seen behind that. */
bool api_watch_has_left(int socket);

#endif
