/* The HTTP server inside a libuv loop: polls its descriptor and keeps its timeout. It gets its turn
 * before the loop goes to sleep, if there is something to send.
 *
 * It also gives it a turn now and then without any reason. When descriptors run out, the server
 * accepts no client before a later turn finds some free. Nothing else would cause that turn. */
#ifndef SERVER_LOOP_HTTP_LOOP_H
#define SERVER_LOOP_HTTP_LOOP_H

#include "api/mhd/server.h"
#include "fence/protocol/error.h"

#include <stdbool.h>

#include <uv.h>

enum {
    SERVER_HTTP_HEARTBEAT_MS = 500, /* the longest that the HTTP server goes without a turn */
};

/* The caller's memory, until its handles are closed: see the fini. */
struct server_http_loop {
    struct api_http *http;
    uv_poll_t poll;
    uv_poll_t watch; /* for clients that leave */
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    bool readable; /* a client may have sent something */
    bool watched;  /* one may have come, or left */
    bool answered;
    void (*before_sleep)(void *context); /* NULL: none */
    void *context;
};

/* Joins @http to @loop; @http is borrowed until the fini. FENCE_EIO: the loop takes no more
 * handles; run it once more anyway, so that what was begun is closed. */
FENCE_CHECKED int server_http_loop_init(struct server_http_loop *glue, uv_loop_t *loop,
                                        struct api_http *http);

/* To be called after answering a parked request. The answer leaves before the loop sleeps again,
 * one turn for all answers of this iteration. */
void server_http_loop_answered(struct server_http_loop *glue);

/* Has @before_sleep called with @context before each sleep of the loop, after the HTTP turn.
 * Requests that became necessary in this iteration can then be sent all at once. It may answer
 * requests.
 */
void server_http_loop_before_sleep(struct server_http_loop *glue,
                                   void (*before_sleep)(void *context), void *context);

/* Closes the handles. @glue must stay until the loop has run once more; then @http may be freed. */
void server_http_loop_fini(struct server_http_loop *glue);

/* For api_http_config.log: a warning, without the newline of @message. @label: a string that begins
 * the line. */
void server_http_log(void *label, const char *message);

#endif
