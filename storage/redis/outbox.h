/* Requests on the connection to one master. They are gathered over a turn and sent as one script
 * call. Their replies are delivered in order. */
#ifndef STORAGE_REDIS_OUTBOX_H
#define STORAGE_REDIS_OUTBOX_H

#include "storage/redis/session.h"

enum {
    STORAGE_STEADY_MS = 1000, /* after so long a useful connection ends a series of failures */
    STORAGE_CALLS_AHEAD = 2,  /* script calls under way to a master, so that it has the next one
                               * when it ends one. Requests wait meanwhile, so calls grow with
                               * the load. */
    STORAGE_CALLS_AHEAD_DURABLE = 1, /* each may cost an fsync, so they are fewer and larger */
    STORAGE_CALLS_AT_A_TIME = 8,     /* a distant master is sent more calls, up to these */
    STORAGE_FAR_US = 10 * 1000,      /* a further call is sent when the last one is so old */
};

struct storage_outbox {
    const struct storage_session *session;
    struct storage_batch_writer writer;
    struct storage_batch *batch; /* the requests of this turn; NULL: nothing yet */
    struct storage_batch *spare; /* for reuse */
    unsigned awaited;            /* batches sent and not answered */
    uint64_t called_ns;          /* when the last of them was sent */
    uint64_t generation;
    char view[FENCE_VIEW_TEXT_MAX];
};

/* @outbox is zeroed. FENCE_ENOMEM. */
FENCE_CHECKED int storage_outbox_init(struct storage_outbox *outbox,
                                      const struct storage_session *session);
void storage_outbox_fini(struct storage_outbox *outbox);

/* Adds @request, under @view. Precondition: the link is READY. */
void storage_outbox_submit(struct storage_outbox *outbox, const struct storage_request *request,
                           const struct fence_view *view, uint64_t generation);

/* Reports whether a flush would send a script call. */
bool storage_outbox_could_send(const struct storage_outbox *outbox);

/* Turns the submitted requests, if any, into a command on the connection: later commands go behind
 * it. */
void storage_outbox_seal(struct storage_outbox *outbox);

/* The connection has ended: requests that were submitted and not sealed are LOST, and no reply is
 * awaited. */
void storage_outbox_drop(struct storage_outbox *outbox);

#endif
