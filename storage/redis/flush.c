/* Requests on the connection to one master: gathered over a turn, sent as one script call, and
 * their replies handed out in order. */
#include "storage/redis/connection.h"
#include "storage/redis/rejoin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct storage_batch *take_batch(struct storage_redis_master *master)
{
    struct storage_batch *batch = master->spare;
    if (batch)
        master->spare = batch->next;
    else
        batch = malloc(sizeof(*batch));
    assert(batch); /* a few KB: without them hiredis and libuv would be at their end too */
    batch->count = 0;
    batch->locks = 0;
    batch->reply = NULL;
    return batch;
}

static void put_batch(struct storage_redis_master *master, struct storage_batch *batch)
{
    if (batch->reply)
        freeReplyObject(batch->reply);
    batch->next = master->spare;
    master->spare = batch;
}

void storage_master_free_batches(struct storage_redis_master *master)
{
    while (master->spare) {
        struct storage_batch *batch = master->spare;
        master->spare = batch->next;
        free(batch);
    }
}

void storage_master_announce(const struct storage_redis_master *master)
{
    const struct storage_master_events *events = &master->config.events;
    if (events->batch)
        events->batch(events->context);
}

/* @known: where the call was refused for its view, what that master knows. */
static void hand_out(const struct storage_redis_master *master, const struct storage_batch *batch,
                     const redisReply *reply, const struct fence_view *known)
{
    const struct storage_master_events *events = &master->config.events;
    struct storage_reply_text text;
    storage_master_announce(master);
    for (unsigned i = 0; i < batch->count; i++) {
        struct fence_reply one = storage_batch_reply(batch, i, reply, &text);
        if (known) {
            one.kind = FENCE_REPLY_STALE;
            one.view = known;
        }
        events->reply(events->context, master->config.index, &one);
    }
}

static bool takes_locks(const struct storage_batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++)
        if (batch->expected[i].kind == FENCE_REQUEST_TAKE)
            return true;
    return false;
}

/* One that answered so takes writes, at least at times; but it may be one that soon refuses again.
 */
static bool is_steady(const struct storage_redis_master *master, const struct storage_batch *batch)
{
    return takes_locks(batch) &&
           batch->sent_ns - master->ready_ns > STORAGE_STEADY_MS * UINT64_C(1000000);
}

/* The call as a whole was refused (no marker, no such script), or this master takes no writes. A
 * new handshake finds out more; until it ended well and locks were asked for without such an answer
 * for a while, the backoff grows. */
static void look_again_if_refused(struct storage_redis_master *master,
                                  const struct storage_batch *batch, const redisReply *reply)
{
    const char *why = NULL;
    if (reply->type == REDIS_REPLY_ERROR)
        storage_master_refused(master, reply);
    else if (reply->type != REDIS_REPLY_ARRAY)
        storage_master_fail(master, FENCE_REASON_ERROR, "an unexpected reply");
    else if (storage_batch_unwilling(reply, &why))
        storage_master_fail(master, FENCE_REASON_UNWILLING, why);
    else if (is_steady(master, batch))
        master->failures = 0;
}

/* Another server took this master back meanwhile. Whether it is durable now is in its new marker.
 */
static bool is_admitted_anew(const struct storage_redis_master *master,
                             const struct fence_view *known)
{
    unsigned me = master->config.index;
    return known->incarnation[me] != master->reading.facts.view.incarnation[me];
}

static void batch_answered(struct storage_redis_master *master, struct storage_batch *batch,
                           const redisAsyncContext *context, const redisReply *reply)
{
    bool current = master->context == context && master->state == LINK_READY;
    if (master->context == context)
        master->awaited--;
    if (current && !reply)
        storage_master_broke(master, &context->c);
    if (current && reply)
        master->round_trip_us = (uv_hrtime() - batch->sent_ns) / 1000;
    struct fence_view known;
    bool stale = reply && storage_view_refused(reply, master->config.members, &known);
    if (master->state != LINK_CLOSED)
        hand_out(master, batch, reply, stale ? &known : NULL);
    if (current && reply && !stale)
        look_again_if_refused(master, batch, reply);
    else if (current && stale && is_admitted_anew(master, &known))
        storage_master_fail(master, FENCE_REASON_CHANGED, "Its marker was written anew.");
    put_batch(master, batch);
}

static void on_batch_reply(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_batch *batch = privdata;
    redisReply *reply = data;
    if (!batch->judged)
        batch_answered(context->data, batch, context, reply);
    else if (reply)
        batch->reply = storage_reply_take(reply);
}

/* The votes of a master that its marker calls durable, and that is not by now, do not count: what
 * it wrote may be forgotten. It gives its reason in the next handshake. */
static void on_judged(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_redis_master *master = context->data;
    struct storage_batch *batch = privdata;
    const redisReply *reply = data;
    bool counts = reply && storage_durable_reply(reply);
    if (reply && !counts && master->context == context && master->state == LINK_READY)
        storage_master_fail(master, FENCE_REASON_CHANGED, "Its persistence changed.");
    batch_answered(master, batch, context, counts ? batch->reply : NULL);
}

/* The script cannot see CONFIG, so the question goes behind it, in the same pipeline. */
static void ask_whether_durable(struct storage_redis_master *master, struct storage_batch *batch)
{
    size_t len = 0;
    const char *command = storage_durable_command(&len);
    int status = redisAsyncFormattedCommand(master->context, on_judged, batch, command, len);
    assert(status == REDIS_OK);
}

void storage_master_seal(struct storage_redis_master *master)
{
    struct storage_batch *batch = master->batch;
    const struct storage_batch_terms terms = {
        .sha = master->sha,
        .view = master->view,
        .fleet_id = master->reading.facts.fleet_id,
        .member = master->config.index + 1,
    };
    size_t len = 0;
    const char *command = storage_batch_command(&master->writer, batch, &terms, &len);
    master->batch = NULL;
    batch->sent_ns = uv_hrtime();
    master->called_ns = batch->sent_ns;
    master->awaited++;
    int status = redisAsyncFormattedCommand(master->context, on_batch_reply, batch, command, len);
    assert(status == REDIS_OK); /* refused only on a connection that is being closed */
    batch->judged = master->reading.facts.marked_durable;
    if (batch->judged)
        ask_whether_durable(master, batch);
}

void storage_redis_master_submit(struct storage_redis_master *master,
                                 const struct storage_request *request,
                                 const struct fence_view *view, uint64_t generation)
{
    assert(master->state == LINK_READY);
    struct storage_batch *batch = master->batch;
    if (batch && (!storage_batch_fits(batch, request) || generation != master->generation))
        storage_master_seal(master);
    if (!master->batch) {
        master->batch = take_batch(master);
        if (generation != master->generation || master->view[0] == '\0')
            fence_view_format(view, master->config.members, master->view);
        master->generation = generation;
    }
    storage_batch_add(&master->writer, master->batch, request);
}
