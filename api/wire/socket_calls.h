/* What libmicrohttpd asks of the kernel about sockets. Its reads go through the connections
 * (api/mhd/connection.h), and most of its questions can be spared. */
#ifndef API_WIRE_SOCKET_CALLS_H
#define API_WIRE_SOCKET_CALLS_H

#include "api/mhd/connection.h"

#include <stdbool.h>

/* While libmicrohttpd runs on this thread, its reads go to these connections; NULL: to nobody. Not
 * @looks: it is told that nothing came, and goes on with what it knows. */
void api_socket_calls_through(struct api_connections *connections, bool looks);

enum {
    API_SOCKET_EVENTS = 32, /* are told in one round; the kernel keeps the others, in order */
};

/* Whether the kernel may have more to tell than libmicrohttpd was told since the last
 * api_socket_calls_through(). */
bool api_socket_calls_have_more(void);

#endif
