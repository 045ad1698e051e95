#include "api/mhd/stream.h"

#include "api/mhd/connection.h"
#include "api/mhd/watch.h"
#include "api/tls/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CHUNK_FRAME_MAX = 16, /* bytes around the data of a chunk (RFC 9112, section 7.1) */
    BLOCK_SIZE = 1024,    /* size of a buffer that libmicrohttpd makes, and that stays empty */
};

static struct api_exchange *exchange_of_stream(const struct api_request *request)
{
    struct api_exchange *exchange = api_request_exchange(request);
    assert(exchange->request == request);
    return exchange;
}

/* libmicrohttpd asks for the body: first when it has sent the head, and then when it is resumed.
 * The parameters are its own. NOLINTNEXTLINE(readability-non-const-parameter) */
static ssize_t read_body(void *context, uint64_t position, char *buffer, size_t size)
{
    struct api_exchange *exchange = context;
    (void)position, (void)buffer, (void)size;
    if (exchange->state != API_EXCHANGE_OPENING || exchange->ends) {
        if (exchange->state == API_EXCHANGE_OPENING)
            api_exchange_move(exchange, API_EXCHANGE_SENT);
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    api_exchange_move(exchange, API_EXCHANGE_STREAMING);
    MHD_suspend_connection(exchange->connection);
    api_watch_add(exchange->exchanges->watch_fd, api_shard_socket(exchange->connection), exchange);
    return 0;
}

void api_mhd_stream_begin(struct api_request *request, const struct api_response *head)
{
    struct api_exchange *exchange = exchange_of_stream(request);
    assert(exchange->state == API_EXCHANGE_READING && exchange->response == NULL);
    exchange->response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_body, exchange, NULL);
    bool sent = exchange->response != NULL && api_exchange_add_fields(exchange->response, head);
    if (sent && exchange->in_chunks)
        sent =
            MHD_add_response_header(exchange->response, "Transfer-Encoding", "chunked") == MHD_YES;
    /* If there is no memory, libmicrohttpd calls again, and is told to close the connection. */
    if (sent)
        (void)MHD_queue_response(exchange->connection, head->status, exchange->response);
    api_exchange_move(exchange, API_EXCHANGE_OPENING);
}

/* Returns how many of @bytes the kernel takes now. */
static size_t write_some(const struct api_exchange *exchange, const char *bytes, size_t len)
{
    const int fd = api_shard_socket(exchange->connection);
    const struct api_connection *connection =
        api_connections_find(exchange->shard->shards->user.connections, fd);
    assert(connection != NULL);
    ssize_t sent;
    if (connection->session == NULL)
        sent = sendto(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    else
        sent = api_tls_session_write(connection->session, bytes, len);
    return sent > 0 ? (size_t)sent : 0;
}

/* TLS takes a record at a time. */
static size_t write_most(const struct api_exchange *exchange, const char *bytes, size_t len)
{
    size_t sent = 0;
    size_t more = 1;
    while (sent < len && more > 0) {
        more = write_some(exchange, bytes + sent, len - sent);
        sent += more;
    }
    return sent;
}

static enum api_sent send_unsent(struct api_exchange *exchange)
{
    if (exchange->unsent == NULL)
        return API_SENT_WHOLE;
    assert(exchange->unsent_at < exchange->unsent_len);
    const unsigned sent = (unsigned)write_most(exchange, exchange->unsent + exchange->unsent_at,
                                               exchange->unsent_len - exchange->unsent_at);
    exchange->unsent_at += sent;
    if (exchange->unsent_at < exchange->unsent_len)
        return sent > 0 ? API_SENT_KEPT : API_SENT_NONE;
    free(exchange->unsent);
    exchange->unsent = NULL;
    return API_SENT_WHOLE;
}

/* The bytes as they go over the wire. */
static size_t frame(const struct api_exchange *exchange, const char *bytes, size_t len,
                    char ret_framed[static API_STREAM_PIECE_MAX + CHUNK_FRAME_MAX])
{
    size_t at = 0;
    if (exchange->in_chunks)
        at = (size_t)snprintf(ret_framed, CHUNK_FRAME_MAX, "%zx\r\n", len);
    memcpy(ret_framed + at, bytes, len);
    at += len;
    if (exchange->in_chunks) {
        ret_framed[at++] = '\r';
        ret_framed[at++] = '\n';
    }
    return at;
}

/* Keeps the rest of a piece. If there is no memory, the stream cannot continue after half a piece:
 * its connection ends, and the client reconnects. */
static enum api_sent keep_unsent(struct api_exchange *exchange, const char *rest, size_t len)
{
    assert(exchange->unsent == NULL && len > 0);
    exchange->unsent = malloc(len);
    if (exchange->unsent == NULL) {
        (void)shutdown(api_shard_socket(exchange->connection), SHUT_RDWR);
        return API_SENT_NONE;
    }
    memcpy(exchange->unsent, rest, len);
    exchange->unsent_at = 0;
    exchange->unsent_len = (unsigned)len;
    return API_SENT_KEPT;
}

enum api_sent api_mhd_stream_send(struct api_request *request, const char *bytes, size_t len)
{
    struct api_exchange *exchange = exchange_of_stream(request);
    char framed[API_STREAM_PIECE_MAX + CHUNK_FRAME_MAX];
    if (exchange->state != API_EXCHANGE_STREAMING)
        return API_SENT_NONE;
    assert(exchange->unsent == NULL || len == 0);
    if (len == 0)
        return send_unsent(exchange); /* a chunk without bytes would be the last one */
    const size_t framed_len = frame(exchange, bytes, len, framed);
    const size_t sent = write_most(exchange, framed, framed_len);
    return sent == framed_len ? API_SENT_WHOLE
                              : keep_unsent(exchange, framed + sent, framed_len - sent);
}

void api_mhd_stream_end(struct api_request *request)
{
    struct api_exchange *exchange = exchange_of_stream(request);
    exchange->ends = true;
    exchange->shard->due = API_SHARD_ANSWER_ROUNDS;
    if (exchange->state == API_EXCHANGE_GONE) {
        api_exchange_free(exchange);
        return;
    }
    if (exchange->state != API_EXCHANGE_STREAMING)
        return; /* the head is being sent, and the end follows it */
    api_watch_remove(exchange->exchanges->watch_fd, api_shard_socket(exchange->connection));
    if (send_unsent(exchange) !=
        API_SENT_WHOLE) /* text of libmicrohttpd must not come in the middle of a piece */
        (void)shutdown(api_shard_socket(exchange->connection), SHUT_RDWR);
    api_exchange_move(exchange, API_EXCHANGE_SENT);
    MHD_resume_connection(exchange->connection);
}
