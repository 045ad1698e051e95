#include "api/mhd/transport.h"

#include "api/mhd/stream.h"
#include "api/mhd/waiting.h"

#include <assert.h>
#include <stddef.h>

static struct api_exchange *exchange_of(const struct api_request *request)
{
    struct api_exchange *exchange = api_request_exchange(request);
    assert(exchange->request == request);
    return exchange;
}

static int client_socket(const struct api_request *request)
{
    const struct api_exchange *exchange = exchange_of(request);
    return exchange->connection != NULL ? api_shard_socket(exchange->connection) : -1;
}

struct visit {
    bool (*parameter)(void *context, const char *name, const char *value);
    void *context;
};

static enum MHD_Result visit_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    const struct visit *visit = context;
    (void)kind;
    return visit->parameter(visit->context, name != NULL ? name : "", value) ? MHD_YES : MHD_NO;
}

static void visit_query(const struct api_request *request,
                        bool (*visit)(void *context, const char *name, const char *value),
                        void *context)
{
    struct visit each = {visit, context};
    const struct api_exchange *exchange = exchange_of(request);
    assert(exchange->connection != NULL);
    (void)MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, visit_parameter,
                                    &each);
}

static void suspend_reading(struct api_request *request)
{
    const struct api_exchange *exchange = exchange_of(request);
    assert(exchange->state == API_EXCHANGE_READING);
    MHD_suspend_connection(exchange->connection);
}

static void resume_reading(struct api_request *request)
{
    const struct api_exchange *exchange = exchange_of(request);
    assert(exchange->state == API_EXCHANGE_READING);
    exchange->shard->due = API_SHARD_ANSWER_ROUNDS;
    MHD_resume_connection(exchange->connection);
}

const struct api_transport api_mhd_transport = {
    .answer = api_waiting_answer,
    .begin_stream = api_mhd_stream_begin,
    .stream = api_mhd_stream_send,
    .end_stream = api_mhd_stream_end,
    .has_left = api_waiting_has_left,
    .socket = client_socket,
    .query = visit_query,
    .suspend = suspend_reading,
    .resume = resume_reading,
};
