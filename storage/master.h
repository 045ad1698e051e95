/* A master of any kind: what a server asks of it, and what it tells. It carries requests, finds out
 * what the master is, and reads off which locks stand there. It decides nothing: what a master may
 * do is judged by the fence, from the facts that it brings.
 *
 * A kind of master embeds struct storage_master first in its own struct, and sets its ops. Its own
 * function makes it, and starts to connect when the loop runs. All functions and callbacks belong
 * to the thread of the loop. */
#ifndef STORAGE_MASTER_H
#define STORAGE_MASTER_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/error.h"
#include "fence/protocol/listing_message.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORAGE_HANDSHAKE_DEADLINE_MS = 500, /* resolving, connecting and all questions */
};

/* ---- what it tells --------------------------------------------------------------------------- */

/* None is called from within a function below but storage_master_flush(). Pointers live for the
 * call. @i is the member that the master was made for. */
struct storage_master_events {
    void *context;

    /* A handshake ended well. From here on requests are taken, if the fence wants to send any. */
    void (*facts)(void *context, unsigned i, const struct fence_facts *facts);

    /* A probe over the connection that stands ended well: the facts of its handshake, with what may
     * have changed since. NULL: not of interest, and none is made. */
    void (*probed)(void *context, unsigned i, const struct fence_facts *facts);

    /* The fleet as the owner knows it. The master is told its positions: at each handshake, before
     * the marker is read, and at each probe. NULL: it is told nothing. */
    const struct fence_fleet *(*fleet)(void *context);

    /* The connection ended or could not be made; not called after storage_master_reset(). */
    void (*down)(void *context, unsigned i, enum fence_reason reason);

    /* Replies to @requests requests follow, all of them read from the socket before this. They were
     * sent together, and it took @round_trip_us there and back; 0: they were lost. NULL: not of
     * interest. */
    void (*batch)(void *context, unsigned i, unsigned requests, uint64_t round_trip_us);

    /* The answer to one request; FENCE_REPLY_LOST if none will come. Exactly one for each. */
    void (*reply)(void *context, unsigned i, const struct fence_reply *reply);

    /* The holder with @lock_id released the lock of @resource on this master, or it was undone
     * from that holder. Somebody waited for it. Some of these get lost. NULL: not of interest. */
    void (*released)(void *context, const char *lock_id, const char *resource);

    /* A server of the fleet told of a waiter that left its queue. Some of these get lost. NULL: not
     * of interest. */
    void (*place)(void *context, const struct fence_place *place);

    /* The same for a step of a rejoin. NULL: none is ever asked for. */
    void (*rejoin)(void *context, unsigned i, const struct fence_rejoin_reply *reply);
};

/* Is told what came back from master @i, exactly once, unless the master is freed before. Never
 * from within the function that asked. @found lives for the call. */
typedef void storage_found_fn(void *context, unsigned i, const struct fence_found *found);

/* Master @i refuses the password that it was told to take from now on, and says @why. Never from
 * within the function that told. @why lives for the call. */
typedef void storage_refused_fn(void *context, unsigned i, const char *why);

/* ---- what a kind of master brings ------------------------------------------------------------ */

struct storage_master {
    const struct storage_master_ops *ops;
};

/* The functions below, under the same names; none is NULL. */
struct storage_master_ops {
    void (*submit)(struct storage_master *const masters[], uint32_t set,
                   const struct fence_request *request, const struct fence_fleet *fleet);
    bool (*could_send)(const struct storage_master *master);
    void (*flush)(struct storage_master *master);
    void (*reset)(struct storage_master *master);
    void (*rejoin)(struct storage_master *master, const struct fence_rejoin_request *request);
    void (*place)(struct storage_master *master, const struct fence_place *place);
    void (*handshake)(struct storage_master *master);
    void (*restamp)(struct storage_master *master, const struct fence_facts *facts);
    int (*scan)(struct storage_master *master, const struct fence_scan *scan,
                storage_found_fn *told, void *context);
    int (*holders)(struct storage_master *master, enum fence_listing_kind kind,
                   const struct fence_lock_name *names, size_t count, storage_found_fn *told,
                   void *context);
    void (*password)(struct storage_master *master, const char *password,
                     storage_refused_fn *refused, void *context);
    const char *(*address)(const struct storage_master *master);
    const char *(*detail)(const struct storage_master *master);
    uint64_t (*round_trip_us)(const struct storage_master *master);
    void (*free)(struct storage_master *master);
};

/* ---- what is asked of it --------------------------------------------------------------------- */

/* Closes the connection without a word to the owner. The memory goes when the loop has run the last
 * callbacks: run it until it is empty. NULL is fine. */
static inline void storage_master_free(struct storage_master *master)
{
    if (master)
        master->ops->free(master);
}

/* Adds @request to what the next flush sends to @masters[i] for each bit i in @set, under the view
 * that @fleet names to it. The fleet's generation tells views apart: requests under different views
 * never go together. One call for all, since a kind makes its form of a request once. Precondition:
 * the handshake with each ended well, and the connection was not lost or reset since. */
static inline void storage_masters_submit(struct storage_master *const masters[], uint32_t set,
                                          const struct fence_request *request,
                                          const struct fence_fleet *fleet)
{
    while (set) {
        const struct storage_master_ops *ops = masters[__builtin_ctz(set)]->ops;
        uint32_t of_a_kind = 0;
        for (uint32_t left = set; left; left &= left - 1)
            if (masters[__builtin_ctz(left)]->ops == ops)
                of_a_kind |= left & -left;
        ops->submit(masters, of_a_kind, request, fleet);
        set &= ~of_a_kind;
    }
}

/* Sends what was submitted, unless a call is still on its way: then it goes with the first turn
 * after the reply. Does the resets that were asked for. To be called at the end of each loop turn.
 * May call the owner back. */
static inline void storage_master_flush(struct storage_master *master)
{
    master->ops->flush(master);
}

/* Reports whether a flush would send what was submitted. */
static inline bool storage_master_could_send(const struct storage_master *master)
{
    return master->ops->could_send(master);
}

/* Abandons the connection: at the connection: at the next flush it is closed, and opened again
 * after the backoff.
 */
static inline void storage_master_reset(struct storage_master *master)
{
    master->ops->reset(master);
}

/* Sends one step of a rejoin (copied), at once. Same precondition as storage_masters_submit(). */
static inline void storage_master_rejoin(struct storage_master *master,
                                         const struct fence_rejoin_request *request)
{
    master->ops->rejoin(master, request);
}

/* Tells @place to all servers that use the master, this one too, if it can: nothing waits for that.
 * Same precondition. */
static inline void storage_master_place(struct storage_master *master,
                                        const struct fence_place *place)
{
    master->ops->place(master, place);
}

/* Shakes hands again on the same connection: something about this master has changed. Same
 * precondition. */
static inline void storage_master_handshake(struct storage_master *master)
{
    master->ops->handshake(master);
}

/* Renews the run id and the lineage in the marker, if it is still the marker in @facts. Then does a
 * new handshake. Same precondition. */
static inline void storage_master_restamp(struct storage_master *master,
                                          const struct fence_facts *facts)
{
    master->ops->restamp(master, facts);
}

/* Asks for a step of a walk over names. A name that stands there from the first step to the last is
 * among those found, perhaps more than once. A step may find none, and may find more than
 * scan->keys.
 *
 * FENCE_EIO: there is no connection to ask on; FENCE_ENOMEM. Then @told is not called. */
FENCE_CHECKED static inline int storage_master_scan(struct storage_master *master,
                                                    const struct fence_scan *scan,
                                                    storage_found_fn *told, void *context)
{
    return master->ops->scan(master, scan, told, context);
}

/* Asks under whose ids the locks of @names (@count > 0 of them) stand there, or which counters of
 * these names there are. The same errors. */
FENCE_CHECKED static inline int storage_master_holders(struct storage_master *master,
                                                       enum fence_listing_kind kind,
                                                       const struct fence_lock_name *names,
                                                       size_t count, storage_found_fn *told,
                                                       void *context)
{
    return master->ops->holders(master, kind, names, count, told, context);
}

/* Uses @password (copied) from now on, where its own was not given with its address. A connection
 * that stands goes on, and what was asked on it is answered: the password is said there, too, and
 * @refused is called if the master does not take it. If there is no connection the next try
 * comes at once. A kind of master without passwords does nothing. */
static inline void storage_master_password(struct storage_master *master, const char *password,
                                           storage_refused_fn *refused, void *context)
{
    master->ops->password(master, password, refused, context);
}

/* The address of the master, for people and logs: no user, no password. Lives as long as the
 * master. */
static inline const char *storage_master_address(const struct storage_master *master)
{
    return master->ops->address(master);
}

/* The last failure, for people; "" if there was none. Valid until the loop goes on. */
static inline const char *storage_master_detail(const struct storage_master *master)
{
    return master->ops->detail(master);
}

/* How long the last call or probe took there and back, in microseconds; 0 before the first. */
static inline uint64_t storage_master_round_trip_us(const struct storage_master *master)
{
    return master->ops->round_trip_us(master);
}

#endif
