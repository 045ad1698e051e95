/* The questions that a listing of held locks asks of masters, and its answers to clients, as plain
 * data. Strings are borrowed and terminated. */
#ifndef FENCE_PROTOCOL_LISTING_MESSAGE_H
#define FENCE_PROTOCOL_LISTING_MESSAGE_H

#include "fence/protocol/limits.h"
#include "fence/protocol/message.h"

#include <stddef.h>
#include <stdint.h>

enum fence_listing_kind {
    FENCE_LISTING_LOCKS,    /* which locks are held */
    FENCE_LISTING_COUNTERS, /* which named counters there are */
};

/* ---- between a listing and masters ----------------------------------------------------------- */

struct fence_lock_name {
    char text[FENCE_RESOURCE_MAX + 1];
};

/* A step of a walk over the names that begin with @prefix. */
struct fence_scan {
    enum fence_listing_kind kind; /* the kind of names */
    uint64_t cursor;              /* 0, or the start of this step that the previous step
                                   * returned, in the same process */
    const char *prefix;
    unsigned keys; /* number of keys to look at: 1 .. FENCE_SCAN_KEYS_MAX */
};

/* An answer to a scan, or to a question for holders. */
struct fence_found {
    enum fence_part part;     /* GRANTED: the master answered, and the members below are valid.
                               * REFUSED: the master refused. TIMEOUT: the connection ended
                               * before the answer */
    int error;                /* FENCE_ENOMEM: the master answered, but there is no room for the
                               * members below */
    uint64_t next;            /* scan: the start of the next step; 0: this step was the last */
    size_t count;             /* number of keys, or of names in the question */
    const char *const *names; /* scan: the name of each key; NULL: the key is not a lock of Pawl */
    const uint64_t *holders;  /* holder of each name: fence_lock_id_hash() of the lock id that
                               * holds it there; 0: no lock. For a counter 1; 0: it never counted */
};

/* ---- between clients and a listing ----------------------------------------------------------- */

/* A call for one page. */
struct fence_listing_call {
    enum fence_listing_kind kind;
    uint64_t client;
    const char *prefix; /* the page lists resources with this prefix; "": all */
    const char
        *cursor;    /* the place where the page begins, as the client sent it; "": at the start */
    unsigned limit; /* highest number of locks on the page; not 0 */
};

/* A lock on a page. */
struct fence_listed {
    char resource[FENCE_RESOURCE_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t token; /* token of a lock; 0: the masters differ. The value of a counter; 0: it cannot
                    * be read */
    uint64_t remaining_ms;
    bool kept;        /* it was released, and no holder has it */
    uint32_t waiters; /* calls that wait for it at this core */
};

/* A page. @error decides which members are valid. */
struct fence_listing_answer {
    enum fence_listing_kind kind;
    uint64_t client;
    int error; /* 0, or FENCE_E...; FENCE_EINVAL: the cursor is wrong, or outdated */
    const struct fence_listed *locks;
    size_t count;
    const char *next_cursor;                  /* NULL: this is the last page */
    unsigned total;                           /* FENCE_ENOQUORUM: number of masters in the fleet */
    enum fence_part parts[FENCE_MASTERS_MAX]; /* FENCE_ENOQUORUM: the part of each master */
};

#endif
