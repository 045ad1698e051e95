/* The data of one master, as its rules see it. The rules read and write through a table of
 * functions. The runner of the rules has the data: in a file, or in a few arrays.
 *
 * A turn is some requests that the master answers together. The caller fills in struct fence_turn,
 * calls the rules, and then keeps the marker where the turn changed it. A function of the table
 * that fails reports nothing to the rules: the caller remembers the failure, lets all later reads
 * find nothing and all later writes do nothing, and undoes the turn. So the rules read straight
 * down. Whatever a rule wrote stands once the caller says that the turn does.
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
    bool adopted; /* it is the holder's, and no attempt's to undo */
    uint64_t attempt;
    int64_t number;
    uint32_t extensions;
    bool imported;       /* another master gave the number; */
    uint32_t from;       /* the set of those where it counted */
    uint64_t expires_ms; /* on the clock of the turn */
};

/* As fence_facts has it; what makes this master a member of a fleet. */
struct fence_stored_marker {
    bool present; /* the other members mean nothing without it */
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    uint32_t member; /* 1 .. n */
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_LINEAGE_MAX + 1];
    uint32_t ttl_max_ms;
    uint32_t readers;        /* 0: none is named */
    uint32_t extensions_max; /* 0: none is named */
    bool durable;
    bool active; /* else it is joining: */
    int64_t next;
    uint32_t progress; /* steps of CLEAR and INSTALL since the mark */
    bool intact;       /* it had kept all it knew when it was marked */
    enum fence_mark mark;
    int64_t floor; /* below it no counter counts; 0: none */
    struct fence_view view;
};

struct fence_master_store {
    /* The lock of @resource if its expiry is after now; *@ret_lock is not present otherwise. */
    void (*lock)(void *context, const char *resource, struct fence_stored_lock *ret_lock);
    void (*put_lock)(void *context, const char *resource, const struct fence_stored_lock *lock);
    void (*drop_lock)(void *context, const char *resource);

    /* The counter of @slot as it is stored, below the floor too; 0 where it never counted. */
    int64_t (*counter)(void *context, uint16_t slot);
    void (*put_counter)(void *context, uint16_t slot, int64_t number);

    /* The counter named @name as it is stored; 0 where it never counted. How many there are. */
    int64_t (*named)(void *context, const char *name);
    void (*put_named)(void *context, const char *name, int64_t number);
    uint64_t (*names)(void *context);

    /* The highest number of any counter, named or not; 0 where none counted. */
    int64_t (*highest)(void *context);

    /* Somebody waits for @resource until @until_ms, with @ticket; 0: with none. The lowest ticket
     * is kept. */
    void (*wait)(void *context, const char *resource, uint64_t until_ms, int64_t ticket);

    /* The lock of @resource under @lock_id was released: tells it to who waits, if anybody still
     * does, once. Returns the lowest ticket of these; 0: no call waits, or none has a ticket. */
    int64_t (*notify)(void *context, const char *resource, const char *lock_id);

    /* The ticket that the lock of @resource is kept for when it is free, if *@ret_until_ms is after
     * now; 0: none. Keeps it for @ticket; 0: for no waiter. */
    int64_t (*next)(void *context, const char *resource, uint64_t *ret_until_ms);
    void (*put_next)(void *context, const char *resource, int64_t ticket, uint64_t until_ms);

    /* The highest token of @lock_id for @resource that is noted as broken, and by whom; 0: none is.
     * @ret_by has room for FENCE_OWNER_MAX bytes and the NUL. */
    int64_t (*broken)(void *context, const char *resource, const char *lock_id, char *ret_by);

    /* Notes that @request, a BREAK, broke its token of its lock id, until @until_ms. */
    void (*put_broken)(void *context, const struct fence_request *request, uint64_t until_ms);

    /* Clears locks from @cursor on, where 0 is the first. They go, or where @disowns is set they
     * stay as imported ones that no master had. Returns where the next step goes on; 0: that was
     * all. */
    uint64_t (*clear)(void *context, bool disowns, uint64_t cursor);

    /* The page that @request asks for, a READ: sets the page and the cursor of @reply. Memory that
     * the page borrows is the caller's. False: no memory. */
    bool (*read_page)(void *context, const struct fence_rejoin_request *request,
                      struct fence_rejoin_reply *reply);

    /* Hands each counter and each lock of @page to a function of fence/master/merging.h. */
    void (*merge_page)(void *context, const struct fence_page *page, unsigned source);
};

/* One turn of one master. */
struct fence_turn {
    const struct fence_master_store *store;
    void *context;         /* of @store */
    unsigned members;      /* members of the fleet, and */
    unsigned me;           /* which of them this is, from 0 */
    bool durable;          /* its answers survive a crash, as it keeps its writes now */
    bool keeps_nothing;    /* it keeps no writes now: no marker of a durable master stands */
    const char *server_id; /* id of its process, */
    const char *lineage;   /* and what its data descend from */
    uint64_t now_ms;
    struct fence_stored_marker marker;
    bool marker_changed; /* a rule changed @marker */
};

#endif
