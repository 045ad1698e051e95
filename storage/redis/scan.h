/* Reading which locks stand on a master: its names step by step, and whose ids they are under.
 *
 * Both are plain questions in the line of the connection that stands, behind the requests on their
 * way, as a look's are: so they are answered by the very process that shook hands, which a SCAN
 * cursor means something to. Each holds up those behind it for well below a millisecond, by the
 * bounds below. All functions and callbacks belong to the thread of the loop. */
#ifndef STORAGE_REDIS_SCAN_H
#define STORAGE_REDIS_SCAN_H

#include "fence/protocol/limits.h"
#include "fence/protocol/message.h"

#include <stddef.h>
#include <stdint.h>

enum {
    STORAGE_SCAN_KEYS_MAX = 256, /* that a step looks at, or few more */
};

struct storage_session;

struct storage_lock_name {
    char text[FENCE_RESOURCE_MAX + 1];
};

/* What came back. */
struct storage_found {
    enum fence_part part; /* GRANTED: it answered, and what follows means something. REFUSED: it
                           * answered, and would not. TIMEOUT: the connection ended first */
    uint64_t next;        /* scan: where the next step begins; 0: this was the last */
    size_t count;         /* of keys, or of the names asked for */
    const struct redisReply *items; /* for the functions below */
};

/* Is told what came back from master @i, exactly once, unless the master is freed before; never
 * from within the function that asked. @found lives for the call. */
typedef void storage_found_fn(void *context, unsigned i, const struct storage_found *found);

/* Asks for the next step of a walk over the names that begin with @prefix. @cursor is 0, or where
 * the step before says that the next begins, in the same process. @keys: 1 to
 * STORAGE_SCAN_KEYS_MAX, how many keys to look at.
 *
 * What SCAN promises holds: a name that stands there from the first step to the last is among those
 * found, perhaps more than once. A step may find none, and may find more than @keys.
 *
 * FENCE_EIO: there is no connection to ask on; FENCE_ENOMEM. Then @told is not called. */
FENCE_CHECKED int storage_scan_names(struct storage_session *session, uint64_t cursor,
                                     const char *prefix, unsigned keys, storage_found_fn *told,
                                     void *context);

/* Asks under whose ids the locks of @names (@count > 0 of them) stand there. The same errors. */
FENCE_CHECKED int storage_scan_holders(struct storage_session *session,
                                       const struct storage_lock_name *names, size_t count,
                                       storage_found_fn *told, void *context);

/* The @k-th name that a scan found; NULL where that key is no lock of Pawl's. Lives as long as
 * @found. */
const char *storage_found_name(const struct storage_found *found, size_t k);

/* Whose the @k-th of the names asked for is there: fence_lock_id_hash() of its lock id; 0 where no
 * lock stands. */
uint64_t storage_found_holder(const struct storage_found *found, size_t k);

#endif
