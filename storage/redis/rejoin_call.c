#include "storage/redis/rejoin_call.h"

#include "storage/redis/note_process_counts.h"
#include "storage/redis/rejoin.h"

#include <assert.h>
#include <stdlib.h>

/* A step without a reply so far, and room for what the reply brings. */
struct pending {
    const struct storage_session *session;
    enum fence_rejoin_step step;
    uint64_t tag;
    struct fence_view view;
};

static void hand_out_step(struct pending *pending, const redisReply *reply)
{
    const struct storage_session *session = pending->session;
    const struct storage_master_events *events = session->events;
    struct fence_rejoin_reply read =
        storage_rejoin_reply(pending->step, reply, session->members, &pending->view);
    read.tag = pending->tag;
    if (events->rejoin)
        events->rejoin(events->context, session->index, &read);
}

static void on_rejoin_reply(redisAsyncContext *context, void *data, void *privdata)
{
    struct pending *pending = privdata;
    const struct storage_session *session = pending->session;
    struct storage_connection *connection = session->connection;
    const redisReply *reply = data;
    bool current = storage_connection_is(connection, context, STORAGE_LINK_READY);
    if (current && !reply)
        storage_connection_broke(connection, &context->c);
    if (connection->link != STORAGE_LINK_CLOSED)
        hand_out_step(pending, reply);
    struct fence_view unused;
    if (current && reply && reply->type == REDIS_REPLY_ERROR &&
        !storage_view_refused(reply, session->members, &unused))
        storage_connection_refused(connection, reply);
    free(pending);
}

void storage_rejoin_send(struct storage_session *session,
                         const struct fence_rejoin_request *request)
{
    char *command = NULL;
    size_t len = 0;
    struct pending *pending = malloc(sizeof(*pending));
    int error =
        pending ? storage_rejoin_command(request, session->index, session->members, &command, &len)
                : FENCE_ENOMEM;
    if (error) { /* no reply comes: the core's timeout ends the step */
        free(pending);
        return;
    }
    session->leads = session->leads || request->step == FENCE_REJOIN_MARK;
    pending->session = session;
    pending->step = request->step;
    pending->tag = request->tag;
    int status = redisAsyncFormattedCommand(session->connection->context, on_rejoin_reply, pending,
                                            command, len);
    assert(status == REDIS_OK); /* refused only on a connection that is being closed */
    redisFreeCommand(command);
    if (request->step == FENCE_REJOIN_MARK && /* a reset is to show from the mark on */
        !storage_note_process_counts(session->connection, request->fleet_id, request->member + 1))
        storage_connection_reset(session->connection);
}
