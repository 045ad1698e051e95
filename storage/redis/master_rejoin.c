/* The steps of taking masters back, on the connection to one of them. They are rare, so each is
 * sent by itself, as a script in full. */
#include "storage/redis/connection.h"
#include "storage/redis/rejoin.h"

#include <assert.h>
#include <stdlib.h>

/* A step without a reply so far, and room for what the reply brings. */
struct pending {
    enum fence_rejoin_step step;
    uint64_t tag;
    struct fence_view view;
};

static void hand_out(const struct storage_redis_master *master, struct pending *pending,
                     const redisReply *reply)
{
    const struct storage_master_events *events = &master->config.events;
    struct fence_rejoin_reply read =
        storage_rejoin_reply(pending->step, reply, master->config.members, &pending->view);
    read.tag = pending->tag;
    if (events->rejoin)
        events->rejoin(events->context, master->config.index, &read);
}

static void on_rejoin_reply(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_redis_master *master = context->data;
    struct pending *pending = privdata;
    const redisReply *reply = data;
    bool current = master->context == context && master->state == LINK_READY;
    if (current && !reply)
        storage_master_broke(master, &context->c);
    if (master->state != LINK_CLOSED)
        hand_out(master, pending, reply);
    struct fence_view unused;
    if (current && reply && reply->type == REDIS_REPLY_ERROR &&
        !storage_view_refused(reply, master->config.members, &unused))
        storage_master_refused(master, reply);
    free(pending);
}

void storage_redis_master_rejoin(struct storage_redis_master *master,
                                 const struct fence_rejoin_request *request)
{
    assert(master->state == LINK_READY);
    char *command = NULL;
    size_t len = 0;
    struct pending *pending = malloc(sizeof(*pending));
    int error = pending ? storage_rejoin_command(request, NULL, master->config.index,
                                                 master->config.members, &command, &len)
                        : FENCE_ENOMEM;
    if (error) { /* no reply: the fence's patience ends it */
        free(pending);
        return;
    }
    if (master->batch)
        storage_master_seal(master); /* what was asked before goes before */
    master->leads = master->leads || request->step == FENCE_REJOIN_MARK;
    pending->step = request->step;
    pending->tag = request->tag;
    int status =
        redisAsyncFormattedCommand(master->context, on_rejoin_reply, pending, command, len);
    assert(status == REDIS_OK); /* refused only on a connection that is being closed */
    redisFreeCommand(command);
}

void storage_redis_master_shake(struct storage_redis_master *master)
{
    assert(master->state == LINK_READY);
    if (master->batch)
        storage_master_seal(master);
    storage_master_set_deadline(master);
    storage_master_shake_hands(master);
}
