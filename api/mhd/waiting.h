/* Exchanges whose answer comes later: they hover, are suspended, and their clients may leave.
 * Private to api/mhd. */
#ifndef API_MHD_WAITING_H
#define API_MHD_WAITING_H

#include "api/mhd/exchange.h"

#include <stdbool.h>

enum {
    API_HOVER_LOOKS = 16,
};

/* The request of @exchange was parked; called from within libmicrohttpd's look at it. */
void api_waiting_begin(struct api_exchange *exchange);

/* An exchange that hovers or is prepared is looked at: hands over its answer if there is one, or
 * lets it wait on. Called from within libmicrohttpd's look at it. */
void api_waiting_look(struct api_exchange *exchange);

/* The answer to a request is there; as api_transport.answer. */
void api_waiting_answer(struct api_request *request, const struct api_response *response);

/* The client of a suspended exchange has left, or sent more. If it has gone, the backend of its
 * call is told. */
void api_waiting_stirred(struct api_exchange *exchange);

/* Reports whether the client of a parked request is known to have gone; as api_transport.has_left.
 */
bool api_waiting_has_left(const struct api_request *request);

/* libmicrohttpd is done with the connection. Frees the exchange, or has it wait for its answer
 * without one: then the backend of its call is told. */
void api_waiting_disconnected(struct api_exchange *exchange);

#endif
