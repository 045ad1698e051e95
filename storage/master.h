/* What a master of any kind tells its owner. */
#ifndef STORAGE_MASTER_H
#define STORAGE_MASTER_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

enum {
    STORAGE_HANDSHAKE_DEADLINE_MS = 500, /* resolving, connecting and all questions */
};

/* Pointers live for the call. */
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

#endif
