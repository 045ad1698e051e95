#include "storage/redis/subscribe.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
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

/* The words before the resource, which may have a ':' itself. */
enum {
    WAITED,
    TICKET,
    LOCK_ID,
    KEY_ID,
    PLACE_WORDS,
    WORD_MAX = FENCE_LOCK_ID_MAX > FENCE_KEY_ID_MAX ? FENCE_LOCK_ID_MAX : FENCE_KEY_ID_MAX,
};

static bool read_word(const char *word, uint64_t most, uint64_t *ret_number)
{
    return fence_decimal_read(word, strlen(word), most, ret_number);
}

/* "<waited us>:<ticket>:<lock id>:<key id>:<resource>"; anything else was not written by Pawl. */
static void hear_place(const struct storage_listener *listener, const char *payload)
{
    const struct storage_master_events *events = listener->session->events;
    char words[PLACE_WORDS][WORD_MAX + 1], owner[WORD_MAX + 2] = "";
    uint64_t waited_us = 0, ticket = 0;
    for (unsigned w = 0; w < PLACE_WORDS; w++) {
        const size_t len = strcspn(payload, ":");
        if (len > WORD_MAX || payload[len] == '\0')
            return;
        memcpy(words[w], payload, len);
        words[w][len] = '\0';
        payload += len + 1;
    }
    const size_t key_len = strlen(words[KEY_ID]);
    if (!read_word(words[WAITED], UINT64_MAX, &waited_us) ||
        !read_word(words[TICKET], FENCE_TOKEN_MAX, &ticket) || ticket == 0 ||
        !fence_lock_id_valid(words[LOCK_ID], strlen(words[LOCK_ID])) ||
        (key_len > 0 && !fence_key_id_valid(words[KEY_ID], key_len)) ||
        !fence_resource_valid(payload, strlen(payload)))
        return;
    if (key_len > 0)
        (void)snprintf(owner, sizeof(owner), "%c%s", FENCE_OWNER_SEPARATOR, words[KEY_ID]);
    events->place(events->context, &(struct fence_place){.resource = payload,
                                                         .lock_id = words[LOCK_ID],
                                                         .owner = owner,
                                                         .ticket = (int64_t)ticket,
                                                         .waited_us = waited_us});
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

/* No lock id is empty. */
static void tell_message(const struct storage_listener *listener, const char *payload)
{
    if (payload[0] != ':')
        tell_released(listener, payload);
    else if (listener->session->events->place)
        hear_place(listener, payload + 1);
}

static void on_published(redisAsyncContext *context, void *data, void *unused)
{
    const redisReply *reply = data;
    (void)unused;
    if (listener_of(context) && reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply->element[2]->type == REDIS_REPLY_STRING)
        tell_message(listener_of(context), reply->element[2]->str);
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

/* Connects to the current address of the first connection: the name may now be another
 * machine's. */
static redisAsyncContext *connect_like(const redisContext *first)
{
    return first->connection_type == REDIS_CONN_UNIX
               ? redisAsyncConnectUnix(first->unix_sock.path)
               : redisAsyncConnect(first->tcp.host, first->tcp.port);
}

static bool begin_tls(const struct storage_redis_url *url, redisAsyncContext *context)
{
    char why[STORAGE_TLS_WHY_MAX]; /* the first connection reports the same */
    return !url->is_tls || storage_tls_start(url->tls, url->host, &context->c, why) == 0;
}

/* Without this the connection would stand, and hear nothing. The next probe opens another one. */
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
