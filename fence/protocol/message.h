/* Input and output of the core, as plain data.
 *
 *   client ----call----> +------+ ----request----> master
 *   client <---answer--- | core | <----reply------ master
 *                        +------+
 *
 * Strings are borrowed and terminated. Those in an event need live only until its effects were
 * acted on. Those in an effect live as long, and until the next step on the same core. */
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
    FENCE_CALL_BREAK, /* take the lock from the grant with @token, for any holder */
    FENCE_CALL_WATCH, /* inspect, once the lock is no longer held under @token */
};

enum {
    FENCE_WATCH_FREE = 0, /* in place of a token */
};

/* How many may hold a lock at a time (fence/protocol/seat.h). */
enum fence_mode {
    FENCE_MODE_PLAIN, /* one; of a semaphore, one in each seat */
    FENCE_MODE_READ,  /* readers: each in one of the seats that the fleet has for a name */
    FENCE_MODE_WRITE, /* one writer: in all of these seats */
};

/* The sender of a call, which gets the answer. */
enum fence_origin {
    FENCE_ORIGIN_CLIENT,  /* a client of the service */
    FENCE_ORIGIN_LISTING, /* a listing of held locks; inspect only */
};

/* Names and ids were held against fence/protocol/name.h, numbers against fence/protocol/limits.h,
 * by the caller; the core asserts it. Only the fleet's own maximum TTL is the core's to check
 * (FENCE_ETTL). */
struct fence_call {
    enum fence_call_kind kind;
    enum fence_origin origin; /* comes back in the answer, */
    uint64_t client;          /* and so does this; unique among the calls of clients under way */
    const char *resource;     /* all calls; count: the name of the counter */
    const char *lock_id;      /* acquire, extend, release; for acquire a fresh random one, or
                               * the client's own */
    const char *owner;        /* acquire: the label, may be "", with the delay of the lock
                               * (fence/protocol/owner.h). Break: who breaks it, a label */
    const struct fence_group *group; /* acquire: all of these or none, @resource is the first; NULL:
                                      * @resource alone. Borrowed for the step */
    unsigned seats; /* acquire: one of so many seats of @resource (fence/protocol/seat.h), up to
                     * FENCE_SEATS_MAX. Inspect: each of them. 0: @resource itself, or @group */
    enum fence_mode mode; /* acquire: to read or to write. Inspect: READ, each seat of readers, and
                           * WRITE, the same for its writer. Else PLAIN. @seats is 0 where it is
                           * not PLAIN, and @group NULL */
    bool idempotent;  /* acquire: @lock_id is the client's own, and this may be a retry. A lock that
                       * is there under it counts as acquired */
    bool covers;      /* break: @token is a writer's, and @resource one of its locks: a number up to
                       * @token is of the grant. Release: all locks of the writer are released */
    int64_t token;    /* extend, break, watch: the grant's token. Watch: FENCE_WATCH_FREE waits
                       * until the lock is held */
    uint32_t ttl_ms;  /* acquire, extend */
    uint32_t keep_ms; /* release: others stay out for so long after it, and no longer than the lock
                       * has left; 0: the lock is free at once */
    uint32_t wait_ms; /* acquire: 0 asks once. Watch: at least 1; then it is answered with what was
                       * seen last */
    uint32_t waited_ms; /* acquire: how long its client says that it has waited under @lock_id, up
                         * to FENCE_WAITED_MAX_MS. It counts in a new process only */
    uint32_t count;     /* count: how many values, 1 .. FENCE_COUNT_MAX; 0 reads the last one */
};

/* The part of one master in one call. */
enum fence_part {
    FENCE_PART_PENDING, /* nothing yet; in an answer: not needed any more */
    FENCE_PART_GRANTED, /* did what it was asked */
    FENCE_PART_HELD,    /* a holder has the lock there */
    FENCE_PART_FREE,    /* extend, release, inspect: no such lock there */
    FENCE_PART_DOWN,    /* not connected, or may not vote: never asked */
    FENCE_PART_TIMEOUT, /* asked; outcome unknown */
    FENCE_PART_REFUSED, /* answered, and would not */
};

/* The API's one word for a part. */
const char *fence_part_name(enum fence_part part);

/* The seats of a name that are held. */
struct fence_seats_shown {
    unsigned count;
    struct fence_seat_shown {
        unsigned seat;         /* its index */
        int64_t token;         /* 0: the masters differ */
        uint64_t holder;       /* fence_lock_id_hash() of the one who holds it, */
        const char *owner;     /* and the label */
        uint64_t remaining_ms; /* the rest of its lease and its delay */
        bool kept;             /* it was released, and has no holder */
    } held[FENCE_SEATS_MAX];   /* in the order of their indexes */
};

/* An answer to a call. @kind says which member of the union means something. Text that is not known
 * is "", and a number 0. */
struct fence_answer {
    enum fence_call_kind kind;
    int error; /* 0 or FENCE_E... */
    enum fence_origin origin;
    uint64_t client;

    /* The call's. A seat that was granted is named in place of its semaphore. So is the one lock of
     * several that has a holder, or whose key or counter is not Pawl's. */
    const char *resource;
    unsigned seats;
    enum fence_mode mode;

    /* Acquire, extend, release. */
    const char *lock_id;

    /* The label of the grant: inspect, watch, an extension that is a new grant, FENCE_EHELD. The
     * label of the caller that broke it: FENCE_EBROKEN. */
    const char *owner;

    /* The token of the grant, 0 where the masters differ. FENCE_EMISMATCH: of the grant that
     * stands. */
    int64_t token;

    /* Inspect, watch: of the lease and its delay. FENCE_EHELD, FENCE_EWAITTIMEOUT: until a retry
     * makes sense. */
    uint64_t remaining_ms;

    /* Acquire, extend. */
    struct fence_answer_lease {
        uint32_t ttl_ms;
        uint32_t delay_ms;
        uint32_t ttl_max_ms;     /* what the fleet allows for both */
        uint64_t validity_ms;    /* rounded down */
        int64_t extensions_left; /* how often it may still be extended; -1: not known */
        unsigned granted;        /* masters that agreed */
    } lease;

    union {
        struct {
            const struct fence_group *group; /* of several, or of all seats by a writer: with the
                                              * tokens; NULL otherwise */
            bool found;       /* the lock was there under its id: nothing had to be taken */
            bool confirmed;   /* it took a second round, as masters gave different numbers */
            uint64_t attempt; /* by which the lock was taken */
            uint32_t sent;    /* set of the masters where it may be: for FENCE_EVENT_DECLINED */
        } acquire;
        struct {
            bool anew; /* it is a new grant under the lock id, with a token of its own */
        } extend;
        struct {
            bool released;    /* false: it was no longer held */
            uint32_t keep_ms; /* the call's */
        } release;
        struct { /* and of a watch */
            bool held;
            bool kept;                             /* it is held, was released, and has no holder */
            unsigned waiters;                      /* calls of this server that wait for it */
            const struct fence_seats_shown *shown; /* of seats; NULL otherwise */
        } inspect;
        struct {
            int64_t value; /* the last one that was taken, or the one that was read */
        } count;
        struct {
            bool released;       /* false: it was no longer held */
            uint32_t sent;       /* set of the masters that were asked to end it */
            const char *lock_id; /* where @released, of that grant: for the server's own accounts.
                                  * No caller may learn it. NULL otherwise */
        } breaks;
    };

    uint64_t served_us; /* from the call's event to this answer */
    bool waited;        /* for another call, for a holder, or after a conflict */
    unsigned total;     /* masters in the fleet */
    enum fence_part parts[FENCE_MASTERS_MAX];
};

/* The locks that an attempt may hold, to be undone. Borrowed for the call. */
struct fence_taken {
    const char *resource;
    const struct fence_group *group; /* all of these; NULL: @resource alone */
    const char *lock_id;
    uint64_t attempt;
    uint32_t ttl_ms;
    uint32_t masters; /* the set of masters that may hold it */
};

/* The place of a waiter that left its queue without a grant. Servers of a fleet tell it to each
 * other through the masters. Borrowed for the call. It is about order alone, and may be lost. */
struct fence_place {
    const char *resource;
    const char *lock_id; /* the client's own */
    const char *owner;   /* its key counts (fence/protocol/owner.h) */
    int64_t ticket;      /* fence/master/next.h */
    uint64_t waited_us;  /* since the waiter came first */
};

/* ---- between the core and masters ------------------------------------------------------------ */

/* Replaces a lock id: the lock has no holder, and ends with its time
 * (fence/rejoin/rejoin_state.h).
 */
#define FENCE_TOMBSTONE "~"

/* The lock id of a lock that was released, and stays closed for a while. No client has this one. */
#define FENCE_KEPT_ID "kept-by-the-last-holder"

enum fence_request_kind {
    FENCE_REQUEST_TAKE,    /* if free, count and lock; answer the number. With a group: if
                            * all are free, each of them */
    FENCE_REQUEST_CONFIRM, /* raise the counter and the lock's number to the token */
    FENCE_REQUEST_EXTEND,  /* lengthen where id matches and number <= token */
    FENCE_REQUEST_JOIN,    /* the same; and lock where it is free and the counter <= token, under
                            * @attempt, with the token as the number, and raise the counter to it */
    FENCE_REQUEST_RELEASE, /* delete where the id matches, or keep it closed for @keep_ms. A lock of
                            * a writer only with @covers */
    FENCE_REQUEST_UNDO,    /* delete where id and attempt match, of a group each that does: the
                            * clean-up of a failed attempt */
    FENCE_REQUEST_INSPECT, /* read */
    FENCE_REQUEST_COUNT,   /* raise the counter named @resource to @hint, then by @count; answer
                            * the number. With neither: answer it, NO where it never counted */
    FENCE_REQUEST_BREAK,   /* raise the counter above the token; note for @ttl_ms that @owner broke
                            * this token of the lock id; delete where id matches and number <=
                            * token. YES: no lock with such a number is left there */
};

enum {
    FENCE_TICKET_NONE = -1,
};

/* @kind says which member of the union means something. */
struct fence_request {
    enum fence_request_kind kind;
    uint64_t tag; /* comes back in the reply; 0: the reply is only counted (clean-ups) */
    const char *resource;
    const char *lock_id;
    const char *owner; /* TAKE, JOIN: the label. BREAK: of the caller that breaks */
    uint64_t attempt;
    int64_t token;
    uint32_t ttl_ms; /* TAKE, JOIN: of the lease and the delay that @owner names. EXTEND: of the
                      * lease; the master adds the delay of the lock */
    uint16_t slot;   /* TAKE, CONFIRM, EXTEND, JOIN, BREAK, RELEASE that keeps: the resource's
                      * counter */
    bool idempotent; /* TAKE, CONFIRM: a lock under the same id is as good as this attempt's */

    /* TAKE, CONFIRM, UNDO: all of these instead of @resource, @slot, @token and the hint; NULL:
     * not. */
    const struct fence_group *group;

    union {
        struct {
            /* A number that a master gave for the slot; 0: none. On a free lock the counter is
             * raised to it first, if it is at most FENCE_HINT_LEAP above. */
            int64_t hint;

            /* Of one resource that @waits: the highest number that its server knew of as the call
             * came (fence/master/next.h). 0: it knew none. FENCE_TICKET_NONE: the call is served in
             * no order. */
            int64_t ticket;

            /* Where the lock is held, its release is to be published. */
            bool waits;

            /* The group is a lock and a gate. The gate is not taken, and where the gate is held it
             * stands in the way of a lock that is not found. */
            bool gated;
        } take;
        struct { /* and of JOIN */
            uint32_t extensions_max;
            uint32_t extended; /* JOIN: extensions that the lock has had, this one included */
        } extend;
        struct {
            /* The master keeps the lock closed for this time, and for no longer than its lease. The
             * lock gets FENCE_KEPT_ID, and the counter rises above its number. 0: the master
             * deletes the lock. */
            uint32_t keep_ms;

            /* All locks of a writer are released, not one seat alone. */
            bool covers;
        } release;
        struct {
            uint32_t values;    /* to take; 0 only reads, and raises to @hint */
            uint32_t names_max; /* named counters beyond which none is made */
            int64_t hint;       /* the counter is raised to it, however far above */
        } counter;
    };
};

enum fence_reply_kind {
    FENCE_REPLY_NUMBER, /* TAKE: locked for this attempt, @number counted, or @numbers. COUNT: what
                         * the counter is at, @number */
    FENCE_REPLY_HELD,   /* TAKE, INSPECT: the lock stands there; @holder, @owner, @remaining_ms. A
                         * tombstone has FENCE_TOMBSTONE for its holder. So has a free lock that is
                         * kept for another waiter (fence/master/next.h). BREAK: the lock id has it
                         * under a number above the token, or another one under a number that is not
                         * above */
    FENCE_REPLY_YES,    /* CONFIRM, EXTEND, JOIN, RELEASE, UNDO, BREAK: done */
    FENCE_REPLY_NO,     /* the same, and INSPECT: no such lock there. EXTEND: it may join. COUNT: it
                         * never counted there */
    FENCE_REPLY_PAST,   /* EXTEND, JOIN: no such lock there, and the counter is above the token */
    FENCE_REPLY_TAKEN,  /* EXTEND, JOIN: another lock id has it, and the counter is not above */
    FENCE_REPLY_EXHAUSTED,  /* EXTEND, JOIN: the cap on extensions is reached */
    FENCE_REPLY_SUPERSEDED, /* EXTEND, JOIN: the lock id has it under a number above the token;
                             * @owner */
    FENCE_REPLY_BROKEN,     /* EXTEND, JOIN: nothing was done: the grant was broken, by @owner */
    FENCE_REPLY_UNCOUNTED,  /* EXTEND, JOIN, RELEASE: nothing was done, and it counts for neither
                             * side: a tombstone, or an imported lock that proves nothing */
    FENCE_REPLY_STALE,      /* nothing was done: the view that was named is outdated. @view is what
                             * this master knows */
    FENCE_REPLY_FOREIGN, /* nothing was done: the key of the lock holds what Pawl did not write */
    FENCE_REPLY_ENDLESS, /* nothing was done: the key of the lock has no expiry */
    FENCE_REPLY_SPENT, /* TAKE, COUNT: the counter is used up: nothing was done, but of a group the
                        * members before @member may be locked. BREAK, RELEASE with @keep_ms: no
                        * number is above it */
    FENCE_REPLY_MISCOUNTED, /* TAKE, EXTEND, JOIN, COUNT, BREAK, RELEASE with @keep_ms: nothing was
                             * done: the counter is no number of Pawl's */
    FENCE_REPLY_WRITERS,    /* RELEASE: nothing was done: a writer has it, with the other seats */
    FENCE_REPLY_FULL,       /* COUNT: nothing was done: @names_max counters are there, not this */
    FENCE_REPLY_REFUSED,    /* nothing was done: no marker, an error */
    FENCE_REPLY_LOST,       /* outcome unknown: the connection ended first */
};

struct fence_reply {
    enum fence_reply_kind kind;
    uint64_t tag;
    unsigned locks;         /* that the request was about; 0 counts as 1 */
    int64_t number;         /* NUMBER; HELD. YES to EXTEND or JOIN: the extensions that
                             * the lock has had; 0: its number there is below the token */
    const int64_t *numbers; /* NUMBER, of a group: of each lock */
    unsigned blocked;   /* HELD, FOREIGN, ENDLESS, SPENT, MISCOUNTED, of a group: the index of the
                         * lock in the way */
    bool found;         /* NUMBER: all was locked before under this id; @remaining_ms, without the
                         * delay */
    bool adopted;       /* YES to RELEASE: the lock was extended, joined, or found by a retry. More
                         * masters may have it than its acquire asked */
    const char *holder; /* HELD: the lock id */
    const char *owner;  /* HELD, SUPERSEDED, YES to EXTEND or JOIN: the label, "" without one;
                         * BROKEN: by  whom */
    uint64_t remaining_ms;         /* HELD; NUMBER: the least that was found has left, at least 1;
                                    * 0: nothing was found */
    const struct fence_view *view; /* STALE */
    int64_t writes; /* the position of this master after it (fence/protocol/position.h); 0: it does
                     * not say */
};

/* The members of an answer with which all answers to @call begin: of a struct fence_call, or of the
 * core's own. */
#define FENCE_ANSWER_TO(call, its_error)                                                           \
    .kind = (call)->kind, .error = (its_error), .origin = (call)->origin,                          \
    .client = (call)->client, .resource = (call)->resource, .seats = (call)->seats,                \
    .mode = (call)->mode, .owner = ""

/* The answer to @call without a lock: @error, and what names the call. */
struct fence_answer fence_answer_refusing(const struct fence_call *call, int error);

/* The words of traces and logs: "take", "number". */
const char *fence_request_name(enum fence_request_kind kind);
const char *fence_reply_name(enum fence_reply_kind kind);

/* The part of a master after its reply, in a round that asks for a yes or a no. */
enum fence_part fence_part_of_reply(enum fence_reply_kind kind);

#endif
