/* The life of the connection to one master. */
#include "storage/redis/master.h"

#include "storage/redis/batch.h"
#include "storage/redis/connection.h"
#include "storage/redis/text.h"
#include "storage/redis/uv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static void open_link(struct storage_redis_master *master);

/* ---- closing and trying again ---------------------------------------------------------------- */

static void on_backoff_over(uv_timer_t *timer)
{
    open_link(timer->data);
}

/* Half of the delay is random, so that servers do not come back in step. */
static uint64_t backoff_ms(unsigned failures)
{
    uint64_t delay_ms = (uint64_t)STORAGE_BACKOFF_MIN_MS << (failures < 8 ? failures : 8);
    if (delay_ms > STORAGE_BACKOFF_MAX_MS)
        delay_ms = STORAGE_BACKOFF_MAX_MS;
    return delay_ms / 2 + randombytes_uniform((uint32_t)delay_ms / 2 + 1);
}

/* Everything of the old connection ends here, before the next begins: the requests that were not
 * sent, and, through hiredis, those that were not answered. */
static void close_link(struct storage_redis_master *master)
{
    redisAsyncContext *context = master->context;
    master->context = NULL;
    master->awaited = 0;
    master->reset_wanted = false;
    if (context)
        redisAsyncFree(context);
    uv_timer_stop(&master->sweeper);
    storage_master_stop_listening(master);
    struct storage_batch *batch = master->batch;
    master->batch = NULL;
    if (batch && master->state != LINK_CLOSED)
        storage_master_announce(master);
    for (unsigned i = 0; batch && master->state != LINK_CLOSED && i < batch->count; i++) {
        struct fence_reply lost = storage_batch_reply(batch, i, NULL, NULL);
        master->config.events.reply(master->config.events.context, master->config.index, &lost);
    }
    free(batch);
    storage_batch_clear(&master->writer);
}

static void try_again_later(struct storage_redis_master *master)
{
    master->state = LINK_BACKOFF;
    close_link(master);
    uv_timer_start(&master->timer, on_backoff_over, backoff_ms(master->failures++), 0);
}

void storage_master_fail(struct storage_redis_master *master, enum fence_reason reason,
                         const char *detail)
{
    if (master->state == LINK_BACKOFF || master->state == LINK_CLOSED)
        return;
    storage_text_show(master->detail, sizeof(master->detail), detail, strlen(detail));
    master->state = LINK_BACKOFF;
    master->config.events.down(master->config.events.context, master->config.index, reason);
    try_again_later(master);
}

void storage_master_broke(struct storage_redis_master *master, const redisContext *connection)
{
    const char *wrong = storage_replies_wrong(connection);
    if (wrong)
        storage_master_fail(master, FENCE_REASON_ERROR, wrong);
    else
        storage_master_fail(master, FENCE_REASON_UNREACHABLE,
                            connection->err ? connection->errstr : "closed");
}

void storage_master_refused(struct storage_redis_master *master, const redisReply *reply)
{
    const char *why = reply->type == REDIS_REPLY_ERROR ? reply->str : "an unexpected reply";
    if (storage_reply_changed(reply, &why))
        storage_master_fail(master, FENCE_REASON_CHANGED, why);
    else if (storage_reply_unwilling(reply))
        storage_master_fail(master, FENCE_REASON_UNWILLING, why);
    else
        storage_master_fail(master, FENCE_REASON_ERROR, why);
}

void storage_redis_master_reset(struct storage_redis_master *master)
{
    master->reset_wanted = true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void on_deadline(uv_timer_t *timer)
{
    storage_master_fail(timer->data, FENCE_REASON_SILENT, "the handshake was not answered in time");
}

void storage_master_set_deadline(struct storage_redis_master *master)
{
    uv_timer_start(&master->timer, on_deadline, STORAGE_HANDSHAKE_DEADLINE_MS, 0);
}

/* hiredis frees a context whose connection could not be made, or broke, by itself. */
static void on_connected(const redisAsyncContext *context, int status)
{
    struct storage_redis_master *master = context->data;
    if (master->context != context)
        return;
    if (status == REDIS_OK) {
        storage_master_shake_hands(master);
        return;
    }
    master->context = NULL;
    storage_master_broke(master, &context->c);
}

static void on_disconnected(const redisAsyncContext *context, int status)
{
    struct storage_redis_master *master = context->data;
    (void)status;
    if (master->context != context)
        return;
    master->context = NULL;
    storage_master_broke(master, &context->c);
}

static void adopt(struct storage_redis_master *master, redisAsyncContext *context)
{
    if (!context || context->err) {
        char detail[STORAGE_DETAIL_MAX];
        snprintf(detail, sizeof(detail), "%s", context ? context->errstr : "out of memory");
        if (context)
            redisAsyncFree(context);
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, detail);
        return;
    }
    if (storage_redis_uv_attach(context, master->config.loop, STORAGE_REPLIES_TO_QUESTIONS) != 0) {
        redisAsyncFree(context);
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, "out of memory or descriptors");
        return;
    }
    master->context = context;
    master->state = LINK_CONNECTING;
    context->data = master;
    context->c.reader->maxbuf = STORAGE_REPLY_BUFFER;
    redisAsyncSetConnectCallback(context, on_connected);
    redisAsyncSetDisconnectCallback(context, on_disconnected);
}

static void free_if_done(struct storage_redis_master *master)
{
    if (master->handles > 0 || master->resolving)
        return;
    storage_master_free_batches(master);
    storage_batch_writer_fini(&master->writer);
    free(master);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct storage_redis_master *master = request->data;
    master->resolving = false;
    char ip[INET6_ADDRSTRLEN] = "";
    if (status == 0)
        uv_ip_name(found->ai_addr, ip, sizeof(ip));
    uv_freeaddrinfo(found);

    if (master->state == LINK_CLOSED) {
        free_if_done(master);
        return;
    }
    if (master->state != LINK_RESOLVING)
        return; /* the handshake's deadline came first */
    if (status < 0)
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, uv_strerror(status));
    else
        adopt(master, redisAsyncConnect(ip, master->config.url.port));
}

/* A name is resolved off the loop: hiredis would block in it. */
static void resolve(struct storage_redis_master *master)
{
    master->state = LINK_RESOLVING;
    if (master->resolving)
        return; /* an earlier try's answer is as good */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int status = uv_getaddrinfo(master->config.loop, &master->resolve, on_resolved,
                                master->config.url.host, NULL, &hints);
    master->resolving = status == 0;
    if (status != 0)
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, uv_strerror(status));
}

static void open_link(struct storage_redis_master *master)
{
    const struct storage_redis_url *url = &master->config.url;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    storage_master_set_deadline(master);
    master->state = LINK_CONNECTING;
    if (url->path[0])
        adopt(master, redisAsyncConnectUnix(url->path));
    else if (uv_ip4_addr(url->host, 0, &ipv4) == 0 || uv_ip6_addr(url->host, 0, &ipv6) == 0)
        adopt(master, redisAsyncConnect(url->host, url->port));
    else
        resolve(master);
}

void storage_master_ready(struct storage_redis_master *master)
{
    master->state = LINK_READY;
    master->ready_ns = uv_hrtime();
    storage_master_keep_looking(master);
    storage_master_listen(master);
    master->config.events.facts(master->config.events.context, master->config.index,
                                &master->reading.facts);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

int storage_redis_master_new(const struct storage_redis_config *config,
                             struct storage_redis_master **ret_master)
{
    assert(config->index < config->members && config->members <= FENCE_MASTERS_MAX);
    struct storage_redis_master *master = calloc(1, sizeof(*master));
    if (!master)
        return FENCE_ENOMEM;
    int error = storage_batch_writer_init(&master->writer);
    if (error) {
        free(master);
        return error;
    }
    master->config = *config;
    master->resolve.data = master;
    uv_timer_init(config->loop, &master->timer);
    uv_timer_init(config->loop, &master->sweeper);
    master->timer.data = master;
    master->sweeper.data = master;
    master->handles = 2;
    uv_timer_start(&master->timer, on_backoff_over, 0, 0);
    *ret_master = master;
    return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct storage_redis_master *master = handle->data;
    master->handles--;
    free_if_done(master);
}

void storage_redis_master_free(struct storage_redis_master *master)
{
    if (!master)
        return;
    master->state = LINK_CLOSED;
    close_link(master);
    if (master->resolving)
        uv_cancel((uv_req_t *)&master->resolve);
    uv_close((uv_handle_t *)&master->timer, on_timer_closed);
    uv_close((uv_handle_t *)&master->sweeper, on_timer_closed);
}

/* Whether another script call may be sent now, beside those that are on their way. */
static bool may_call(const struct storage_redis_master *master)
{
    if (master->awaited == 0)
        return true;
    return master->awaited < STORAGE_CALLS_AT_A_TIME &&
           uv_hrtime() - master->called_ns > STORAGE_FAR_US * UINT64_C(1000);
}

bool storage_redis_master_could_send(const struct storage_redis_master *master)
{
    return master->batch && (master->reset_wanted || may_call(master));
}

void storage_redis_master_flush(struct storage_redis_master *master)
{
    /* Before a reset everything goes out: clean-ups reach a master that was only paused behind what
     * they clean up. */
    if (storage_redis_master_could_send(master))
        storage_master_seal(master);
    if (master->context)
        storage_redis_uv_flush(master->context);
    if (master->reset_wanted)
        try_again_later(master);
}

const char *storage_redis_master_detail(const struct storage_redis_master *master)
{
    return master->detail;
}

uint64_t storage_redis_master_round_trip_us(const struct storage_redis_master *master)
{
    return master->round_trip_us;
}
