/* The reads of libmicrohttpd, which go through guards (api/http/guard.h). */
#ifndef API_HTTP_RECV_H
#define API_HTTP_RECV_H

#include "api/http/guard.h"

/* While libmicrohttpd runs on this thread, its reads go to these guards; NULL: to nobody. */
void api_recv_through(struct api_guards *guards);

#endif
