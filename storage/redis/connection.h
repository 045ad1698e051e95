/* The inside of a Redis master, shared by storage/redis_master*.c and nobody else. */
#ifndef STORAGE_REDIS_CONNECTION_H
#define STORAGE_REDIS_CONNECTION_H

#include "storage/redis/batch.h"
#include "storage/redis/facts.h"
#include "storage/redis/master.h"

#include <stdbool.h>

#include <hiredis/async.h>

enum link_state {
    LINK_BACKOFF,
    LINK_RESOLVING,
    LINK_CONNECTING,
    LINK_SHAKING,
    LINK_READY,
    LINK_CLOSED, /* freed by its owner: the last callbacks are on their way */
};

/* A look under way (probe.c). */
struct storage_look {
    unsigned owed;   /* answers */
    unsigned missed; /* looks that were due since, and were not made */
    bool failed;     /* it will not be told */
    struct storage_reading reading;
};

struct storage_redis_master {
    struct storage_redis_config config;
    enum link_state state;
    redisAsyncContext *context;  /* NULL unless CONNECTING, SHAKING or READY */
    redisAsyncContext *listener; /* NULL: none is open */
    uv_timer_t timer;            /* the backoff, the handshake's deadline, or the next look */
    uv_timer_t sweeper;          /* the next step of a sweep */
    uv_getaddrinfo_t resolve;
    unsigned failures; /* in a row */
    uint64_t ready_ns; /* when the last handshake ended well */
    bool reset_wanted;
    bool resolving;
    int handles; /* timers that are not yet closed */
    char detail[STORAGE_DETAIL_MAX];

    /* The handshake under way, and what it brought. */
    struct storage_reading reading;
    char sha[STORAGE_SHA_LEN + 1];
    struct storage_look look;
    bool probed; /* the handshake found that it takes locks, but for want of memory */
    bool leads;  /* it was marked on this connection, after the handshake: what its marker says
                  * changes by this server's own steps, and these notice it where it does not */

    /* Requests: what this turn adds, and batches that wait for reuse. */
    struct storage_batch_writer writer;
    struct storage_batch *batch; /* NULL: nothing added yet */
    struct storage_batch *spare;
    unsigned awaited;   /* batches sent and not answered */
    uint64_t called_ns; /* when the last of them was */
    uint64_t generation;
    char view[FENCE_VIEW_TEXT_MAX];
    uint64_t round_trip_us;
};

/* Sends the handshake's questions in one pipeline (handshake.c). */
void storage_master_shake_hands(struct storage_redis_master *master);

/* What a master says to storage_master_probe(). */
enum storage_probed {
    STORAGE_PROBED_WILLING, /* it takes locks */
    STORAGE_PROBED_FULL,    /* it would, but its memory is full */
    STORAGE_PROBED_CHANGED, /* its marker is not active, or its data are not those of the marker */
    STORAGE_PROBED_ERROR,   /* it does not; the reply says why */
};

/* Asks whether a lock would be taken on it now (probe_write.c). Precondition: it has the
 * script, and a marker. False: out of memory. */
bool storage_master_probe(struct storage_redis_master *master, redisCallbackFn *on_answer);
enum storage_probed storage_master_probed(const redisReply *reply);

/* The connection is of no more use, for @reason and @detail: tell the owner, close it, and open it
 * anew after the backoff. */
void storage_master_fail(struct storage_redis_master *master, enum fence_reason reason,
                         const char *detail);

/* The same, where @connection broke, or brought what no Redis says. */
void storage_master_broke(struct storage_redis_master *master, const redisContext *connection);

/* The same, where the connection is well and @reply an error. */
void storage_master_refused(struct storage_redis_master *master, const redisReply *reply);

/* What was begun has to end within STORAGE_HANDSHAKE_DEADLINE_MS, in storage_master_ready(). */
void storage_master_set_deadline(struct storage_redis_master *master);

/* The handshake brought all its facts. */
void storage_master_ready(struct storage_redis_master *master);

/* Opens the second connection, for what is published, if it is wanted and not open; closes it
 * (subscribe.c). */
void storage_master_listen(struct storage_redis_master *master);
void storage_master_stop_listening(struct storage_redis_master *master);

/* Has the timer look at the master, now and every STORAGE_LOOK_INTERVAL_MS, until it is set to
 * something else. */
void storage_master_keep_looking(struct storage_redis_master *master);

/* Imported locks get their expiry, some at a time (sweep.c); does nothing where that
 * is under way. */
void storage_master_sweep(struct storage_redis_master *master);

/* Seals the batch under way into a command on the connection. */
void storage_master_seal(struct storage_redis_master *master);

/* Tells the owner that replies follow. */
void storage_master_announce(const struct storage_redis_master *master);

/* Frees batches kept for reuse. */
void storage_master_free_batches(struct storage_redis_master *master);

#endif
