#include "api/mhd/waiting.h"

#include "api/mhd/watch.h"

#include <assert.h>

static bool is_waiting(const struct api_exchange *exchange)
{
    return exchange->state == API_EXCHANGE_HOVERING || exchange->state == API_EXCHANGE_SUSPENDED ||
           exchange->state == API_EXCHANGE_GONE;
}

static void stop_hovering(struct api_exchange *exchange)
{
    assert(exchange->state == API_EXCHANGE_HOVERING);
    assert(exchange->shard->shards->hovering > 0);
    exchange->shard->shards->hovering--;
}

void api_waiting_begin(struct api_exchange *exchange)
{
    assert(exchange->response == NULL && exchange->looks == 0);
    api_exchange_move(exchange, API_EXCHANGE_HOVERING);
    exchange->shard->shards->hovering++;
}

void api_waiting_look(struct api_exchange *exchange)
{
    if (exchange->state == API_EXCHANGE_PREPARED) {
        api_exchange_send(exchange);
        return;
    }
    assert(exchange->state == API_EXCHANGE_HOVERING && exchange->looks < API_HOVER_LOOKS);
    if (++exchange->looks < API_HOVER_LOOKS)
        return;
    stop_hovering(exchange);
    api_exchange_move(exchange, API_EXCHANGE_SUSPENDED);
    MHD_suspend_connection(exchange->connection);
    api_watch_add(exchange->exchanges->watch_fd, api_shard_socket(exchange->connection), exchange);
}

/* Handles an answer that arrives outside of a look. */
static void answer_waiting(struct api_exchange *exchange)
{
    exchange->shard->due = API_SHARD_ANSWER_ROUNDS;
    if (exchange->state == API_EXCHANGE_GONE) {
        api_exchange_free(exchange);
    } else if (exchange->state == API_EXCHANGE_SUSPENDED) {
        api_watch_remove(exchange->exchanges->watch_fd, api_shard_socket(exchange->connection));
        api_exchange_send(exchange);
        MHD_resume_connection(exchange->connection);
    } else {
        stop_hovering(exchange);
        api_exchange_move(exchange, API_EXCHANGE_PREPARED);
    }
}

void api_waiting_answer(struct api_request *request, const struct api_response *response)
{
    struct api_exchange *exchange = api_request_exchange(request);
    assert(exchange->request == request);
    api_exchange_prepare(exchange, response);
    if (is_waiting(exchange)) {
        answer_waiting(exchange);
        return;
    }
    assert(exchange->state == API_EXCHANGE_READING);
    api_exchange_send(exchange);
}

bool api_waiting_has_left(const struct api_request *request)
{
    const struct api_exchange *exchange = api_request_exchange(request);
    return exchange->state == API_EXCHANGE_GONE ||
           ((exchange->state == API_EXCHANGE_SUSPENDED ||
             exchange->state == API_EXCHANGE_STREAMING) &&
            api_watch_has_left(api_shard_socket(exchange->connection)));
}

/* Informs the backend once. If that does not end the call, it stays suspended for a moment. */
void api_waiting_stirred(struct api_exchange *exchange)
{
    if (!api_waiting_has_left(exchange->request))
        return;
    api_watch_remove(exchange->exchanges->watch_fd, api_shard_socket(exchange->connection));
    api_request_left(exchange->request);
}

void api_waiting_disconnected(struct api_exchange *exchange)
{
    /* libmicrohttpd does not see a suspended client leave. */
    assert(exchange->state != API_EXCHANGE_SUSPENDED && exchange->state != API_EXCHANGE_GONE);
    assert(exchange->state != API_EXCHANGE_STREAMING);
    if (exchange->state == API_EXCHANGE_OPENING && !exchange->ends) {
        exchange->connection = NULL;
        api_exchange_move(exchange, API_EXCHANGE_GONE);
        api_request_left(exchange->request); /* which ends the stream, and so frees it */
        return;
    }
    if (exchange->state != API_EXCHANGE_HOVERING) {
        api_exchange_free(exchange);
        return;
    }
    stop_hovering(exchange);
    exchange->connection = NULL;
    api_exchange_move(exchange, API_EXCHANGE_GONE);
    api_request_left(exchange->request); /* which may answer it, and so free it */
}
