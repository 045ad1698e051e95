/* A small blocking HTTP/1.1 client over one socket, for tests of what really goes over the wire: it
 * sends whatever bytes it is told to, right or wrong, and reads one response at a time. */
#ifndef TESTS_LIB_HTTP_H
#define TESTS_LIB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct http; /* one connection, kept alive */

struct http_response {
    int status; /* 0: the connection ended before a whole response came */
    char *head; /* status line and headers as they came, terminated */
    char *body; /* terminated; "" without one */
    size_t body_len;
    json_t *json; /* the body where it is JSON, else NULL */
};

/* Connects to 127.0.0.1:@port. Fails the test if no process listens. */
struct http *http_connect(uint16_t port);

/* The same over TLS. NULL: the handshake failed. */
struct tls_side;
struct http *http_connect_tls(uint16_t port, const struct tls_side *side);

/* The common name in the certificate of the peer, over TLS. */
void http_peer(const struct http *http, char *ret_name, size_t cap);

/* The socket, for tests that watch it or break it; it stays this file's. */
int http_fd(const struct http *http);

/* Closes. NULL is fine. */
void http_close(struct http *http);

/* Sends a request and reads its response into *@ret_response, which the caller gives back with
 * http_response_fini(). @headers: whole lines, each with its "\r\n", or NULL. @body: a string, sent
 * with its Content-Length (and Content-Type: application/json, unless @headers name one), or
 * NULL. */
void http_request(struct http *http, const char *method, const char *path, const char *headers,
                  const char *body, struct http_response *ret_response);

/* The two halves of it. http_send() sends @len bytes as they are; false if the peer does not take
 * them any more. http_receive() reads one response; @head_request: it has no body whatever its
 * headers say. Fails the test if nothing comes for several seconds. */
bool http_send(struct http *http, const void *bytes, size_t len);
void http_receive(struct http *http, bool head_request, struct http_response *ret_response);

/* recv(2): bytes as they come, past what http_receive() has read. */
ssize_t http_receive_bytes(struct http *http, void *buffer, size_t size);

/* The same as http_request(), over its own connection. A refused connection is no failure: the
 * status is 0. */
void http_once(uint16_t port, const char *method, const char *path, const char *headers,
               const char *body, struct http_response *ret_response);

void http_response_fini(struct http_response *response);

/* Copies the value of the header @name (in any case) to @ret_value (@cap bytes, terminated). False,
 * and "", if there is none. */
bool http_header(const struct http_response *response, const char *name, char *ret_value,
                 size_t cap);

/* The member @name of the JSON body; fails the test, showing the body, if it is not there or of
 * another type. The string lives as long as the response. */
const char *http_string(const struct http_response *response, const char *name);
int64_t http_integer(const struct http_response *response, const char *name);
bool http_boolean(const struct http_response *response, const char *name);

#endif
