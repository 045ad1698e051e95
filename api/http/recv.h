/* The reads of libmicrohttpd, which go through the connections (api/http/connection.h), and its
 * questions to the kernel, of which most can be spared. */
#ifndef API_HTTP_RECV_H
#define API_HTTP_RECV_H

#include "api/http/connection.h"

#include <stdbool.h>

/* While libmicrohttpd runs on this thread, its reads go to these connections; NULL: to nobody. Not
 * @looks: it is told that nothing came, and goes on with what it knows. */
void api_recv_through(struct api_connections *connections, bool looks);

#endif
