/* Reading which locks stand on a master (storage/master.h): their names step by step, and whose ids
 * they are under. And which named counters it has.
 *
 * Both are plain questions on the connection that stands, behind the requests on their way, as
 * those of a probe. So the process that did the handshake answers them, and a SCAN cursor means
 * something to it. Each holds up those behind it for well below a millisecond, by the bounds on
 * what is asked. */
#ifndef STORAGE_REDIS_SCAN_H
#define STORAGE_REDIS_SCAN_H

#include "storage/redis/session.h"

/* As storage_master_scan() and storage_master_holders(). */
FENCE_CHECKED int storage_scan_names(const struct storage_session *session,
                                     const struct fence_scan *scan, storage_found_fn *on_found,
                                     void *context);
FENCE_CHECKED int storage_scan_holders(const struct storage_session *session,
                                       enum fence_listing_kind kind,
                                       const struct fence_lock_name *names, size_t count,
                                       storage_found_fn *on_found, void *context);

/* The name of the lock under @key, as SCAN gives it; NULL where that is no lock of Pawl's. Lives as
 * long as @key. */
const char *storage_scan_name(const redisReply *key);

/* The name of the counter in @field, as HSCAN gives it; NULL where that is none. Lives as long. */
const char *storage_scan_counter(const redisReply *field);

/* The hash of the lock id in @value, as MGET gives it; 0 where there is none. */
uint64_t storage_scan_holder(const redisReply *value);

#endif
