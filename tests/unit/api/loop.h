/* A server of api/mhd/server.h and its clients in one thread: each step lets the server turn and
 * takes what came. Nothing here waits for longer than LOOP_PATIENCE_MS. */
#ifndef TESTS_UNIT_API_LOOP_H
#define TESTS_UNIT_API_LOOP_H

#include "api/mhd/server.h"

#include <stdbool.h>

enum {
    LOOP_PATIENCE_MS = 3000,
    LOOP_RESPONSE_MAX = 8192,
};

/* The server of a case, a client of it, and the last response to that client. */
struct loop_case {
    struct api_http *http;
    int fd;
    char response[LOOP_RESPONSE_MAX];
};

extern struct loop_case loop;

/* The setup of a case: a new client of @http. And the teardown of a case. */
void loop_begin(struct api_http *http);
int loop_end(void **state);

/* The client asks @text; returns the status. And whether the response has @text in it. */
int loop_ask(const char *text);
bool loop_says(const char *text);
void assert_said(const char *text);
void assert_answered(const char *request, int status, const char *text);

/* Answers 200 with @text. */
void loop_answer(struct api_request *request, const char *text);

/* A door on a free port of loopback. */
struct api_door loop_door(void);

/* Serves @routes on a free port of loopback. */
struct api_http *loop_serve(const struct api_routes *routes, unsigned idle_s);

/* The same, with @observer, and with @wait_ms for a head and for a body. */
struct api_http *loop_serve_observed(const struct api_routes *routes,
                                     const struct api_observer *observer, uint32_t wait_ms);

/* The same for those whom @access lets in. */
struct api_http *loop_serve_for(const struct api_routes *routes, unsigned idle_s,
                                const struct api_access *access);

/* A new connection to @http. */
int loop_connect(const struct api_http *http);

/* Sends @text and lets the server take it. */
void loop_send(struct api_http *http, int fd, const char *text);

/* Turns until a whole response came on @fd, and returns its status; 0 if the connection ended
 * first. @response: its bytes, terminated, with what came after it. */
int loop_receive(struct api_http *http, int fd, char response[static LOOP_RESPONSE_MAX]);

/* Turns until the peer closes @fd; false if it does not. */
bool loop_closed(struct api_http *http, int fd);

/* Turns for @ms, whatever happens. */
void loop_turn_for(struct api_http *http, unsigned ms);

#endif
