#include "storage/redis/subscribe.h"

#include "storage/redis/auth.h"
#include "storage/redis/keys.h"
#include "storage/redis/tls.h"
#include "storage/redis/uv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* NULL: its master has closed the listener, and takes no more messages. */
static struct storage_listener *listener_of(const redisAsyncContext *context)
{
    return context->data;
}

/* "<lock id>:<resource>"; anything else was not written by Pawl. */
static void tell_released(const struct storage_listener *listener, const char *payload)
{
    const struct storage_master_events *events = listener->session->events;
    assert(events->released);
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    size_t id_len = strcspn(payload, ":");
    const char *resource = payload + id_len + 1;
    if (id_len == 0 || id_len > FENCE_LOCK_ID_MAX || payload[id_len] == '\0' ||
        strlen(resource) > FENCE_RESOURCE_MAX)
        return;
    memcpy(lock_id, payload, id_len);
    lock_id[id_len] = '\0';
    events->released(events->context, lock_id, resource);
}

static void on_published(redisAsyncContext *context, void *data, void *unused)
{
    const redisReply *reply = data;
    (void)unused;
    if (listener_of(context) && reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply->element[2]->type == REDIS_REPLY_STRING)
        tell_released(listener_of(context), reply->element[2]->str);
}

static void on_listener_connected(const redisAsyncContext *context, int status)
{
    if (listener_of(context) && status != REDIS_OK)
        listener_of(context)->context = NULL; /* hiredis frees it */
}

/* A message that no Redis publishes is as wrong as an answer that no Redis gives: the master is
 * probed again. */
static void on_listener_disconnected(const redisAsyncContext *context, int status)
{
    struct storage_listener *listener = listener_of(context);
    (void)status;
    if (!listener)
        return;
    listener->context = NULL;
    if (storage_replies_wrong(&context->c))
        storage_connection_broke(listener->session->connection, &context->c);
}

/* To where the first connection leads by now: a name may be another machine's meanwhile. */
static redisAsyncContext *connect_like(const redisContext *first)
{
    return first->connection_type == REDIS_CONN_UNIX
               ? redisAsyncConnectUnix(first->unix_sock.path)
               : redisAsyncConnect(first->tcp.host, first->tcp.port);
}

static bool begin_tls(const struct storage_redis_url *url, redisAsyncContext *context)
{
    char why[STORAGE_TLS_WHY_MAX]; /* the first connection tells the same */
    return !url->is_tls || storage_tls_start(url->tls, url->host, &context->c, why) == 0;
}

/* Without this it would stand, and hear nothing. The next probe opens another one. */
static void on_listener_authenticated(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_listener *listener = listener_of(context);
    const redisReply *reply = data;
    (void)unused;
    if (!listener || !reply || reply->type != REDIS_REPLY_ERROR)
        return;
    storage_auth_refused(listener->session->connection->config.url);
    storage_listener_close(listener);
}

static bool subscribe(const struct storage_redis_url *url, redisAsyncContext *context)
{
    const char *args[STORAGE_AUTH_ARGS];
    const int n = storage_auth_args(url, args);
    if (n > 0 &&
        redisAsyncCommandArgv(context, on_listener_authenticated, NULL, n, args, NULL) != REDIS_OK)
        return false;
    return redisAsyncCommand(context, on_published, NULL, "SUBSCRIBE " STORAGE_RELEASED_CHANNEL) ==
           REDIS_OK;
}

void storage_listener_open(struct storage_listener *listener)
{
    const struct storage_connection *first = listener->session->connection;
    const struct storage_redis_url *url = first->config.url;
    if (!listener->session->events->released || listener->context)
        return;
    assert(first->link == STORAGE_LINK_READY && first->context);
    redisAsyncContext *context = connect_like(&first->context->c);
    if (!context)
        return;
    if (context->err || !begin_tls(url, context) ||
        storage_redis_uv_attach(context, first->config.loop, STORAGE_REPLIES_TO_LISTENER) != 0) {
        redisAsyncFree(context);
        return;
    }
    context->data = listener;
    redisAsyncSetConnectCallback(context, on_listener_connected);
    redisAsyncSetDisconnectCallback(context, on_listener_disconnected);
    listener->context = context;
    if (!subscribe(url, context))
        storage_listener_close(listener);
    else
        storage_redis_uv_flush(context);
}

void storage_listener_close(struct storage_listener *listener)
{
    redisAsyncContext *context = listener->context;
    if (!context)
        return;
    assert(context->data == listener);
    listener->context = NULL;
    context->data = NULL;
    redisAsyncFree(context);
}
