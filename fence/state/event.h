/* The inputs and outputs of the core: its configuration, events, effects and counts. */
#ifndef FENCE_STATE_EVENT_H
#define FENCE_STATE_EVENT_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/ask.h"
#include "fence/protocol/error.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

struct fence_config {
    unsigned masters;     /* N: odd, 1 .. FENCE_MASTERS_MAX */
    uint32_t calls;       /* calls under way at a time, 1 .. FENCE_CALLS_MAX */
    uint32_t waiters;     /* acquires among them that may wait; one more is FENCE_EWAITERS */
    uint32_t extensions;  /* cap on the extensions of one grant, in a fleet that names none */
    uint32_t owed;        /* locks that a majority owes answers for, beyond which calls wait (see
                           * fence/state/admission.h); 0: FENCE_OWED_MAX */
    uint64_t deadline_us; /* silence after which a master counts as gone, between the two
                           * FENCE_MASTER_DEADLINE bounds; 0: FENCE_MASTER_DEADLINE_US */
    uint32_t counters;    /* named counters beyond which none is made; 0: FENCE_COUNTERS_DEFAULT */
    enum fence_ask ask;   /* the masters that a call asks first */
    uint64_t seed;        /* keys the tables against chosen names */
};

enum fence_event_kind {
    FENCE_EVENT_CALL,     /* a client asks */
    FENCE_EVENT_REPLY,    /* a master answered a request, or it is known that none will come */
    FENCE_EVENT_FACTS,    /* a handshake with a master ended; its requests restart at 0 */
    FENCE_EVENT_HEARD,    /* a probe of a master found the positions that servers told it */
    FENCE_EVENT_DOWN,     /* the connection to a master ended or could not be made. Each request
                           * outstanding there gets its own FENCE_REPLY_LOST, after this */
    FENCE_EVENT_REJOIN,   /* a master answered a FENCE_EFFECT_REJOIN, or it is known that none will
                           * come: as for requests, after a DOWN */
    FENCE_EVENT_LEFT,     /* @client has gone. An acquire of its ends with FENCE_ELEFT, and what it
                           * may have been granted is undone; any other call goes on */
    FENCE_EVENT_DECLINED, /* the client of the grant in the last answer has gone. @declined is
                             undone by its attempt. So a later grant under the same lock id stays */
    FENCE_EVENT_RELEASED, /* somebody released the lock of @released that calls wait for */
    FENCE_EVENT_PLACE,    /* a server of the fleet, perhaps this one, told @place */
    FENCE_EVENT_LAGGED,   /* this process did not run for @lag_us, until now. It could not ask and
                           * not hear, so that is no silence of masters */
    FENCE_EVENT_TICK,     /* time went by: send one when fence_core_deadline() has come */
};

struct fence_event {
    enum fence_event_kind kind;
    uint64_t now_us; /* CLOCK_BOOTTIME; never less than in the event before */
    uint64_t random; /* fresh random bits: attempts and delays are made from them */
    unsigned master; /* REPLY, FACTS, HEARD, DOWN, REJOIN */
    union {
        struct fence_call call;
        uint64_t client; /* LEFT */
        struct fence_taken declined;
        struct {
            const char *resource;
            const char *lock_id; /* lock id of the call that gave it up */
        } released;
        struct fence_place place;
        struct fence_reply reply;
        struct fence_facts facts;
        struct {
            struct fence_positions positions;
            int64_t writes; /* its own position */
        } heard;
        enum fence_reason reason; /* DOWN */
        uint64_t lag_us;          /* LAGGED */
        struct fence_rejoin_reply rejoin;
    };
};

enum fence_effect_kind {
    FENCE_EFFECT_SEND,      /* send @request to each of @masters, after all sent to them before */
    FENCE_EFFECT_ANSWER,    /* answer the client */
    FENCE_EFFECT_REJOIN,    /* send @rejoin to each of @masters, after all sent to them before */
    FENCE_EFFECT_RESTAMP,   /* renew server id and lineage in the marker of each of @masters, if the
                             * marker and both are still those in its facts; then do a new handshake
                             */
    FENCE_EFFECT_HANDSHAKE, /* a new handshake with each of @masters on the same connection */
    FENCE_EFFECT_PLACE,     /* have each of @masters tell @place to all servers, if it can */
    FENCE_EFFECT_RESET,     /* close the connection to each of @masters and open it again, with
                             * backoff. A FENCE_EVENT_DOWN for it is not needed: the core knows */
};

struct fence_effect {
    enum fence_effect_kind kind;
    uint32_t masters; /* a set: bit i is master i */
    union {
        struct fence_request request;
        struct fence_answer answer;
        struct fence_rejoin_request rejoin;
        struct fence_place place;
    };
};

enum {
    /* One step ends at most one call and starts at most one other. It makes a clean-up, a new
     * round, the answer, and what a clean-up or a handshake adds. With room to spare: 12. A master
     * that is back may be read on for each of the 4 members under import, each with 5 sources: 20.
     * Masters with different views are asked one by one: 8. A survey of seats asks for each seat.
     */
    FENCE_EFFECTS_MAX = 40 + FENCE_SEATS_MAX,
};

struct fence_effects {
    unsigned count;
    struct fence_effect items[FENCE_EFFECTS_MAX];
};

/* The counts of the core since it began. */
struct fence_counts {
    uint64_t attempts;  /* to take a lock, or several at once; a call may need more than one */
    uint64_t contended; /* attempts that failed since contenders split the masters */
    uint64_t confirms;  /* second rounds, where masters gave different numbers */
    uint64_t hedges;    /* masters that were asked as another did not answer in time */
    uint64_t rejoins[FENCE_MASTERS_MAX]; /* how often the member rejoined by this server */
};

#endif
