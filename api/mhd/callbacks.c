#include "api/mhd/callbacks.h"

#include "api/http/limits.h"
#include "api/http/request.h"
#include "api/mhd/connection.h"
#include "api/mhd/head.h"
#include "api/mhd/waiting.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)API_FRAMING_BODY_MAX == (int)API_HTTP_DRAIN_MAX,
               "a body in chunks is cut off at one length");

static struct api_exchanges *exchanges_of(const struct api_shard *shard)
{
    return shard->shards->user.context;
}

/* Returns the connection through which libmicrohttpd reads. */
static struct api_connection *connection_of(const struct api_shard *shard,
                                            struct MHD_Connection *mhd)
{
    struct api_connection *connection =
        api_connections_find(shard->shards->user.connections, api_shard_socket(mhd));
    assert(connection != NULL && !connection->fresh);
    return connection;
}

/* ---- the head -------------------------------------------------------------------------------- */

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    api_headers_add(context, name, value);
    return MHD_YES;
}

/* Returns the size of the head; 0: it is not known, and so not trusted. */
static size_t head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL ? info->header_size : 0;
}

static enum MHD_Result note_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    (void)kind;
    api_head_word(context, name);
    api_head_word(context, value);
    return MHD_YES;
}

static enum MHD_Result note_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    api_head_field(context, name, value);
    return MHD_YES;
}

static bool is_hidden(struct MHD_Connection *connection, const char *method, const char *url,
                      const char *version)
{
    struct api_head head;
    api_head_begin(&head, method, head_size(connection));
    api_head_word(&head, url);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, note_parameter, &head);
    api_head_word(&head, version);
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, note_field, &head);
    return api_head_end(&head);
}

static const char *find_fault(const struct api_exchange *exchange, const char *method,
                              const char *url, const char *version)
{
    const char *fault = api_request_headers_fault(exchange->request, version);
    if (fault == NULL && is_hidden(exchange->connection, method, url, version))
        fault = "The head contains a NUL, a header without a name, or a header that continues on "
                "the next line. Correct the head.";
    return fault;
}

/* Handles the head. If the body would not be understood, or need not be read, the request is
 * refused before the body is read. The connection ends with that answer. */
static enum MHD_Result headers_came(struct api_shard *shard, struct MHD_Connection *mhd,
                                    const char *method, const char *url, const char *version,
                                    void **ret_exchange)
{
    struct api_headers headers = {0};
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, note_header, &headers);
    struct api_connection *connection = connection_of(shard, mhd);
    struct api_incoming head = {
        .method = method,
        .path = url,
        .headers = &headers,
        .subject = api_connection_subject(connection),
        .metrics_only = connection->door->metrics_only,
    };
    struct api_exchange *exchange = api_exchange_new(exchanges_of(shard), shard, mhd, &head);
    if (exchange == NULL)
        return MHD_NO;
    exchange->in_chunks = strcmp(version, "HTTP/1.0") != 0;
    *ret_exchange = exchange;
    const char *fault = find_fault(exchange, method, url, version);
    if (fault == NULL && api_request_wants_body(exchange->request))
        return MHD_YES;
    api_connection_refused(connection);
    api_request_refuse(exchange->request, fault);
    return exchange->state == API_EXCHANGE_BROKEN ? MHD_NO : MHD_YES;
}

/* ---- the rest of a request ------------------------------------------------------------------- */

/* After a 100 (Continue) libmicrohttpd looks for a body in the bytes that it has read. If these
 * bytes belong to the next request, it calls although the length is 0, at a time when it can take
 * no answer. It will call again. */
static bool may_be_early(struct api_exchange *exchange)
{
    assert(exchange->state == API_EXCHANGE_READING && exchange->response == NULL);
    const bool early =
        api_request_header(exchange->request, API_HEADER_EXPECT) != NULL && !exchange->called;
    exchange->called = true;
    return early;
}

static enum MHD_Result request_came(struct api_exchange *exchange)
{
    if (may_be_early(exchange))
        return MHD_YES;
    if (!api_request_complete(exchange->request))
        api_waiting_begin(exchange);
    return exchange->state == API_EXCHANGE_BROKEN ? MHD_NO : MHD_YES;
}

/* libmicrohttpd calls this once with the headers, once with each piece of the body, and once at the
 * end. Then it calls in each turn until there is an answer. The parameters are its own.
 * NOLINTNEXTLINE(readability-function-size) */
enum MHD_Result api_callback_handle(void *context, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *data_size, void **exchange)
{
    struct api_exchange *known = *exchange;
    if (known == NULL)
        return headers_came(context, connection, method, url, version, exchange);

    assert(known->connection == connection);
    if (*data_size > 0) {
        if (api_request_body_waits(known->request))
            return MHD_YES; /* suspended: chunks that were already read arrive until the turn
                             * ends */
        const size_t size = *data_size;
        *data_size = 0;
        return api_request_body_came(known->request, data, size) ? MHD_YES : MHD_NO;
    }
    if (known->state == API_EXCHANGE_READING)
        return request_came(known);
    if (known->state == API_EXCHANGE_HOVERING || known->state == API_EXCHANGE_PREPARED)
        api_waiting_look(known);

    /* Called again although there was an answer: the response could not be made. */
    return known->state == API_EXCHANGE_BROKEN || known->state == API_EXCHANGE_OPENING ? MHD_NO
                                                                                       : MHD_YES;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void api_callback_completed(void *context, struct MHD_Connection *connection, void **exchange,
                            enum MHD_RequestTerminationCode why)
{
    const struct api_shard *shard = context;
    (void)why;
    api_connection_answered(connection_of(shard, connection));
    if (*exchange != NULL)
        api_waiting_disconnected(*exchange);
    *exchange = NULL;
}

void api_callback_connected(void *context, struct MHD_Connection *connection,
                            void **connection_context, enum MHD_ConnectionNotificationCode code)
{
    const struct api_shard *shard = context;
    (void)connection_context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        api_connections_remove(shard->shards->user.connections, api_shard_socket(connection));
}
