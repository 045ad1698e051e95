/* One master on Redis: a single FIFO connection. It opens, does the handshake, carries batches of
 * requests, and reconnects with backoff. It decides nothing: the fence judges what a master may do,
 * from the facts of a handshake.
 *
 *   BACKOFF --> RESOLVING --> CONNECTING --> HANDSHAKE --facts--> READY --.
 *      ^                                        ^                |     | restamp, handshake
 *      |                                        '----------------|-----'
 *      '----- any failure: down(), and reply() LOST for each ----'
 *             request without an answer
 *
 * storage/master.h has its functions. All functions and callbacks belong to the thread of the
 * loop. */
#ifndef STORAGE_REDIS_MASTER_H
#define STORAGE_REDIS_MASTER_H

#include "storage/master.h"
#include "storage/redis/request.h"
#include "storage/redis/url.h"

#include <uv.h>

/* How long from one probe of a master to the next, in milliseconds. */
enum {
    STORAGE_PROBE_MS = 500, /* a full disk is noticed after two probes: Redis refuses writes
                             * after the first one that it could not append */
    STORAGE_PROBE_MIN_MS = 10,
    STORAGE_PROBE_MAX_MS = 10000,
};

struct storage_redis_config {
    uv_loop_t *loop;
    struct storage_redis_url url;
    unsigned index;      /* 0 .. members - 1: which member of the fleet is expected there */
    unsigned members;    /* N */
    unsigned probe_ms;   /* STORAGE_PROBE_MIN_MS .. STORAGE_PROBE_MAX_MS; 0: STORAGE_PROBE_MS */
    bool refuses_module; /* scripts carry requests, even if the master has the module */
    struct storage_master_events events;
};

struct storage_redis_master;

/* Allocates all buffers, and starts to connect when the loop runs. FENCE_ENOMEM. */
FENCE_CHECKED int storage_redis_master_new(const struct storage_redis_config *config,
                                           struct storage_redis_master **ret_master);

/* Returns the master as one of any kind; freed with either of them. */
struct storage_master *storage_redis_master_base(struct storage_redis_master *master);

/* Adds an encoded request to the next flush, under @view. @generation identifies the view: requests
 * under different views never share a script call. Precondition: as of storage_masters_submit(). */
void storage_redis_master_submit(struct storage_redis_master *master,
                                 const struct storage_request *request,
                                 const struct fence_view *view, uint64_t generation);

/* As storage_master_flush(), storage_master_detail() and storage_master_free(). */
void storage_redis_master_flush(struct storage_redis_master *master);
const char *storage_redis_master_detail(const struct storage_redis_master *master);
void storage_redis_master_free(struct storage_redis_master *master);

#endif
