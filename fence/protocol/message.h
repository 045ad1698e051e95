/* Input and output of the core, as plain data.
 *
 *   client ----call----> +------+ ----request----> master
 *   client <---answer--- | core | <----reply------ master
 *                        +------+
 *
 * Strings are borrowed and terminated. The strings of an event must live until the caller has acted
 * on its effects. The strings of an effect live as long, and until the next step on the same
 * core. */
#ifndef FENCE_PROTOCOL_MESSAGE_H
#define FENCE_PROTOCOL_MESSAGE_H

#include "fence/protocol/group.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/view.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- between clients and the core ------------------------------------------------------------ */

enum fence_call_kind {
    FENCE_CALL_ACQUIRE,
    FENCE_CALL_EXTEND,
    FENCE_CALL_RELEASE,
    FENCE_CALL_INSPECT,
    FENCE_CALL_COUNT, /* a named counter: the next values, or the last one */
    FENCE_CALL_BREAK, /* end the grant with @token, for any holder */
    FENCE_CALL_WATCH, /* inspect, as soon as the lock is no longer held under @token */
};

enum {
    FENCE_WATCH_FREE = 0, /* in place of a token */
};

/* How many clients may hold a lock at a time (fence/protocol/seat.h). */
enum fence_mode {
    FENCE_MODE_PLAIN, /* one client; of a semaphore, one client in each seat */
    FENCE_MODE_READ,  /* readers: each reader in one of the seats that the fleet has for a name */
    FENCE_MODE_WRITE, /* one writer: in all of these seats */
};

/* The sender of a call, which gets the answer. */
enum fence_origin {
    FENCE_ORIGIN_CLIENT,  /* a client of the service */
    FENCE_ORIGIN_LISTING, /* a listing of held locks; inspect only */
};

/* The caller has checked names and ids against fence/protocol/name.h, and numbers against
 * fence/protocol/limits.h; the core asserts it. The core itself checks only the maximum TTL of the
 * fleet (FENCE_ETTL). */
struct fence_call {
    enum fence_call_kind kind;
    enum fence_origin origin; /* the answer returns it */
    uint64_t client;          /* the answer returns it; unique among the calls of clients under
                               * way */
    const char *resource;     /* all calls; count: the name of the counter */
    const char *lock_id;      /* acquire, extend, release. Acquire: a fresh random id, or the
                               * client's own */
    const char *owner;        /* acquire: the label, may be "", with the delay of the lock
                               * (fence/protocol/owner.h). Break: the label of the caller */
    const struct fence_group *group; /* acquire: all resources of the group or none, @resource is
                                      * the first; NULL: @resource alone. Borrowed for the step */
    unsigned seats; /* acquire: take one of so many seats of @resource (fence/protocol/seat.h),
                     * up to FENCE_SEATS_MAX. Inspect: read each of them. 0: @resource itself, or
                     * @group */
    enum fence_mode mode; /* acquire: to read or to write. Inspect: READ reads each seat of
                           * readers, WRITE also the writer. All other calls: PLAIN. If not
                           * PLAIN, @seats is 0 and @group is NULL */
    bool idempotent;      /* acquire: @lock_id is the client's own, and this may be a retry. A lock
                           * that the masters already have under @lock_id counts as acquired */
    bool covers;        /* break: @token is a writer's, and @resource is one of the writer's locks:
                         * a number up to @token belongs to the grant. Release: all locks of the
                         * writer are released */
    int64_t token;      /* extend, break, watch: the grant's token. Watch: FENCE_WATCH_FREE waits
                         * until the lock is held */
    uint32_t ttl_ms;    /* acquire, extend */
    uint32_t keep_ms;   /* release: other clients stay out for so long afterwards, or until the
                         * lease ends if that is sooner; 0: the lock is free at once */
    uint32_t wait_ms;   /* acquire: 0 asks once. Watch: at least 1; after that time the answer is
                         * what the last look saw */
    uint32_t waited_ms; /* acquire: how long its client says that it has waited under @lock_id,
                         * up to FENCE_WAITED_MAX_MS. Only a new process uses it */
    uint32_t count;     /* count: number of values, 1 .. FENCE_COUNT_MAX; 0 reads the last value */
};

/* The part of one master in one call. */
enum fence_part {
    FENCE_PART_PENDING, /* nothing yet; in an answer: no longer needed */
    FENCE_PART_GRANTED, /* the master did what the call asked */
    FENCE_PART_HELD,    /* a holder has the lock there */
    FENCE_PART_FREE,    /* extend, release, inspect: no such lock there */
    FENCE_PART_DOWN,    /* not connected, or has no vote: never asked */
    FENCE_PART_TIMEOUT, /* asked, but did not answer in time; outcome unknown */
    FENCE_PART_REFUSED, /* the master refused */
};

/* Returns the name of a part in the API, one word. */
const char *fence_part_name(enum fence_part part);

/* The seats of a name that are held. */
struct fence_seats_shown {
    unsigned count;
    struct fence_seat_shown {
        unsigned seat;         /* its index */
        int64_t token;         /* 0: the masters differ */
        uint64_t holder;       /* fence_lock_id_hash() of the holder's lock id */
        const char *owner;     /* the label of the holder */
        uint64_t remaining_ms; /* the rest of its lease and its delay */
        bool kept;             /* it was released, and has no holder */
    } held[FENCE_SEATS_MAX];   /* in the order of their indexes */
};

/* An answer to a call. @kind decides which member of the union is valid. Unknown text is "", and an
 * unknown number is 0. */
struct fence_answer {
    enum fence_call_kind kind;
    int error; /* 0 or FENCE_E... */
    enum fence_origin origin;
    uint64_t client;

    /* The resource of the call. If a seat was granted, the seat instead of its semaphore. If one
     * lock of several has a holder, or a key or counter that is not Pawl's, that lock. */
    const char *resource;
    unsigned seats;
    enum fence_mode mode;

    /* Acquire, extend, release. */
    const char *lock_id;

    /* The label of the grant: inspect, watch, an extension that is a new grant, FENCE_EHELD.
     * FENCE_EBROKEN: the label of the caller that broke the grant. */
    const char *owner;

    /* The token of the grant; 0: the masters differ. FENCE_EMISMATCH: the token of the current
     * grant. */
    int64_t token;

    /* Inspect, watch: the rest of the lease and its delay. FENCE_EHELD, FENCE_EWAITTIMEOUT: the
     * time after which a retry makes sense. */
    uint64_t remaining_ms;

    /* Acquire, extend. */
    struct fence_answer_lease {
        uint32_t ttl_ms;
        uint32_t delay_ms;
        uint32_t ttl_max_ms;     /* the maximum TTL of the fleet, for both kinds of calls */
        uint64_t validity_ms;    /* rounded down */
        int64_t extensions_left; /* how often the lease may still be extended; -1: not known */
        unsigned granted;        /* masters that agreed */
    } lease;

    union {
        struct {
            const struct fence_group *group; /* an acquire of several resources, or of all seats
                                              * by a writer: the group with its tokens; NULL
                                              * otherwise */
            bool found;       /* the masters already had the lock under this lock id */
            bool confirmed;   /* the call needed a second round, as masters gave different
                               * numbers */
            uint64_t attempt; /* the attempt that took the lock */
            uint32_t sent;    /* set of the masters that may have the lock: for
                               * FENCE_EVENT_DECLINED */
        } acquire;
        struct {
            bool anew; /* this is a new grant under the lock id, with a new token */
        } extend;
        struct {
            bool released;    /* false: the lock was no longer held */
            uint32_t keep_ms; /* the same as in the call */
        } release;
        struct { /* also for a watch */
            bool held;
            bool kept;                             /* the lock was released, has no holder, and
                                                    * is still closed */
            unsigned waiters;                      /* calls of this server that wait for the lock */
            const struct fence_seats_shown *shown; /* the seats; NULL: the call is not about
                                                    * seats */
        } inspect;
        struct {
            int64_t value; /* the last value that the call took, or the value that it read */
        } count;
        struct {
            bool released;       /* false: the grant had already ended */
            uint32_t sent;       /* set of the masters that were asked to end the grant */
            const char *lock_id; /* if @released, the lock id of that grant: only for the
                                  * server's own accounting. No caller may learn it. NULL
                                  * otherwise */
        } breaks;
    };

    uint64_t served_us; /* from the call's event to this answer */
    bool waited;        /* the call waited for another call, for a holder, or after a conflict */
    unsigned total;     /* masters in the fleet */
    enum fence_part parts[FENCE_MASTERS_MAX];
};

/* The locks that an attempt may hold and that are to be undone. Borrowed for the call. */
struct fence_taken {
    const char *resource;
    const struct fence_group *group; /* all locks of the group; NULL: @resource alone */
    const char *lock_id;
    uint64_t attempt;
    uint32_t ttl_ms;
    uint32_t masters; /* the set of masters that may hold it */
};

/* The place of a waiter that left its queue without a grant. Servers of a fleet send it to each
 * other through the masters. Borrowed for the call. A place affects the order only, and may be
 * lost. */
struct fence_place {
    const char *resource;
    const char *lock_id; /* the client's own */
    const char *owner;   /* its key counts, its label does not (fence/protocol/owner.h) */
    int64_t ticket;      /* fence/master/next.h */
    uint64_t waited_us;  /* time since the waiter first arrived */
};

/* ---- between the core and masters ------------------------------------------------------------ */

/* Replaces a lock id: the lock has no holder, and ends when its lease expires
 * (fence/rejoin/rejoin_state.h). */
#define FENCE_TOMBSTONE "~"

/* The lock id of a lock that was released and stays closed for a while. No client can have this
 * id. */
#define FENCE_KEPT_ID "kept-by-the-last-holder"

enum fence_request_kind {
    FENCE_REQUEST_TAKE,    /* if the lock is free: count, lock, and answer the number. With a
                            * group: if all locks are free, each of them */
    FENCE_REQUEST_CONFIRM, /* raise the counter and the lock's number to the token */
    FENCE_REQUEST_EXTEND,  /* lengthen the lease if the id matches and number <= token */
    FENCE_REQUEST_JOIN,    /* the same; also lock if the lock is free and the counter <= token:
                            * under @attempt, with the token as the number, and raise the counter
                            * to it */
    FENCE_REQUEST_RELEASE, /* delete the lock if the id matches, or keep it closed for @keep_ms.
                            * The lock of a writer only with @covers */
    FENCE_REQUEST_UNDO,    /* delete the lock if id and attempt match, in a group each such lock:
                            * the clean-up of a failed attempt */
    FENCE_REQUEST_INSPECT, /* read */
    FENCE_REQUEST_COUNT,   /* raise the counter named @resource to @hint, then by @count; answer
                            * the number. If both are 0: only answer the number, or NO if it
                            * never counted */
    FENCE_REQUEST_BREAK,   /* raise the counter above the token; note for @ttl_ms that @owner
                            * broke this token of the lock id; delete the lock if id matches and
                            * number <= token. YES: the master has no lock with such a number any
                            * more */
};

enum {
    FENCE_TICKET_NONE = -1,
};

/* @kind decides which member of the union is valid. */
struct fence_request {
    enum fence_request_kind kind;
    uint64_t tag; /* the reply returns it; 0: the reply is only counted (clean-ups) */
    const char *resource;
    const char *lock_id;
    const char *owner; /* TAKE, JOIN: the label. BREAK: the label of the caller */
    uint64_t attempt;
    int64_t token;
    uint32_t ttl_ms; /* TAKE, JOIN: the lease and the delay that @owner names. EXTEND: the lease;
                      * the master adds the delay of the lock */
    uint16_t slot;   /* TAKE, CONFIRM, EXTEND, JOIN, BREAK, RELEASE with @keep_ms: the counter of
                      * the resource */
    bool idempotent; /* TAKE, CONFIRM: a lock under the same id counts as a lock of this attempt */

    /* TAKE, CONFIRM, UNDO: the group replaces @resource, @slot, @token and the hint; NULL: no
     * group. */
    const struct fence_group *group;

    union {
        struct {
            /* A number that a master gave for the slot; 0: none. If the lock is free, the master
             * first raises the counter to the hint, unless the hint is more than FENCE_HINT_LEAP
             * above. */
            int64_t hint;

            /* For one resource, with @waits: the highest number that the server knew when the call
             * arrived (fence/master/next.h). 0: the server knew none. FENCE_TICKET_NONE: the call
             * has no place in the order. */
            int64_t ticket;

            /* If the lock is held, the master publishes its release. */
            bool waits;

            /* The group is a lock and a gate. The master does not take the gate. A gate that is
             * held blocks the lock, unless the master already has the lock under this id. */
            bool gated;
        } take;
        struct { /* also for JOIN */
            uint32_t extensions_max;
            uint32_t extended; /* JOIN: number of extensions of the lock, this one included */
        } extend;
        struct {
            /* The master keeps the lock closed for this time, or until the lease ends if that is
             * sooner. The lock gets FENCE_KEPT_ID, and the counter rises above its number. 0: the
             * master deletes the lock. */
            uint32_t keep_ms;

            /* The request releases all locks of a writer, not one seat alone. */
            bool covers;
        } release;
        struct {
            uint32_t values;    /* number of values to take; 0 only reads, and raises to @hint */
            uint32_t names_max; /* limit of named counters: a new one is not created beyond it */
            int64_t hint;       /* the master raises the counter to it, however far above it is */
        } counter;
    };
};

enum fence_reply_kind {
    FENCE_REPLY_NUMBER, /* TAKE: the lock is taken for this attempt; @number counted, or
                         * @numbers. COUNT: the counter is at @number */
    FENCE_REPLY_HELD,   /* TAKE, INSPECT: the lock is held; @holder, @owner, @remaining_ms. A
                         * tombstone has the holder FENCE_TOMBSTONE. So has a free lock that is
                         * kept for another waiter (fence/master/next.h). BREAK: the lock id has
                         * the lock under a number above the token, or another lock id has it
                         * under a number that is not above */
    FENCE_REPLY_YES,    /* CONFIRM, EXTEND, JOIN, RELEASE, UNDO, BREAK: done */
    FENCE_REPLY_NO,     /* the same requests, and INSPECT: no such lock there. EXTEND: the
                         * request may join. COUNT: the counter never counted there */
    FENCE_REPLY_PAST,   /* EXTEND, JOIN: no such lock there, and the counter is above the token */
    FENCE_REPLY_TAKEN,  /* EXTEND, JOIN: another lock id has the lock, and the counter is not
                         * above the token */
    FENCE_REPLY_EXHAUSTED,  /* EXTEND, JOIN: the cap on extensions is reached */
    FENCE_REPLY_SUPERSEDED, /* EXTEND, JOIN: the lock id has the lock under a number above the
                             * token; @owner */
    FENCE_REPLY_BROKEN,     /* EXTEND, JOIN: nothing was done: the grant was broken, by @owner */
    FENCE_REPLY_UNCOUNTED,  /* EXTEND, JOIN, RELEASE: nothing was done, and the reply counts for
                             * neither side: a tombstone, or an imported lock that proves nothing */
    FENCE_REPLY_STALE,      /* nothing was done: the view in the request is outdated. @view is
                             * the view of this master */
    FENCE_REPLY_FOREIGN,    /* nothing was done: the key of the lock holds data that Pawl did not
                             * write */
    FENCE_REPLY_ENDLESS,    /* nothing was done: the key of the lock has no expiry */
    FENCE_REPLY_SPENT, /* TAKE, COUNT: the counter is used up: nothing was done. Exception: in a
                        * group the members before @member may be locked. BREAK, RELEASE with
                        * @keep_ms: no number is above the counter */
    FENCE_REPLY_MISCOUNTED, /* TAKE, EXTEND, JOIN, COUNT, BREAK, RELEASE with @keep_ms: nothing
                             * was done: the counter is not a number that Pawl wrote */
    FENCE_REPLY_WRITERS,    /* RELEASE: nothing was done: a writer has this seat, with the other
                             * seats */
    FENCE_REPLY_FULL,       /* COUNT: nothing was done: there are @names_max counters already,
                             * and this is not one of them */
    FENCE_REPLY_REFUSED,    /* nothing was done: no marker, an error */
    FENCE_REPLY_LOST,       /* outcome unknown: the connection ended first */
};

struct fence_reply {
    enum fence_reply_kind kind;
    uint64_t tag;
    unsigned locks;         /* number of locks in the request; 0 counts as 1 */
    int64_t number;         /* NUMBER; HELD. YES to EXTEND or JOIN: the number of extensions of
                             * the lock; 0: its number there is below the token */
    const int64_t *numbers; /* NUMBER, of a group: the number of each lock */
    unsigned blocked;   /* HELD, FOREIGN, ENDLESS, SPENT, MISCOUNTED, of a group: the index of the
                         * lock in the way */
    bool found;         /* NUMBER: the master already had all locks under this id; @remaining_ms,
                         * without the delay */
    bool adopted;       /* YES to RELEASE: the lock was extended, joined, or found by a retry.
                         * More masters may have the lock than its acquire asked */
    const char *holder; /* HELD: the lock id */
    const char *owner;  /* HELD, SUPERSEDED, YES to EXTEND or JOIN: the label, "" without one;
                         * BROKEN: the label of the caller that broke the grant */
    uint64_t remaining_ms;         /* HELD; NUMBER: the shortest rest of a lease that was found,
                                    * at least 1; 0: nothing was found */
    const struct fence_view *view; /* STALE */
    int64_t writes; /* the position of this master after the request (fence/protocol/position.h);
                     * 0: the reply has none */
};

/* The members of an answer with which all answers to @call begin: of a struct fence_call, or of the
 * core's own. */
#define FENCE_ANSWER_TO(call, its_error)                                                           \
    .kind = (call)->kind, .error = (its_error), .origin = (call)->origin,                          \
    .client = (call)->client, .resource = (call)->resource, .seats = (call)->seats,                \
    .mode = (call)->mode, .owner = ""

/* The answer to @call without a lock: @error, and what names the call. */
struct fence_answer fence_answer_refusing(const struct fence_call *call, int error);

/* Returns the word for traces and logs: "take", "number". */
const char *fence_request_name(enum fence_request_kind kind);
const char *fence_reply_name(enum fence_reply_kind kind);

/* Returns the part of a master after its reply, in a round that asks for a yes or a no. */
enum fence_part fence_part_of_reply(enum fence_reply_kind kind);

#endif
