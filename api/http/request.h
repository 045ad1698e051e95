/* One HTTP request, as a handler sees it, and its answer.
 *
 *   READING --complete, well-formed--> HANDLING --answered in the handler------------> ANSWERED
 *                                         '------kept----> PARKED --answered later------^
 *
 * Checked before a handler runs: framing, percent-encoding, UTF-8, path and method, headers sent
 * twice. So are size and type of the body, and whether the route takes a body or a query. The
 * handler checks only the meaning of its own call (api/http/input.h helps).
 *
 * A request lives until it is answered and its answer is sent. A parked one cannot go away, even if
 * its client does. One loop, one thread. */
#ifndef API_HTTP_REQUEST_H
#define API_HTTP_REQUEST_H

#include "api/http/access.h"
#include "api/http/answer.h"
#include "api/http/headers.h"
#include "api/http/piece.h"
#include "api/http/route.h"

#include <stdint.h>

/* The results of these functions are valid until the request is answered. */

/* Parameter @i of the route's pattern: decoded, UTF-8, terminated, no NUL inside. */
const char *api_request_param(const struct api_request *request, unsigned i);

/* Returns the value, without the white space around it; NULL if the client did not send it. */
const char *api_request_header(const struct api_request *request, enum api_header header);

/* Returns the common name of the client's verified certificate; "" without one. */
const char *api_request_subject(const struct api_request *request);

/* The body, not terminated; never NULL. */
const char *api_request_body(const struct api_request *request, size_t *ret_len);

/* Returns the id of the request's key; "" if there is none. */
const char *api_request_caller(const struct api_request *request);

/* Returns the caller as the program knows it; NULL: every caller has all rights
 * (api/http/access.h). */
struct api_caller *api_request_known(struct api_request *request);

/* Reports whether the caller has @right on @name, a resource or a prefix of names. If not, the
 * request is answered. */
bool api_request_permits(struct api_request *request, enum api_right right, const char *name);

/* The same for the right that the route needs. */
bool api_request_permits_name(struct api_request *request, const char *name);

/* Calls @visit with each query parameter until @visit returns false. The parameter is not decoded,
 * but "+" has become a space. @value is NULL if it has no "=". */
void api_request_query(const struct api_request *request,
                       bool (*visit)(void *context, const char *name, const char *value),
                       void *context);

/* Answers the request, exactly once; @answer is copied, except for a lasting body. Allowed in the
 * handler, and at any later moment in the same loop, even in the handler of another request. Do not
 * use the request afterwards. Adds "Cache-Control: no-store" unless @answer names another
 * cache_control. */
void api_request_answer(struct api_request *request, const struct api_answer *answer);

/* Begins a streamed answer (api/http/stream.h), from within the handler. @head has no body. False:
 * the request was a HEAD; it is answered, and there is no stream. The request counts as answered
 * from here on. The connection ends with the stream. */
bool api_request_stream(struct api_request *request, const struct api_answer *head,
                        const struct api_stream_owner *owner);

/* Reports whether the client of a parked request is known to have disconnected: then no client will
 * read the answer. */
bool api_request_client_left(const struct api_request *request);

/* Stores a number with the request, for its answer; 0 at first. */
void api_request_note(struct api_request *request, uint32_t number);
uint32_t api_request_noted(const struct api_request *request);

/* The handler tells that the request, for @locks locks, will be parked for as long as its client
 * asked for. A server that stops answers such requests first (api_http_waiting()). */
void api_request_may_wait(struct api_request *request, unsigned locks);

/* Reports whether the request is a call of a batch (api/http/batch.h). Such a call must not wait
 * for a lock: all other answers of the batch would wait, too. */
bool api_request_is_batched(const struct api_request *request);

/* Reports whether the request is a part of one call of a client, such as the release of one seat of
 * a writer. Rates, events and the audit log count only the whole call. */
bool api_request_is_part(const struct api_request *request);

/* Reports whether the request releases one lock of a writer as part of a release of all. */
bool api_request_covers(const struct api_request *request);

/* Returns the id that the client gave its request, and its trace: see api/http/trace.h. "" if there
 * is none, or none that is well-formed. An answer repeats the id. */
const char *api_request_id(const struct api_request *request);
const char *api_request_trace(const struct api_request *request);

/* The address of the client: "127.0.0.1:40312", "unix", or "" if it is no longer known. */
enum {
    API_PEER_MAX = 64,
};
void api_request_peer(const struct api_request *request, char ret_peer[static API_PEER_MAX]);

/* Stores a copy of a text with the request, for its answer. "" at first, and if there is no
 * memory. */
void api_request_keep(struct api_request *request, const char *text);
const char *api_request_kept(const struct api_request *request);

/* Converts a request to a number that a core can carry, and back; never 0. */
uint64_t api_request_client(const struct api_request *request);
struct api_request *api_request_of_client(uint64_t client);

#endif
