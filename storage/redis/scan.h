/* Reads which locks a master has (storage/master.h): their names step by step, and the lock ids
 * that hold them; and which named counters it has.
 *
 * Both are plain questions on the current connection, behind the requests under way, like a probe.
 * So the process of the handshake answers them, and a SCAN cursor is valid there. The bounds keep
 * each question well below a millisecond. */
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

/* Returns the name of the lock under @key, as SCAN gives it; NULL: not a lock of Pawl. Lives as
 * long as @key. */
const char *storage_scan_name(const redisReply *key);

/* Returns the name of the counter in @field, as HSCAN gives it; NULL: none. Lives as long as
 * @field. */
const char *storage_scan_counter(const redisReply *field);

/* The hash of the lock id in @value, as MGET gives it; 0 where there is none. */
uint64_t storage_scan_holder(const redisReply *value);

#endif
