/* How busy an HTTP server is. */
#ifndef API_LOAD_H
#define API_LOAD_H

struct api_http;

struct api_load {
    unsigned connections; /* open ones, with those that wait for nothing */
    unsigned waiting;     /* requests that were set aside: their answer did not come in a moment */
};

/* To be called between turns, not from a handler. The thread of the server's loop. */
void api_http_load(const struct api_http *http, struct api_load *ret_load);

#endif
