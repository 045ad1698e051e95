/* One master on Redis: a single FIFO connection that opens, shakes hands, carries batches of
 * requests, and reopens by itself with backoff. It decides nothing: what a master may do is judged
 * by the fence, from the facts that a handshake brings.
 *
 *   BACKOFF --> RESOLVING --> CONNECTING --> SHAKING --facts--> READY --.
 *      ^                                        ^                |     | restamp, shake
 *      |                                        '----------------|-----'
 *      '----- any failure: down(), and reply() LOST for each ----'
 *             request without an answer
 *
 * All functions and callbacks belong to the thread of the loop. */
#ifndef STORAGE_REDIS_MASTER_H
#define STORAGE_REDIS_MASTER_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/error.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"
#include "storage/redis/request.h"
#include "storage/redis/url.h"

#include <uv.h>

enum {
    STORAGE_HANDSHAKE_DEADLINE_MS = 500, /* resolving, connecting and all questions */
    STORAGE_BACKOFF_MIN_MS = 5,
    STORAGE_BACKOFF_MAX_MS = 250,
    STORAGE_STEADY_MS = 1000, /* a connection that is of use for so long ends a row of failures */
    STORAGE_CALLS_AT_A_TIME = 8, /* script calls on their way to a master at most. What is asked
                                  * while one is waits for the next, so that calls grow with the
                                  * load, ... */
    STORAGE_FAR_US = 10 * 1000,  /* ... but for masters so far away that this would take long: they
                                  * are sent another call when the last one is so old */
    STORAGE_DETAIL_MAX = 160,    /* bytes of the text of a failure */
    STORAGE_REPLY_BUFFER = 1024 * 1024, /* bytes hiredis keeps between replies */
};

/* What a master tells its owner. None is called from within a function below but
 * storage_redis_master_flush(). Pointers live for the call. */
struct storage_master_events {
    void *context;

    /* A handshake ended well. From here on requests are taken, if the fence wants to send any. */
    void (*facts)(void *context, unsigned i, const struct fence_facts *facts);

    /* A look at the connection that stands ended well: the facts of its handshake, with what may
     * have changed since (storage/redis/probe.h). NULL: not of interest, and none is made. */
    void (*looked)(void *context, unsigned i, const struct fence_facts *facts);

    /* The connection ended or could not be made; not called after storage_redis_master_reset(). */
    void (*down)(void *context, unsigned i, enum fence_reason reason);

    /* Replies follow, all of them read from the socket before this. NULL: not of interest. */
    void (*batch)(void *context);

    /* The answer to one request; FENCE_REPLY_LOST if none will come. Exactly one for each. */
    void (*reply)(void *context, unsigned i, const struct fence_reply *reply);

    /* The lock of @resource, which somebody waited for, was given up by the holder with @lock_id,
     * or taken back from it, on this master. Some of these get lost. NULL: not of interest. */
    void (*freed)(void *context, const char *lock_id, const char *resource);

    /* The same for a step of a rejoin. NULL: none is ever asked for. */
    void (*rejoin)(void *context, unsigned i, const struct fence_rejoin_reply *reply);
};

struct storage_redis_config {
    uv_loop_t *loop;
    struct storage_redis_url url;
    unsigned index;   /* 0 .. members - 1: which member of the fleet is expected there */
    unsigned members; /* N */
    struct storage_master_events events;
};

struct storage_redis_master;

/* Allocates all buffers, and starts to connect when the loop runs. FENCE_ENOMEM. */
FENCE_CHECKED int storage_redis_master_new(const struct storage_redis_config *config,
                                           struct storage_redis_master **ret_master);

/* Closes the connection without a word to the owner. The memory goes when the loop has run the last
 * callbacks: run it until it is empty. NULL is fine. */
void storage_redis_master_free(struct storage_redis_master *master);

/* Adds @request to what the next flush sends, under @view. @generation tells views apart: requests
 * under different views never share a script call. Precondition: the handshake ended well, and the
 * connection was not lost or reset since. */
void storage_redis_master_submit(struct storage_redis_master *master,
                                 const struct storage_request *request,
                                 const struct fence_view *view, uint64_t generation);

/* Sends what was submitted, unless a script call is still on its way: then it goes with the first
 * turn after the reply. Does the resets that were asked for. To be called at the end of each loop
 * turn. May call the owner back. */
void storage_redis_master_flush(struct storage_redis_master *master);

/* Whether a flush would send a script call. */
bool storage_redis_master_could_send(const struct storage_redis_master *master);

/* Gives up on the connection: at the next flush it is closed, and opened anew after the backoff. */
void storage_redis_master_reset(struct storage_redis_master *master);

/* Sends one step of a rejoin (copied), at once. Same precondition as storage_redis_master_submit().
 */
void storage_redis_master_rejoin(struct storage_redis_master *master,
                                 const struct fence_rejoin_request *request);

/* Shakes hands again on the same connection: something about this master has changed. Same
 * precondition. */
void storage_redis_master_shake(struct storage_redis_master *master);

/* Renews the run id and the lineage in the marker, if it is still the marker in @facts; then shakes
 * hands again. Same precondition. */
void storage_redis_master_restamp(struct storage_redis_master *master,
                                  const struct fence_facts *facts);

/* What the last failure was, for people; "" if there was none. Valid until the loop goes on. */
const char *storage_redis_master_detail(const struct storage_redis_master *master);

/* How long the last script call took there and back, in microseconds; 0 before the first. */
uint64_t storage_redis_master_round_trip_us(const struct storage_redis_master *master);

#endif
