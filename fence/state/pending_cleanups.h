/* Pending clean-ups. A failed attempt has to be undone on every master that may hold a part of it.
 * That includes masters whose connection broke before the acknowledgement. Such a clean-up is sent
 * again when the master is back. It is dropped after the end of the lease, when the lock has
 * expired.
 *
 * This is for liveness only. Without it, a moment in which all masters stall would block the names
 * that were asked for until their TTL. */
#ifndef FENCE_STATE_PENDING_CLEANUPS_H
#define FENCE_STATE_PENDING_CLEANUPS_H

#include "fence/base/pool.h"
#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct core_cleanup {
    uint64_t serial;        /* 0: this slot is free */
    uint64_t attempt;       /* the part to undo */
    uint64_t expires_us;    /* when the lock has expired */
    uint32_t owed;          /* set of masters that have not acknowledged */
    uint32_t told;          /* masters in @owed that got the clean-up on a connection that still
                             * stands */
    uint32_t alone;         /* masters that got this clean-up again, without its group */
    uint64_t generation;    /* generation of the views that the last request named */
    uint32_t next_of_group; /* the next clean-up in the same request; CORE_NO_CLEANUP: the last,
                             * or alone */
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1];
};

struct core_cleanups {
    struct core_cleanup *cleanups;
    struct fence_pool pool;
    uint32_t reclaim; /* position of the search for expired clean-ups */
    uint32_t cursor;  /* position of the round that sends again */
    bool telling;     /* a master came back: the round of sending again is under way */
    uint64_t serials;
};

#define CORE_NO_CLEANUP UINT32_MAX

/* Makes room for @capacity clean-ups. FENCE_ENOMEM. */
FENCE_CHECKED int core_cleanups_init(struct core_cleanups *cleanups, uint32_t capacity);
void core_cleanups_fini(struct core_cleanups *cleanups);

/* Opens @cleanup (copied). Returns its index; CORE_NO_CLEANUP if the table is full. */
uint32_t core_cleanups_open(struct core_cleanups *cleanups, const struct core_cleanup *cleanup,
                            uint64_t now_us);

/* Joins two clean-ups: the one at @index was opened right after the one at @before, and one request
 * to the masters has both. */
void core_cleanups_join(struct core_cleanups *cleanups, uint32_t before, uint32_t index);

/* Master @i acknowledged the clean-up at @index with @serial, or the connection that carried it is
 * lost. The same applies to the clean-ups in the same request. Closed clean-ups are skipped. */
void core_cleanups_settle(struct core_cleanups *cleanups, uint32_t index, uint64_t serial,
                          unsigned i);
void core_cleanups_lose(struct core_cleanups *cleanups, uint32_t index, uint64_t serial,
                        unsigned i);

/* A master came back: all clean-ups that it owes are to be sent again. */
void core_cleanups_tell_again(struct core_cleanups *cleanups);

/* Does a bounded part of the round of sending again. Finds the next clean-up that a master of
 * @active owes and was not sent. Marks these masters as told, and returns the clean-up and the set
 * of masters. Returns NULL if this part of the round found none. cleanups->telling is false when
 * the round is over. */
struct core_cleanup *core_cleanups_next(struct core_cleanups *cleanups, uint32_t active,
                                        uint64_t now_us, uint32_t *ret_set);

#endif
