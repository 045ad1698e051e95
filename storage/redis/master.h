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
 * None of the events comes from within a function below but storage_redis_master_flush(). All
 * functions and callbacks belong to the thread of the loop. */
#ifndef STORAGE_REDIS_MASTER_H
#define STORAGE_REDIS_MASTER_H

#include "storage/master.h"
#include "storage/redis/request.h"
#include "storage/redis/scan.h"
#include "storage/redis/url.h"

#include <uv.h>

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

/* Reading which locks stand there (storage/redis/scan.h). */
FENCE_CHECKED int storage_redis_master_scan(struct storage_redis_master *master, uint64_t cursor,
                                            const char *prefix, unsigned keys,
                                            storage_found_fn *told, void *context);
FENCE_CHECKED int storage_redis_master_holders(struct storage_redis_master *master,
                                               const struct storage_lock_name *names, size_t count,
                                               storage_found_fn *told, void *context);

/* What the last failure was, for people; "" if there was none. Valid until the loop goes on. */
const char *storage_redis_master_detail(const struct storage_redis_master *master);

/* How long the last script call took there and back, in microseconds; 0 before the first. */
uint64_t storage_redis_master_round_trip_us(const struct storage_redis_master *master);

#endif
