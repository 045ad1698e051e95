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

/* All that follows is valid until the request is answered. */

/* Parameter @i of the route's pattern: decoded, UTF-8, terminated, no NUL inside. */
const char *api_request_param(const struct api_request *request, unsigned i);

/* The value, without the white space around it; NULL if the client did not send it. */
const char *api_request_header(const struct api_request *request, enum api_header header);

/* The common name of the certificate that the client showed and that was verified; "" without. */
const char *api_request_subject(const struct api_request *request);

/* The body, not terminated; never NULL. */
const char *api_request_body(const struct api_request *request, size_t *ret_len);

/* The id of the key that the request was sent with; "" where there is none. */
const char *api_request_caller(const struct api_request *request);

/* The caller as the program knows it; NULL: every caller may do everything (api/http/access.h).
 */
struct api_caller *api_request_known(struct api_request *request);

/* Reports whether the caller has @right on @name, a resource or the beginning of some. False:
 * answered. */
bool api_request_permits(struct api_request *request, enum api_right right, const char *name);

/* The same for the right that the route needs. */
bool api_request_permits_name(struct api_request *request, const char *name);

/* Calls @visit with each query parameter until @visit returns false. The parameter is not decoded,
 * but "+" has become a space. @value is NULL where it has no "=". */
void api_request_query(const struct api_request *request,
                       bool (*visit)(void *context, const char *name, const char *value),
                       void *context);

/* Answers the request, exactly once; @answer is copied, except for a body that lasts. Allowed in
 * the handler, and at any later moment in the same loop, also from inside the handler of another
 * request. The request is gone afterwards: do not touch it again. "Cache-Control: no-store" is
 * added to every answer that names no other cache_control. */
void api_request_answer(struct api_request *request, const struct api_answer *answer);

/* Begins a streamed answer (api/http/stream.h), from within the handler. @head has no body. False:
 * the request was a HEAD; it is answered, and there is no stream. The request counts as answered
 * from here on. The connection ends with the stream. */
bool api_request_stream(struct api_request *request, const struct api_answer *head,
                        const struct api_stream_owner *owner);

/* Reports whether the client of a parked request is known to have gone; its answer will reach
 * no caller. */
bool api_request_client_left(const struct api_request *request);

/* A number that the handler keeps with the request, for its answer; 0 at first. */
void api_request_note(struct api_request *request, uint32_t number);
uint32_t api_request_noted(const struct api_request *request);

/* The handler says that the request, for @locks locks, will be parked for as long as its client
 * asked for. A server that stops tells such clients first (api_http_waiting()). */
void api_request_may_wait(struct api_request *request, unsigned locks);

/* Reports whether the request is a call of a batch (api/http/batch.h). Such a call must not wait
 * for a lock: the batch would keep all other answers back until then. */
bool api_request_is_batched(const struct api_request *request);

/* Reports whether the request is a part of one call of a client, such as a seat of a writer's
 * release. Only the whole counts for rates, events and the audit log. */
bool api_request_is_part(const struct api_request *request);

/* Reports whether it releases a lock of a writer, and the rest is released with it. */
bool api_request_covers(const struct api_request *request);

/* The id that the client gave its request, and what it follows: see api/http/trace.h. "" where it
 * gave none, or none that is well-formed. An answer gives the id back. */
const char *api_request_id(const struct api_request *request);
const char *api_request_trace(const struct api_request *request);

/* The address of the client: "127.0.0.1:40312", "unix", or "" where that is not known any more. */
enum {
    API_PEER_MAX = 64,
};
void api_request_peer(const struct api_request *request, char ret_peer[static API_PEER_MAX]);

/* A text that is kept with the request, for its answer; copied. "" at first, and where memory is
 * out. */
void api_request_keep(struct api_request *request, const char *text);
const char *api_request_kept(const struct api_request *request);

/* A request as a number that a core can carry, and back; never 0. */
uint64_t api_request_client(const struct api_request *request);
struct api_request *api_request_of_client(uint64_t client);

#endif
