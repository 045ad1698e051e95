/* A second connection to a master, for what it publishes: which locks were freed that somebody
 * waits for. It comes and goes with the first, and is opened anew with a later look if it ends. A
 * message may be lost with it: whoever waits looks for himself now and then. */
#include "storage/redis/connection.h"
#include "storage/redis/keys.h"
#include "storage/redis/uv.h"

#include <stdio.h>
#include <string.h>

/* NULL: the listener has been closed by its master, and nobody wants to hear of it any more. */
static struct storage_redis_master *master_of(const redisAsyncContext *context)
{
    return context->data;
}

/* "<lock id>:<resource>"; anything else was not written by Pawl. */
static void tell(const struct storage_redis_master *master, const char *payload)
{
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    size_t id_len = strcspn(payload, ":");
    const char *resource = payload + id_len + 1;
    if (id_len == 0 || id_len > FENCE_LOCK_ID_MAX || payload[id_len] == '\0' ||
        strlen(resource) > FENCE_RESOURCE_MAX)
        return;
    memcpy(lock_id, payload, id_len);
    lock_id[id_len] = '\0';
    master->config.events.freed(master->config.events.context, lock_id, resource);
}

static void on_message(redisAsyncContext *context, void *data, void *unused)
{
    const redisReply *reply = data;
    (void)unused;
    if (master_of(context) && reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply->element[2]->type == REDIS_REPLY_STRING)
        tell(master_of(context), reply->element[2]->str);
}

static void on_connected(const redisAsyncContext *context, int status)
{
    if (master_of(context) && status != REDIS_OK)
        master_of(context)->listener = NULL; /* hiredis frees it */
}

/* What no Redis publishes is as wrong as what no Redis answers: the master is looked at anew. */
static void on_disconnected(const redisAsyncContext *context, int status)
{
    struct storage_redis_master *master = master_of(context);
    (void)status;
    if (!master)
        return;
    master->listener = NULL;
    if (storage_replies_wrong(&context->c))
        storage_master_broke(master, &context->c);
}

/* To where the first connection leads by now: a name may be another machine's meanwhile. */
static redisAsyncContext *connect_like(const redisContext *first)
{
    return first->connection_type == REDIS_CONN_UNIX
               ? redisAsyncConnectUnix(first->unix_sock.path)
               : redisAsyncConnect(first->tcp.host, first->tcp.port);
}

static bool subscribe(struct storage_redis_master *master, redisAsyncContext *listener)
{
    const struct storage_redis_url *url = &master->config.url;
    if (url->password[0] && url->user[0] &&
        redisAsyncCommand(listener, NULL, NULL, "AUTH %s %s", url->user, url->password) != REDIS_OK)
        return false;
    if (url->password[0] && !url->user[0] &&
        redisAsyncCommand(listener, NULL, NULL, "AUTH %s", url->password) != REDIS_OK)
        return false;
    return redisAsyncCommand(listener, on_message, NULL, "SUBSCRIBE " STORAGE_FREED_CHANNEL) ==
           REDIS_OK;
}

void storage_master_listen(struct storage_redis_master *master)
{
    if (!master->config.events.freed || master->listener)
        return;
    redisAsyncContext *listener = connect_like(&master->context->c);
    if (!listener)
        return;
    if (listener->err ||
        storage_redis_uv_attach(listener, master->config.loop, STORAGE_REPLIES_TO_LISTENER) != 0) {
        redisAsyncFree(listener);
        return;
    }
    listener->data = master;
    redisAsyncSetConnectCallback(listener, on_connected);
    redisAsyncSetDisconnectCallback(listener, on_disconnected);
    master->listener = listener;
    if (!subscribe(master, listener))
        storage_master_stop_listening(master);
    else
        storage_redis_uv_flush(listener);
}

void storage_master_stop_listening(struct storage_redis_master *master)
{
    redisAsyncContext *listener = master->listener;
    if (!listener)
        return;
    master->listener = NULL;
    listener->data = NULL;
    redisAsyncFree(listener);
}
