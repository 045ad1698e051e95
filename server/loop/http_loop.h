/* The HTTP server inside a libuv loop: polls its descriptor and keeps its timeout. Before the loop
 * sleeps, the server gets a turn if there is something to send.
 *
 * The server also gets a turn now and then without an event. When descriptors run out, the server
 * accepts no client until a later turn finds free descriptors. Nothing else would cause that
 * turn. */
#ifndef SERVER_LOOP_HTTP_LOOP_H
#define SERVER_LOOP_HTTP_LOOP_H

#include "api/mhd/server.h"
#include "fence/protocol/error.h"

#include <stdbool.h>

#include <uv.h>

enum {
    SERVER_HTTP_HEARTBEAT_MS = 500, /* the longest that the HTTP server goes without a turn */
};

/* The caller's memory, until its handles are closed: see server_http_loop_fini(). */
struct server_http_loop {
    struct api_http *http;
    uv_poll_t poll;
    uv_poll_t watch; /* reports clients that disconnect */
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    bool readable; /* a client may have sent bytes */
    bool watched;  /* a client may have connected, or disconnected */
    bool answered;
    void (*before_sleep)(void *context); /* NULL: none */
    void *context;
};

/* Joins @http to @loop; @http is borrowed until server_http_loop_fini(). FENCE_EIO: the loop takes
 * no more handles. Run the loop once more even then, so that the handles are closed. */
FENCE_CHECKED int server_http_loop_init(struct server_http_loop *glue, uv_loop_t *loop,
                                        struct api_http *http);

/* Call it after answering a parked request. The answer leaves before the loop sleeps again: one
 * turn sends all answers of this iteration. */
void server_http_loop_answered(struct server_http_loop *glue);

/* Has @before_sleep called with @context before each sleep of the loop, after the HTTP turn. It can
 * then send all requests of this iteration at once. It may answer requests. */
void server_http_loop_before_sleep(struct server_http_loop *glue,
                                   void (*before_sleep)(void *context), void *context);

/* Closes the handles. @glue must stay until the loop has run once more; then @http may be freed. */
void server_http_loop_fini(struct server_http_loop *glue);

/* A warning for api_http_config.log, without the newline of @message. @label is a string at the
 * start of the line. */
void server_http_log(void *label, const char *message);

#endif
