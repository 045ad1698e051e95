#include "storage/redis/connection.h"

#include "storage/backoff.h"
#include "storage/master.h"
#include "storage/redis/batch.h"
#include "storage/redis/replies.h"
#include "storage/redis/reply_text.h"
#include "storage/redis/tls.h"
#include "storage/redis/uv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- the link -------------------------------------------------------------------------------- */

#define LINK(state) (1U << STORAGE_LINK_##state)

/* The moves that a link may make from each state. A reset may come while the link is down: then it
 * waits again. */
static const unsigned link_allowed[] = {
    [STORAGE_LINK_BACKOFF] = LINK(RESOLVING) | LINK(CONNECTING) | LINK(BACKOFF) | LINK(CLOSED),
    [STORAGE_LINK_RESOLVING] = LINK(CONNECTING) | LINK(BACKOFF) | LINK(CLOSED),
    [STORAGE_LINK_CONNECTING] = LINK(HANDSHAKE) | LINK(BACKOFF) | LINK(CLOSED),
    [STORAGE_LINK_HANDSHAKE] = LINK(HANDSHAKE) | LINK(READY) | LINK(BACKOFF) | LINK(CLOSED),
    [STORAGE_LINK_READY] = LINK(HANDSHAKE) | LINK(BACKOFF) | LINK(CLOSED),
    [STORAGE_LINK_CLOSED] = 0,
};

static void link_move(struct storage_connection *connection, enum storage_link to)
{
    assert(link_allowed[connection->link] & (1U << to));
    connection->link = to;
}

static bool has_context(enum storage_link link)
{
    return link == STORAGE_LINK_CONNECTING || link == STORAGE_LINK_HANDSHAKE ||
           link == STORAGE_LINK_READY;
}

bool storage_connection_is(const struct storage_connection *connection,
                           const redisAsyncContext *context, enum storage_link link)
{
    return connection->context == context && connection->link == link;
}

/* ---- closing and trying again ---------------------------------------------------------------- */

static void open_link(struct storage_connection *connection);

static void on_backoff_over(uv_timer_t *timer)
{
    const struct storage_connection *connection = timer->data;
    assert(connection->link == STORAGE_LINK_BACKOFF && !connection->context);
    open_link(timer->data);
}

/* Ends the old connection completely, before the next one begins. hiredis ends the unanswered
 * requests, and the owner the unsent ones. */
static void end_link(struct storage_connection *connection)
{
    redisAsyncContext *context = connection->context;
    assert(connection->link == STORAGE_LINK_BACKOFF || connection->link == STORAGE_LINK_CLOSED);
    connection->context = NULL;
    connection->reset_wanted = false;
    if (context)
        redisAsyncFree(context);
    connection->config.events.ended(connection->config.events.context);
}

static void try_again_later(struct storage_connection *connection)
{
    assert(connection->link == STORAGE_LINK_BACKOFF);
    end_link(connection);
    uv_timer_start(&connection->timer, on_backoff_over, storage_backoff_ms(connection->failures++),
                   0);
}

void storage_connection_fail(struct storage_connection *connection, enum fence_reason reason,
                             const char *detail)
{
    if (connection->link == STORAGE_LINK_BACKOFF || connection->link == STORAGE_LINK_CLOSED)
        return;
    storage_reply_text_show(connection->detail, sizeof(connection->detail), detail, strlen(detail));
    link_move(connection, STORAGE_LINK_BACKOFF);
    connection->config.events.failed(connection->config.events.context, reason);
    try_again_later(connection);
}

void storage_connection_broke(struct storage_connection *connection, const redisContext *broken)
{
    const char *wrong = storage_replies_wrong(broken);
    char tls_wrong[STORAGE_DETAIL_MAX];
    if (wrong)
        storage_connection_fail(connection, FENCE_REASON_ERROR, wrong);
    else if (storage_tls_wrong(broken, tls_wrong, sizeof(tls_wrong)))
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE, tls_wrong);
    else
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE,
                                broken->err ? broken->errstr : "closed");
}

void storage_connection_refused(struct storage_connection *connection, const redisReply *reply)
{
    const char *why =
        reply->type == REDIS_REPLY_ERROR ? storage_reply_words(reply) : "an unexpected reply";
    if (storage_reply_changed(reply, &why))
        storage_connection_fail(connection, FENCE_REASON_CHANGED, why);
    else if (storage_reply_unwilling(reply))
        storage_connection_fail(connection, FENCE_REASON_UNWILLING, why);
    else
        storage_connection_fail(connection, FENCE_REASON_ERROR, why);
}

void storage_connection_reset(struct storage_connection *connection)
{
    connection->reset_wanted = true;
}

void storage_connection_flush(struct storage_connection *connection)
{
    assert(!connection->context || has_context(connection->link));
    if (connection->context)
        storage_redis_uv_flush(connection->context);
    if (!connection->reset_wanted)
        return;
    link_move(connection, STORAGE_LINK_BACKOFF);
    try_again_later(connection);
}

void storage_connection_hurry(struct storage_connection *connection)
{
    connection->failures = 0;
    if (connection->link == STORAGE_LINK_BACKOFF)
        uv_timer_start(&connection->timer, on_backoff_over, 0, 0);
}

void storage_connection_steady(struct storage_connection *connection)
{
    connection->failures = 0;
}

/* ---- the timer ------------------------------------------------------------------------------- */

static void on_deadline(uv_timer_t *timer)
{
    const struct storage_connection *connection = timer->data;
    assert(connection->link == STORAGE_LINK_RESOLVING ||
           connection->link == STORAGE_LINK_CONNECTING ||
           connection->link == STORAGE_LINK_HANDSHAKE);
    storage_connection_fail(timer->data, FENCE_REASON_SILENT,
                            "the handshake was not answered in time");
}

static void set_deadline(struct storage_connection *connection)
{
    uv_timer_start(&connection->timer, on_deadline, STORAGE_HANDSHAKE_DEADLINE_MS, 0);
}

static void on_due(uv_timer_t *timer)
{
    const struct storage_connection *connection = timer->data;
    assert(connection->link == STORAGE_LINK_READY && connection->context);
    connection->due(connection->due_context);
}

void storage_connection_every(struct storage_connection *connection, unsigned interval_ms,
                              void (*due)(void *context), void *context)
{
    assert(connection->link == STORAGE_LINK_READY);
    connection->due = due;
    connection->due_context = context;
    uv_timer_start(&connection->timer, on_due, 0, interval_ms);
}

/* ---- opening --------------------------------------------------------------------------------- */

void storage_connection_handshake(struct storage_connection *connection)
{
    assert(connection->context);
    set_deadline(connection);
    link_move(connection, STORAGE_LINK_HANDSHAKE);
}

void storage_connection_ready(struct storage_connection *connection)
{
    assert(connection->context);
    link_move(connection, STORAGE_LINK_READY);
    connection->ready_ns = uv_hrtime();
    uv_timer_stop(&connection->timer);
    connection->config.events.ready(connection->config.events.context);
}

/* hiredis itself frees a context whose connection failed or broke. */
static void on_connected(const redisAsyncContext *context, int status)
{
    struct storage_connection *connection = context->data;
    if (connection->context != context)
        return;
    if (status == REDIS_OK) {
        link_move(connection, STORAGE_LINK_HANDSHAKE);
        connection->config.events.connected(connection->config.events.context);
        return;
    }
    connection->context = NULL;
    storage_connection_broke(connection, &context->c);
}

static void on_disconnected(const redisAsyncContext *context, int status)
{
    struct storage_connection *connection = context->data;
    (void)status;
    if (connection->context != context)
        return;
    connection->context = NULL;
    storage_connection_broke(connection, &context->c);
}

/* Prepares @context, on which a connection was just begun. Returns false, and why, if it cannot be
 * used. */
static bool prepare(const struct storage_connection *connection, redisAsyncContext *context,
                    char ret_why[static STORAGE_TLS_WHY_MAX])
{
    const struct storage_redis_url *url = connection->config.url;
    const char *why = NULL;
    if (!context)
        why = "out of memory";
    else if (context->err)
        why = context->errstr;
    else if (url->is_tls && storage_tls_start(url->tls, url->host, &context->c, ret_why) != 0)
        return false;
    else if (storage_redis_uv_attach(context, connection->config.loop,
                                     STORAGE_REPLIES_TO_QUESTIONS) != 0)
        why = "out of memory or descriptors";
    if (why)
        snprintf(ret_why, STORAGE_TLS_WHY_MAX, "%s", why);
    return !why;
}

static void adopt(struct storage_connection *connection, redisAsyncContext *context)
{
    char why[STORAGE_TLS_WHY_MAX];
    assert(connection->link == STORAGE_LINK_CONNECTING && !connection->context);
    if (!prepare(connection, context, why)) {
        if (context)
            redisAsyncFree(context);
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE, why);
        return;
    }
    connection->context = context;
    context->data = connection;
    context->c.reader->maxbuf = STORAGE_REPLY_BUFFER;
    redisAsyncSetConnectCallback(context, on_connected);
    redisAsyncSetDisconnectCallback(context, on_disconnected);
}

static void connect_to(struct storage_connection *connection, const char *ip)
{
    const struct storage_redis_url *url = connection->config.url;
    assert(ip || url->path[0] != '\0');
    link_move(connection, STORAGE_LINK_CONNECTING);
    adopt(connection, ip ? redisAsyncConnect(ip, url->port) : redisAsyncConnectUnix(url->path));
}

static void tell_if_closed(const struct storage_connection *connection)
{
    assert(connection->link == STORAGE_LINK_CLOSED && !connection->context);
    if (!connection->timer_open && !connection->resolving)
        connection->config.events.closed(connection->config.events.context);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct storage_connection *connection = request->data;
    connection->resolving = false;
    char ip[INET6_ADDRSTRLEN] = "";
    if (status == 0)
        uv_ip_name(found->ai_addr, ip, sizeof(ip));
    uv_freeaddrinfo(found);

    if (connection->link == STORAGE_LINK_CLOSED) {
        tell_if_closed(connection);
        return;
    }
    if (connection->link != STORAGE_LINK_RESOLVING)
        return; /* the handshake's deadline came first */
    if (status < 0)
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE, uv_strerror(status));
    else
        connect_to(connection, ip);
}

/* A name is resolved off the loop: hiredis would block in it. */
static void resolve_master(struct storage_connection *connection)
{
    link_move(connection, STORAGE_LINK_RESOLVING);
    if (connection->resolving)
        return; /* the answer of an earlier try is as good */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int status = uv_getaddrinfo(connection->config.loop, &connection->resolve, on_resolved,
                                connection->config.url->host, NULL, &hints);
    connection->resolving = status == 0;
    if (status != 0)
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE, uv_strerror(status));
}

static void open_link(struct storage_connection *connection)
{
    const struct storage_redis_url *url = connection->config.url;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    set_deadline(connection);
    if (url->path[0])
        connect_to(connection, NULL);
    else if (uv_ip4_addr(url->host, 0, &ipv4) == 0 || uv_ip6_addr(url->host, 0, &ipv6) == 0)
        connect_to(connection, url->host);
    else
        resolve_master(connection);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

void storage_connection_open(struct storage_connection *connection,
                             const struct storage_connection_config *config)
{
    assert(connection->link == STORAGE_LINK_BACKOFF && !connection->timer_open);
    connection->config = *config;
    connection->resolve.data = connection;
    uv_timer_init(config->loop, &connection->timer);
    connection->timer.data = connection;
    connection->timer_open = true;
    uv_timer_start(&connection->timer, on_backoff_over, 0, 0);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct storage_connection *connection = handle->data;
    connection->timer_open = false;
    tell_if_closed(connection);
}

void storage_connection_close(struct storage_connection *connection)
{
    link_move(connection, STORAGE_LINK_CLOSED);
    end_link(connection);
    if (connection->resolving)
        uv_cancel((uv_req_t *)&connection->resolve);
    uv_close((uv_handle_t *)&connection->timer, on_timer_closed);
}
