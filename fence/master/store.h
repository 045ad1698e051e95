/* The data of one master, as its rules see it. The rules read and write through a table of
 * functions. The program that runs the rules has the data: in a file, or in a few arrays.
 *
 * A turn is a number of requests that the master answers together. The caller fills in struct
 * fence_turn, calls the rules, and then stores the marker if the turn changed it. A function of the
 * table that fails does not report the failure to the rules: the caller remembers the failure, lets
 * all later reads find nothing and all later writes do nothing, and undoes the turn. So the rules
 * need no error paths. The writes of the rules are valid once the caller has committed the turn.
 *
 * Instants are milliseconds of the master's own clock: struct fence_turn, @now_ms. Names and texts
 * are terminated, and borrowed for the call. */
#ifndef FENCE_MASTER_STORE_H
#define FENCE_MASTER_STORE_H

#include "fence/protocol/limits.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

#include <stdbool.h>
#include <stdint.h>

/* A lock as a master keeps it. */
struct fence_stored_lock {
    bool present;
    char lock_id[FENCE_LOCK_ID_MAX + 1]; /* FENCE_TOMBSTONE: it has no holder */
    char owner[FENCE_OWNER_MAX + 1];
    bool adopted; /* the lock belongs to its holder: no attempt may undo it */
    uint64_t attempt;
    int64_t number;
    uint32_t extensions;
    bool imported;       /* another master gave the number */
    uint32_t from;       /* set of the masters where an imported lock counted */
    uint64_t expires_ms; /* on the clock of the turn */
};

/* The marker, as in fence_facts: it makes this master a member of a fleet. */
struct fence_stored_marker {
    bool present; /* if false, the other members are not valid */
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t member; /* 1 .. n */
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    uint32_t ttl_max_ms;
    uint32_t readers;        /* 0: the marker names none */
    uint32_t extensions_max; /* 0: the marker names none */
    bool durable;
    bool active; /* false: the master is joining */
    int64_t next;
    uint32_t progress; /* steps of CLEAR and INSTALL since the mark */
    bool intact;       /* the master had kept all its data when it was marked */
    enum fence_mark mark;
    int64_t floor; /* no counter counts below it; 0: none */
    struct fence_view view;
};

struct fence_master_store {
    /* Reads the lock of @resource. If it has expired, *@ret_lock is not present. */
    void (*lock)(void *context, const char *resource, struct fence_stored_lock *ret_lock);
    void (*put_lock)(void *context, const char *resource, const struct fence_stored_lock *lock);
    void (*drop_lock)(void *context, const char *resource);

    /* Returns the counter of @slot as it is stored, even below the floor; 0: it never counted. */
    int64_t (*counter)(void *context, uint16_t slot);
    void (*put_counter)(void *context, uint16_t slot, int64_t number);

    /* Return the counter named @name as it is stored (0: it never counted), and the number of named
     * counters. */
    int64_t (*named)(void *context, const char *name);
    void (*put_named)(void *context, const char *name, int64_t number);
    uint64_t (*names)(void *context);

    /* Returns the highest number of any counter, named or not; 0: none counted. */
    int64_t (*highest)(void *context);

    /* Notes that a call waits for @resource until @until_ms, with @ticket; 0: without one. The
     * lowest ticket is kept. */
    void (*wait)(void *context, const char *resource, uint64_t until_ms, int64_t ticket);

    /* Notifies the waiters, once, that the lock of @resource under @lock_id was released. Returns
     * their lowest ticket; 0: no call waits, or none has a ticket. */
    int64_t (*notify)(void *context, const char *resource, const char *lock_id);

    /* The first returns the ticket for which the free lock of @resource is kept, if *@ret_until_ms
     * is after now; 0: none. The second keeps it for @ticket; 0: for no waiter. */
    int64_t (*next)(void *context, const char *resource, uint64_t *ret_until_ms);
    void (*put_next)(void *context, const char *resource, int64_t ticket, uint64_t until_ms);

    /* Returns the highest token of @lock_id for @resource that is noted as broken, and the label of
     * the caller that broke it; 0: none is. @ret_by has room for FENCE_OWNER_MAX bytes and the
     * NUL. */
    int64_t (*broken)(void *context, const char *resource, const char *lock_id, char *ret_by);

    /* Notes that @request, a BREAK, broke its token of its lock id, until @until_ms. */
    void (*put_broken)(void *context, const struct fence_request *request, uint64_t until_ms);

    /* Clears locks from @cursor on; 0 is the first lock. Removes them, or if @disowns is set keeps
     * them as imported locks that no master had. Returns the cursor of the next step; 0: this was
     * the last. */
    uint64_t (*clear)(void *context, bool disowns, uint64_t cursor);

    /* Reads the page for @request, a READ: sets the page and the cursor of @reply. The caller owns
     * the memory of the page. Returns false if there is no memory. */
    bool (*read_page)(void *context, const struct fence_rejoin_request *request,
                      struct fence_rejoin_reply *reply);

    /* Passes each counter and each lock of @page to a function of fence/master/merging.h. */
    void (*merge_page)(void *context, const struct fence_page *page, unsigned source);
};

/* One turn of one master. */
struct fence_turn {
    const struct fence_master_store *store;
    void *context;         /* of @store */
    unsigned members;      /* number of members of the fleet */
    unsigned me;           /* index of this member, from 0 */
    bool durable;          /* answers survive a crash, since the master now stores its writes
                            * durably */
    bool keeps_nothing;    /* the master stores no writes now: the marker of a durable master is
                            * not valid */
    const char *server_id; /* id of the process */
    const char *lineage;   /* lineage of the data */
    uint64_t now_ms;
    struct fence_stored_marker marker;
    bool marker_changed; /* a rule changed @marker */
};

#endif
