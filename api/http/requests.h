/* All requests of a server, for the transport below them (api/http/transport.h). For each head that
 * is complete:
 *
 *     api_request_begin()
 *     api_request_unread_fault(), or the body is not wanted: api_request_refuse()
 *     api_request_body_came(), for each piece of the body
 *     api_request_complete(): answers the request, or parks it for a later answer
 *     api_request_left(): the client of a parked request has left
 *     api_request_end(): the answer was sent, or cannot be sent
 *
 * One loop, one thread. */
#ifndef API_HTTP_REQUESTS_H
#define API_HTTP_REQUESTS_H

#include "api/http/costly.h"
#include "api/http/dispatch.h"
#include "api/http/headers.h"
#include "api/http/observer.h"
#include "api/http/parking.h"
#include "api/http/transport.h"

#include <stdbool.h>
#include <stddef.h>

/* The data that the requests of a server share. */
struct api_requests {
    struct api_served served;
    struct api_parking parking;
    struct api_costly costly;
    struct api_observer observer;
    const struct api_transport *transport; /* borrowed */
};

/* The head of a request; borrowed for the call. */
struct api_incoming {
    const char *method;
    const char *path;                  /* not decoded, without the query */
    const struct api_headers *headers; /* not owned yet (api_headers_own()) */
    const char *subject;               /* api_request_subject() */
    bool metrics_only;                 /* the door serves nothing but metrics and health */
    void *exchange;                    /* the transport's own data: api_request_exchange() */
};

/* Sets up what all requests share. */
void api_requests_init(struct api_requests *requests, const struct api_served *served,
                       const struct api_observer *observer, const struct api_transport *transport);

/* Returns how many bytes a request with @head takes. */
size_t api_request_size(const struct api_incoming *head);

/* Makes a request in @memory: api_request_size() bytes, all zero, aligned for any type. The
 * transport owns the memory, which must stay until api_request_end(). */
struct api_request *api_request_begin(struct api_requests *requests,
                                      const struct api_incoming *head, void *memory);

/* Makes a request for a call of the batch @outer. The call comes through @transport, and @line is
 * its queue of costly requests. It shares everything else with @outer. */
struct api_request *api_request_begin_within(struct api_request *outer,
                                             const struct api_transport *transport,
                                             struct api_costly *line,
                                             const struct api_incoming *head, void *memory);

/* api_headers_fault() of @request. */
const char *api_request_headers_fault(const struct api_request *request, const char *version);

/* Reports whether to read the body. A too large body is not read if the client asked first
 * (Expect), or if reading would take too long. */
bool api_request_wants_body(const struct api_request *request);

/* Refuses a request whose body was not read; its connection ends with the answer. @fault NULL: the
 * body is too large. */
void api_request_refuse(struct api_request *request, const char *fault);

/* Reports whether the next piece of the body has to wait: the transport must suspend the
 * connection, and pass on nothing until it is resumed. */
bool api_request_body_waits(const struct api_request *request);

/* Takes the next piece of the body. May suspend the connection. Returns false if there is no
 * memory, or the body does not end: the connection must be closed. */
bool api_request_body_came(struct api_request *request, const char *data, size_t size);

/* The request is complete. Returns true if it has its answer, or the head of a streamed one; false
 * if it is parked. */
bool api_request_complete(struct api_request *request);

/* The client of a parked request, or of a stream, has disconnected. Informs the backend of its
 * call, which may answer the request within, and ends the stream. Called at most once for each
 * request. */
void api_request_left(struct api_request *request);

/* Frees the parts of the request, but not its memory. The request must not be parked. */
void api_request_end(struct api_request *request);

/* The transport's own. */
void *api_request_exchange(const struct api_request *request);

/* Makes each connection end with its next answer, even for parked requests. */
void api_requests_leave(struct api_requests *requests);

/* Returns a parked request that may wait long (api_request_may_wait()); NULL: there is none. */
struct api_request *api_requests_waiting(const struct api_requests *requests);

/* Answers all parked requests with 503, and ends their connections. Resumes all suspended
 * bodies. */
void api_requests_stop(struct api_requests *requests);

#endif
