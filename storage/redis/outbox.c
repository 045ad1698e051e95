#include "storage/redis/outbox.h"

#include "storage/redis/rejoin.h"
#include "storage/redis/requests_script.h"

#include <assert.h>
#include <stdlib.h>

static struct storage_batch *take_batch(struct storage_outbox *outbox)
{
    struct storage_batch *batch = outbox->spare;
    if (batch)
        outbox->spare = batch->next;
    else
        batch = calloc(1, sizeof(*batch));
    assert(batch); /* a few KB: without them hiredis and libuv would be at their end too */
    batch->count = 0;
    batch->locks = 0;
    batch->reply = NULL;
    batch->again = false;
    batch->command_len = 0;
    batch->owner = outbox;
    return batch;
}

static void free_batch(struct storage_batch *batch)
{
    if (batch)
        free(batch->command);
    free(batch);
}

static void put_batch(struct storage_outbox *outbox, struct storage_batch *batch)
{
    assert(batch->owner == outbox);
    if (batch->reply)
        freeReplyObject(batch->reply);
    batch->next = outbox->spare;
    outbox->spare = batch;
}

/* @known: where the call was refused for its view, what that master knows. @round_trip_us 0: it was
 * lost. */
static void hand_out(const struct storage_session *session, const struct storage_batch *batch,
                     const redisReply *reply, const struct fence_view *known,
                     uint64_t round_trip_us)
{
    const struct storage_master_events *events = session->events;
    struct storage_reply_text text;
    assert(batch->count > 0 && session->index < session->members);
    if (events->batch)
        events->batch(events->context, session->index, batch->count, round_trip_us);
    for (unsigned i = 0; i < batch->count; i++) {
        struct fence_reply one = storage_batch_reply(batch, i, reply, &text);
        if (known) {
            one.kind = FENCE_REPLY_STALE;
            one.view = known;
        }
        events->reply(events->context, session->index, &one);
    }
}

static bool takes_locks(const struct storage_batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++)
        if (batch->expected[i].kind == FENCE_REQUEST_TAKE)
            return true;
    return false;
}

/* A master that answered so takes writes, at least at times. But it may soon refuse again.
 */
static bool is_steady(const struct storage_connection *connection,
                      const struct storage_batch *batch)
{
    return takes_locks(batch) &&
           batch->sent_ns - connection->ready_ns > STORAGE_STEADY_MS * UINT64_C(1000000);
}

/* The call as a whole was refused (no marker, no such script), or this master takes no writes. A
 * new handshake finds out more. The backoff grows until it ended well, and locks were asked for
 * without such an answer for a while. */
static void look_again_if_refused(struct storage_connection *connection,
                                  const struct storage_batch *batch, const redisReply *reply)
{
    const char *why = NULL;
    if (reply->type == REDIS_REPLY_ERROR)
        storage_connection_refused(connection, reply);
    else if (reply->type != REDIS_REPLY_ARRAY)
        storage_connection_fail(connection, FENCE_REASON_ERROR, "an unexpected reply");
    else if (storage_batch_unwilling(reply, &why))
        storage_connection_fail(connection, FENCE_REASON_UNWILLING, why);
    else if (is_steady(connection, batch))
        storage_connection_steady(connection);
}

/* Another server took this master back meanwhile. Reports whether it is durable now is in its new
 * marker.
 */
static bool is_admitted_anew(const struct storage_session *session, const struct fence_view *known)
{
    unsigned me = session->index;
    return known->incarnation[me] != session->reading.facts.view.incarnation[me];
}

static void send_call(const struct storage_outbox *outbox, struct storage_batch *batch,
                      const char *command, size_t len);

/* The master lost the script (SCRIPT FLUSH), and has done nothing of the call: it gets the script,
 * and the call once more. Calls that are on their way behind this one could overtake it. Then the
 * call is lost, as before a new handshake. */
static bool sends_again(const struct storage_outbox *outbox, struct storage_batch *batch,
                        redisAsyncContext *context, const redisReply *reply)
{
    if (!storage_reply_lacks_script(reply) || batch->again || batch->command_len == 0 ||
        outbox->awaited != 1 || !storage_requests_script_load(context, NULL, NULL))
        return false;
    if (batch->reply)
        freeReplyObject(batch->reply);
    batch->reply = NULL;
    batch->again = true;
    send_call(outbox, batch, batch->command, batch->command_len);
    return true;
}

static void batch_answered(struct storage_outbox *outbox, struct storage_batch *batch,
                           redisAsyncContext *context, const redisReply *reply)
{
    const struct storage_session *session = outbox->session;
    struct storage_connection *connection = session->connection;
    bool current = storage_connection_is(connection, context, STORAGE_LINK_READY);
    assert(connection->context != context || outbox->awaited > 0);
    if (current && reply && sends_again(outbox, batch, context, reply))
        return;
    if (connection->context == context)
        outbox->awaited--;
    if (current && !reply)
        storage_connection_broke(connection, &context->c);
    uint64_t round_trip_us = 0;
    if (current && reply) {
        round_trip_us = (uv_hrtime() - batch->sent_ns) / 1000;
        connection->round_trip_us = round_trip_us;
    }
    struct fence_view known;
    bool stale = reply && storage_view_refused(reply, session->members, &known);
    if (connection->link != STORAGE_LINK_CLOSED)
        hand_out(session, batch, reply, stale ? &known : NULL, round_trip_us);
    if (current && reply && !stale)
        look_again_if_refused(connection, batch, reply);
    else if (current && stale && is_admitted_anew(session, &known))
        storage_connection_fail(connection, FENCE_REASON_CHANGED, "Its marker was rewritten.");
    put_batch(outbox, batch);
}

static void on_batch_reply(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_batch *batch = privdata;
    redisReply *reply = data;
    if (!batch->judged)
        batch_answered(batch->owner, batch, context, reply);
    else if (reply)
        batch->reply = storage_reply_take(reply);
}

/* A master may no longer be durable although its marker says so. Its votes do not count then: it
 * may lose its writes. The next handshake finds the reason. */
static void on_judged(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_batch *batch = privdata;
    struct storage_outbox *outbox = batch->owner;
    assert(batch->judged);
    struct storage_connection *connection = outbox->session->connection;
    const redisReply *reply = data;
    bool counts = reply && storage_durable_reply(reply);
    if (reply && !counts && storage_connection_is(connection, context, STORAGE_LINK_READY))
        storage_connection_fail(connection, FENCE_REASON_CHANGED, "Its persistence changed.");
    batch_answered(outbox, batch, context, counts ? batch->reply : NULL);
}

/* The script cannot read CONFIG, so the question follows it, in the same pipeline. */
static void ask_whether_durable(redisAsyncContext *context, struct storage_batch *batch)
{
    size_t len = 0;
    const char *command = storage_durable_command(&len);
    int status = redisAsyncFormattedCommand(context, on_judged, batch, command, len);
    assert(status == REDIS_OK);
}

static void send_call(const struct storage_outbox *outbox, struct storage_batch *batch,
                      const char *command, size_t len)
{
    const struct storage_reading *reading = &outbox->session->reading;
    redisAsyncContext *context = outbox->session->connection->context;
    int status = redisAsyncFormattedCommand(context, on_batch_reply, batch, command, len);
    assert(status == REDIS_OK); /* refused only on a connection that is being closed */
    /* The module reads the settings itself. */
    batch->judged = reading->facts.marked_durable && !reading->facts.module;
    if (batch->judged)
        ask_whether_durable(context, batch);
}

void storage_outbox_seal(struct storage_outbox *outbox)
{
    const struct storage_session *session = outbox->session;
    struct storage_batch *batch = outbox->batch;
    if (!batch)
        return;
    assert(session->connection->link == STORAGE_LINK_READY && session->connection->context);
    const struct storage_batch_terms terms = {
        .sha = session->reading.facts.module ? NULL : session->sha,
        .view = outbox->view,
        .fleet_id = session->reading.facts.fleet_id,
        .member = session->index + 1,
    };
    size_t len = 0;
    const char *command = storage_batch_command(&outbox->writer, batch, &terms, &len);
    outbox->batch = NULL;
    batch->sent_ns = uv_hrtime();
    outbox->called_ns = batch->sent_ns;
    outbox->awaited++;
    if (terms.sha)
        storage_batch_keep(batch, command, len);
    send_call(outbox, batch, command, len);
}

void storage_outbox_submit(struct storage_outbox *outbox, const struct storage_request *request,
                           const struct fence_view *view, uint64_t generation)
{
    assert(outbox->session->connection->link == STORAGE_LINK_READY);
    const struct storage_batch *batch = outbox->batch;
    if (batch && (!storage_batch_fits(batch, request) || generation != outbox->generation))
        storage_outbox_seal(outbox);
    if (!outbox->batch) {
        outbox->batch = take_batch(outbox);
        if (generation != outbox->generation || outbox->view[0] == '\0')
            fence_view_format(view, outbox->session->members, outbox->view);
        outbox->generation = generation;
    }
    storage_batch_add(&outbox->writer, outbox->batch, request);
}

/* Reports whether another script call may be sent now, besides the calls under way. */
static bool may_call(const struct storage_outbox *outbox)
{
    const bool durable = outbox->session->reading.facts.marked_durable;
    if (outbox->awaited < (durable ? STORAGE_CALLS_AHEAD_DURABLE : STORAGE_CALLS_AHEAD))
        return true;
    return outbox->awaited < STORAGE_CALLS_AT_A_TIME &&
           uv_hrtime() - outbox->called_ns > STORAGE_FAR_US * UINT64_C(1000);
}

bool storage_outbox_could_send(const struct storage_outbox *outbox)
{
    return outbox->batch && (outbox->session->connection->reset_wanted || may_call(outbox));
}

/* ---- its life -------------------------------------------------------------------------------- */

int storage_outbox_init(struct storage_outbox *outbox, const struct storage_session *session)
{
    outbox->session = session;
    return storage_batch_writer_init(&outbox->writer);
}

void storage_outbox_fini(struct storage_outbox *outbox)
{
    assert(!outbox->batch && outbox->awaited == 0);
    while (outbox->spare) {
        struct storage_batch *batch = outbox->spare;
        outbox->spare = batch->next;
        free_batch(batch);
    }
    storage_batch_writer_fini(&outbox->writer);
}

void storage_outbox_drop(struct storage_outbox *outbox)
{
    struct storage_batch *batch = outbox->batch;
    outbox->awaited = 0;
    outbox->batch = NULL;
    if (batch && outbox->session->connection->link != STORAGE_LINK_CLOSED)
        hand_out(outbox->session, batch, NULL, NULL, 0);
    free_batch(batch);
    storage_batch_clear(&outbox->writer);
}
