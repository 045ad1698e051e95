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
    uint32_t waiters;     /* cap on the extensions of one grant, in a fleet whose marker names
                           * none */
    uint32_t extensions;  /* cap on the extensions of one grant, in a fleet that names none */
    uint32_t owed;        /* limit of locks that a majority owes answers for: beyond it calls
                           * wait (fence/state/admission.h); 0: FENCE_OWED_MAX */
    uint64_t deadline_us; /* silence after which a master counts as down, between the two
                           * FENCE_MASTER_DEADLINE bounds; 0: FENCE_MASTER_DEADLINE_US */
    uint32_t counters;    /* limit of named counters: a new one is not created beyond it; 0:
                           * FENCE_COUNTERS_DEFAULT */
    enum fence_ask ask;   /* the masters that a call asks first */
    uint64_t seed;        /* keys the hash tables, since clients choose names */
};

enum fence_event_kind {
    FENCE_EVENT_CALL,     /* a client makes a call */
    FENCE_EVENT_REPLY,    /* a master answered a request, or will never answer it */
    FENCE_EVENT_FACTS,    /* a handshake with a master ended; its requests restart at 0 */
    FENCE_EVENT_HEARD,    /* a probe of a master read the positions that servers sent to that
                           * master */
    FENCE_EVENT_DOWN,     /* the connection to a master ended or could not be made. Each request
                           * outstanding there gets its own FENCE_REPLY_LOST, after this event */
    FENCE_EVENT_REJOIN,   /* a master answered a FENCE_EFFECT_REJOIN, or will never answer it: as
                           * for requests, after a DOWN */
    FENCE_EVENT_LEFT,     /* @client has disconnected. An acquire of @client ends with
                           * FENCE_ELEFT, and a grant that it may have is undone. Any other call
                           * goes on */
    FENCE_EVENT_DECLINED, /* the client of the grant in the last answer has disconnected. The
                           * core undoes @declined by its attempt. So a later grant under the
                           * same lock id stays */
    FENCE_EVENT_RELEASED, /* the lock of @released, for which calls wait, was released */
    FENCE_EVENT_PLACE,    /* a server of the fleet, perhaps this one, sent @place */
    FENCE_EVENT_LAGGED,   /* this process did not run for the last @lag_us. It could neither ask
                           * nor hear, so this is not a silence of masters */
    FENCE_EVENT_TICK,     /* time has passed: send a TICK when fence_core_deadline() has come */
};

struct fence_event {
    enum fence_event_kind kind;
    uint64_t now_us; /* CLOCK_BOOTTIME; never less than in the previous event */
    uint64_t random; /* fresh random bits, for attempts and delays */
    unsigned master; /* REPLY, FACTS, HEARD, DOWN, REJOIN */
    union {
        struct fence_call call;
        uint64_t client; /* LEFT */
        struct fence_taken declined;
        struct {
            const char *resource;
            const char *lock_id; /* lock id of the call that released the lock */
        } released;
        struct fence_place place;
        struct fence_reply reply;
        struct fence_facts facts;
        struct {
            struct fence_positions positions;
            int64_t writes; /* the position of the master itself */
        } heard;
        enum fence_reason reason; /* DOWN */
        uint64_t lag_us;          /* LAGGED */
        struct fence_rejoin_reply rejoin;
    };
};

enum fence_effect_kind {
    FENCE_EFFECT_SEND,      /* send @request to each of @masters, after everything sent to them
                             * before */
    FENCE_EFFECT_ANSWER,    /* answer the client */
    FENCE_EFFECT_REJOIN,    /* send @rejoin to each of @masters, after everything sent to them
                             * before */
    FENCE_EFFECT_RESTAMP,   /* renew server id and lineage in the marker of each of @masters, if
                             * the marker and both are still as in its facts; then do a new
                             * handshake */
    FENCE_EFFECT_HANDSHAKE, /* do a new handshake with each of @masters on the same connection */
    FENCE_EFFECT_PLACE,     /* have each of @masters send @place to all servers, if it can */
    FENCE_EFFECT_RESET,     /* close the connection to each of @masters and reconnect, with
                             * backoff. The caller need not send a FENCE_EVENT_DOWN: the core
                             * knows */
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
     * round, the answer, and the effects of a clean-up or a handshake: 12, with room to spare. When
     * a master is back, up to 4 members under import read on, each from 5 sources: 20. Masters with
     * different views are asked one by one: 8. A survey of seats asks for each seat. */
    FENCE_EFFECTS_MAX = 40 + FENCE_SEATS_MAX,
};

struct fence_effects {
    unsigned count;
    struct fence_effect items[FENCE_EFFECTS_MAX];
};

/* The counts of the core since it began. */
struct fence_counts {
    uint64_t attempts;  /* attempts to take a lock, or several at once; a call may need more than
                         * one */
    uint64_t contended; /* attempts that failed because contenders split the masters */
    uint64_t confirms;  /* second rounds, needed because masters gave different numbers */
    uint64_t hedges;    /* masters that were asked because another did not answer in time */
    uint64_t rejoins[FENCE_MASTERS_MAX]; /* how often this server led a rejoin of the member to
                                          * its end */
};

#endif
