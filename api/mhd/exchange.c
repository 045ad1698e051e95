#include "api/mhd/exchange.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

_Static_assert(sizeof(struct api_exchange) % _Alignof(max_align_t) == 0,
               "the request stands behind it");

struct api_exchange *api_exchange_new(struct api_exchanges *exchanges, struct api_shard *shard,
                                      struct MHD_Connection *connection, struct api_incoming *head)
{
    struct api_exchange *exchange = calloc(1, sizeof(*exchange) + api_request_size(head));
    if (exchange == NULL)
        return NULL;
    exchange->exchanges = exchanges;
    exchange->shard = shard;
    exchange->connection = connection;
    head->exchange = exchange;
    exchange->request = api_request_begin(&exchanges->requests, head, exchange + 1);
    return exchange;
}

void api_exchange_free(struct api_exchange *exchange)
{
    assert(exchange->state != API_EXCHANGE_HOVERING && exchange->state != API_EXCHANGE_SUSPENDED);
    assert(exchange->state != API_EXCHANGE_STREAMING);
    api_request_end(exchange->request);
    if (exchange->response != NULL)
        MHD_destroy_response(exchange->response);
    free(exchange->unsent);
    free(exchange);
}

#define TO(state) (1U << API_EXCHANGE_##state)

void api_exchange_move(struct api_exchange *exchange, enum api_exchange_state state)
{
    static const unsigned allowed[API_EXCHANGE_STATES] = {
        [API_EXCHANGE_READING] = TO(HOVERING) | TO(OPENING) | TO(SENT) | TO(BROKEN),
        [API_EXCHANGE_HOVERING] = TO(SUSPENDED) | TO(PREPARED) | TO(GONE),
        [API_EXCHANGE_SUSPENDED] = TO(SENT) | TO(BROKEN),
        [API_EXCHANGE_PREPARED] = TO(SENT) | TO(BROKEN),
        [API_EXCHANGE_OPENING] = TO(STREAMING) | TO(SENT) | TO(GONE),
        [API_EXCHANGE_STREAMING] = TO(SENT),
    };
    assert(exchange->state < API_EXCHANGE_STATES && state < API_EXCHANGE_STATES);
    assert(allowed[exchange->state] & (1U << state));
    exchange->state = state;
    assert((exchange->connection == NULL) == (state == API_EXCHANGE_GONE));
}

bool api_exchange_add_fields(struct MHD_Response *made, const struct api_response *response)
{
    bool added = true;
    for (unsigned i = 0; i < response->fields_count; i++)
        added = added && MHD_add_response_header(made, response->fields[i].name,
                                                 response->fields[i].value) == MHD_YES;
    if (response->closes)
        added = added && MHD_add_response_header(made, "Connection", "close") == MHD_YES;
    return added;
}

/* Prepares the response. If there is no memory, there is none. */
void api_exchange_prepare(struct api_exchange *exchange, const struct api_response *response)
{
    assert(exchange->response == NULL && response->fields_count <= API_RESPONSE_FIELDS_MAX);
    const enum MHD_ResponseMemoryMode mode =
        response->is_lasting ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY;
    /* In these modes the buffer is only read; the parameter is not const for other modes' sake. */
    struct MHD_Response *made =
        MHD_create_response_from_buffer(response->len, (void *)(uintptr_t)response->body, mode);
    if (made != NULL && !api_exchange_add_fields(made, response)) {
        MHD_destroy_response(made);
        made = NULL;
    }
    exchange->status = response->status;
    exchange->response = made;
}

void api_exchange_send(struct api_exchange *exchange)
{
    assert(exchange->connection != NULL);
    const bool sent =
        exchange->response != NULL &&
        MHD_queue_response(exchange->connection, exchange->status, exchange->response) == MHD_YES;
    api_exchange_move(exchange, sent ? API_EXCHANGE_SENT : API_EXCHANGE_BROKEN);
}
