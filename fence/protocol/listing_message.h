/* The questions of a listing of held locks asks of masters and answers to clients, as plain data.
 * Strings are borrowed and terminated. */
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
    uint64_t cursor;              /* 0, or where the step before said that the next begins, in the
                                   * same process */
    const char *prefix;
    unsigned keys; /* to look at: 1 .. FENCE_SCAN_KEYS_MAX */
};

/* An answer to a scan, or from a question for holders. */
struct fence_found {
    enum fence_part part;     /* GRANTED: it answered, and what follows means something. REFUSED: it
                               * answered, and would not. TIMEOUT: the connection ended first */
    int error;                /* FENCE_ENOMEM: it answered, and there is no room for what follows */
    uint64_t next;            /* scan: where the next step begins; 0: this was the last */
    size_t count;             /* number of keys, or of the names asked for */
    const char *const *names; /* scan: of each key; NULL where it is no lock of Pawl's */
    const uint64_t *holders; /* holder under each name: fence_lock_id_hash() of the id that its lock
                              * is under there; 0 where no lock stands. For a counter 1; 0 where it
                              * never counted */
};

/* ---- between clients and a listing ----------------------------------------------------------- */

/* A call for one page. */
struct fence_listing_call {
    enum fence_listing_kind kind;
    uint64_t client;
    const char *prefix; /* some resource begins with it; "": all do */
    const char
        *cursor;    /* the place where the page begins, as the client sent it; "": at the start */
    unsigned limit; /* locks on the page at most; not 0 */
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

/* A page. Which members mean something depends on @error. */
struct fence_listing_answer {
    enum fence_listing_kind kind;
    uint64_t client;
    int error; /* 0, or FENCE_E...; FENCE_EINVAL: the cursor is wrong, or outdated */
    const struct fence_listed *locks;
    size_t count;
    const char *next_cursor;                  /* NULL: there is no more */
    unsigned total;                           /* FENCE_ENOQUORUM: masters in the fleet, */
    enum fence_part parts[FENCE_MASTERS_MAX]; /* and what each contributed */
};

#endif
