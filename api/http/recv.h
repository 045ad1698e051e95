/* The reads of libmicrohttpd, which go through the connections (api/http/connection.h). */
#ifndef API_HTTP_RECV_H
#define API_HTTP_RECV_H

#include "api/http/connection.h"

/* While libmicrohttpd runs on this thread, its reads go to these connections; NULL: to nobody. */
void api_recv_through(struct api_connections *connections);

#endif
