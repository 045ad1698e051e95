/* The state of the core, shared by fence/call/, fence/rejoin/ and fence/core.c. Each file that acts
 * on the state calls only files before it in this list:
 *
 *     output                            effects, requests and answers of this step
 *     cleanup, admit, calls             common to all calls
 *     rounds                            the way through a round, for every request
 *     votes, show, inspect, watch       looks at a lock
 *     seating, waiting, attempts, gate, survey
 *                                       common to all acquires
 *     acquire, reacquire, extend, release, break, count
 *                                       a call, by its kind
 *     masters                           facts about masters
 *     rejoin_steps, import, rejoin      masters that rejoin
 *     core.c                            dispatch of events
 */
#ifndef FENCE_STATE_STATE_H
#define FENCE_STATE_STATE_H

#include "fence/base/pool.h"
#include "fence/base/timers.h"
#include "fence/round/attempt.h"
#include "fence/round/breaking.h"
#include "fence/round/counter_call.h"
#include "fence/round/quorum_call.h"
#include "fence/round/round.h"
#include "fence/state/admission.h"
#include "fence/state/clients.h"
#include "fence/state/counter_hints.h"
#include "fence/state/event.h"
#include "fence/state/groups.h"
#include "fence/state/kept_places.h"
#include "fence/state/pending_cleanups.h"
#include "fence/state/seats.h"
#include "fence/state/trace.h"
#include "fence/state/wait_queue.h"

struct core_rejoin; /* fence/rejoin/rejoin_state.h */

/* A call under way.
 *
 *             .--- another is first in queue --> QUEUED --.
 *   ACQUIRE --'                                           | first by now
 *             '------------> TRYING <---------------------'
 *                             |   ^
 *           held, contended   v   | after a random delay, or a release
 *                           PAUSING
 *
 *   ACQUIRE of a seat, under the client's own lock id ---> SURVEYING ---> QUEUED or TRYING
 *   ACQUIRE of a seat, that does not wait, and met another holder: TRYING ---> SURVEYING --->
 * TRYING
 *
 *   ACQUIRE by a writer: of the gate, as above; then of all seats, as of several
 *
 *   EXTEND, RELEASE, INSPECT ---> VOTING
 *
 *   BREAK ---> BREAKING, which is of two rounds
 *
 *   EXTEND: too few masters can extend it, but some have it ---> REACQUIRING ---> VOTING
 *
 *   COUNT, first of its queue:  COUNTING <---> PAUSING, when masters differ.
 *   COUNT, behind the first:    QUEUED ---> COUNTING ---> COUNTED. The first asks for it, too.
 *
 *   WATCH, first of its queue:  VOTING <---> WATCHING ---> WATCHED, when the lock has changed.
 *   WATCH, behind the first:    WATCHING ---> WATCHED. The first looks for it, too.
 *
 * An acquire of several resources stands in no queue: it is TRYING at once.
 *
 * A call that comes back to its place may become the first. The first before it ends its attempt,
 * and is QUEUED again when it would begin another one (fence/state/kept_places.h).
 *
 * Before TRYING, VOTING, BREAKING and COUNTING a call is ADMITTING while the masters owe too much
 * (fence/state/admission.h). An acquire of a seat is PAUSING after it where another call has the
 * turn of that seat by then.
 *
 * Each ends in an answer, which frees the slot. Replies that come later name a round that is over,
 * and are dropped. */
enum call_state {
    CALL_FREE,
    CALL_QUEUED,
    CALL_ADMITTING,
    CALL_SURVEYING,
    CALL_TRYING,
    CALL_PAUSING,
    CALL_VOTING,
    CALL_REACQUIRING,
    CALL_BREAKING,
    CALL_COUNTING,
    CALL_COUNTED,
    CALL_WATCHING,
    CALL_WATCHED,
};

/* The state of an acquire between two attempts. */
struct call_acquire {
    uint32_t place;        /* in core->kept; FENCE_NOBODY: the call has none */
    int64_t ticket;        /* fence/master/next.h; 0: its queue knew no number when the call
                            * arrived */
    unsigned quick_looks;  /* consecutive looks that were due within a moment */
    uint64_t quick_holder; /* the lock id that held the lock at these looks */
    uint64_t asked;        /* seats: bits of the seats that the call asked for since its last
                            * pause */
    uint64_t look;         /* seats: bits of held seats that the call asks for */
    unsigned yields;       /* how often the call paused so that earlier calls could ask for the
                            * other seats */
    bool met;              /* a seat that the call asked for has another holder */
    bool surveyed;         /* the call asked who holds each seat */
    int64_t gate_token;    /* a writer that has the gate: the token of the gate */
    uint64_t gate_us;      /* a writer that has the gate: when the gate was acquired, or last
                            * extended */
    uint64_t look_us;      /* a writer that has the gate: when the call asks for the seats again */
};

/* The state of an extension between two rounds. */
struct call_extend {
    uint64_t join_tag;   /* the attempt that locks are joined by in this round */
    uint64_t regrant_us; /* until when the lock that was acquired again is valid; 0: it was not */
    unsigned regranted;  /* masters that agreed to that */
    uint32_t there;      /* set of the masters that it is acquired again from; 0: all */
};

/* An inspection of seats. */
struct call_show {
    uint32_t index; /* in core->seats.shown, which @votes belong to */
    struct fence_quorum_call *votes;
};

/* The state of a call about a named counter between two rounds. */
struct call_count {
    uint32_t values; /* number of values that the call asked for; 0: it only reads */
    uint32_t batch;  /* the first of a queue: number of calls in its round, itself included */
    uint32_t sum;    /* the first of a queue: number of values of all these calls */
    int64_t hint;    /* the highest number that masters answered */
    int64_t value;   /* COUNTED: the value in the answer */
    int error;       /* COUNTED: the error in the answer */
};

/* A survey of all seats that is under way (fence/call/survey.h). */
struct call_survey {
    struct fence_tally tally;
    uint64_t answered[FENCE_MASTERS_MAX]; /* bits of the seats that each master answered for */
    uint32_t left_ms[FENCE_SEATS_MAX];    /* for each seat, the shortest time that another lock
                                           * id still has */
    uint8_t held[FENCE_SEATS_MAX];        /* for each seat, the masters where another lock id
                                           * holds it */
    uint8_t free[FENCE_SEATS_MAX];        /* for each seat, the masters where it is free */
    uint8_t own[FENCE_SEATS_MAX];         /* for each seat, the masters that have it under the
                                           * lock id of the call */
    uint32_t own_seat; /* the seat that most masters have under that lock id; FENCE_NOBODY: none */
};

/* The state of a watch between two looks. */
struct call_watch {
    uint64_t arrived;   /* looks up to this round began before the call arrived */
    uint64_t looked_us; /* when the last look that counts for the call ended */
    uint64_t until_us;  /* the end of the lease that this look saw */
    int64_t token;      /* the token that this look saw; 0: the masters differed */
    int error;          /* why the last look failed; 0: it succeeded */
    bool looked;        /* a look has counted for the call */
    bool asked;         /* that look asked masters */
    bool knows;         /* a look has found the state of the lock */
    bool held;
    bool kept;
    bool again; /* the first of a queue: the lock changed while the look was under way */
};

/* An attempt under way: of an acquire, or of an extension that acquires again. */
struct call_taking {
    struct fence_attempt attempt;
    struct fence_counter_votes votes; /* the votes for one lock */
    bool confirmed;                   /* the attempt needed a second round */
};

struct call {
    enum call_state state;
    enum fence_call_kind kind;
    enum fence_origin origin;
    uint16_t slot;
    uint8_t seats; /* acquire: number of seats, of which it wants one; inspect: number of seats
                    * to read. 0: @resource itself */
    uint8_t seat;  /* the seat that the call asks for */
    enum fence_mode mode;
    uint32_t ttl_ms;
    uint32_t delay_ms; /* acquire, extension that acquires again: the delay of the lock on the
                        * masters, after the lease */
    uint32_t keep_ms;  /* release */
    int64_t token;
    uint64_t client;
    uint64_t arrived_us;
    uint64_t wait_until_us; /* acquire, watch; 0: the call does not wait */
    uint32_t group;         /* acquire of several: index in core->groups; FENCE_NOBODY: acquire
                             * of one */
    bool idempotent;        /* the lock id is the client's own; the call may be a retry */
    bool covers;            /* see fence_call */
    bool waited;            /* acquire: the call stood behind another call, or paused */
    unsigned tries;         /* attempts or rounds that began */
    unsigned unbacked;      /* refusals of a valid view; the call restarted after each */
    struct fence_round round;
    union { /* selected by the kind */
        struct call_acquire acquire;
        struct call_extend extend;
        struct call_count count;
        struct call_show show;
        struct call_watch watch;
    };
    union {                            /* selected by the state: the request of the current round */
        struct call_survey survey;     /* SURVEYING */
        struct call_taking taking;     /* TRYING, REACQUIRING */
        struct fence_quorum_call vote; /* VOTING; WATCHING, WATCHED: the votes of the last look */
        struct fence_breaking breaking;    /* BREAKING */
        struct fence_counter_call counter; /* COUNTING, COUNTED */
    };
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1]; /* seats: the name of the queue, later the name of the
                                            * seat. Writers: the gate, later the name */
};

struct fence_core {
    struct fence_config config;
    struct fence_fleet fleet;
    struct fence_timers timers;       /* one for each call */
    struct core_wait_queues queues;   /* acquires, by resource */
    struct core_wait_queues counting; /* calls about named counters, by their names */
    struct core_wait_queues watching; /* watches, by resource */
    struct core_kept_places kept;     /* places of waiting acquires, in @queues */
    uint32_t granted_place;           /* place of the latest grant, in @kept; or FENCE_NOBODY */
    uint64_t ranks;                   /* the latest rank in @queues */
    uint64_t claims_until_us;         /* until then callers may report how long they have waited;
                                       * 0: no waiter yet */
    struct core_clients clients;      /* acquires and watches, by client */
    struct core_groups groups;        /* acquires of several resources */
    struct core_seats seats;          /* facts about names whose seats calls want */
    struct core_admission admission;  /* calls that wait until the masters owe fewer answers */
    struct core_cleanups cleanups;    /* clean-ups on their way */
    struct core_rejoin *rejoins;      /* one for each member */
    struct core_counter_hints hints;  /* the values of counters */
    struct fence_latency latencies[FENCE_MASTERS_MAX];
    uint64_t copied_until_us; /* until then members may have imported locks */
    uint64_t seen_generation; /* generation of the views when @copied_until_us was set */
    struct fence_counts counts;
    bool some_are_back; /* a master became active again: rejoins may read on */
    struct call *calls;
    struct fence_pool pool; /* of @calls */
    uint32_t waiting;       /* waiting acquires and watches */
    uint32_t watches;       /* the watches among them */
    uint64_t rounds;

    struct fence_tracer tracer;

    /* The current step. */
    uint64_t now_us;
    uint64_t random;
    struct fence_effects *effects;
};

/* Sends @trace to the tracer, if there is one. */
static inline void core_trace(const struct fence_core *core, const struct fence_trace *trace)
{
    if (core->tracer.line)
        core->tracer.line(core->tracer.context, trace);
}

/* Traces that @kind happened to @call, with @masters and @number if the kind has them. */
static inline void core_trace_call(const struct fence_core *core, enum fence_trace_kind kind,
                                   const struct call *call, uint32_t masters, int64_t number)
{
    if (core->tracer.line)
        core_trace(core, &(struct fence_trace){.kind = kind,
                                               .call = call->kind,
                                               .client = call->client,
                                               .resource = call->resource,
                                               .masters = masters,
                                               .number = number});
}

/* The facts about masters that rounds use in this step. */
static inline struct fence_round_masters core_round_masters(struct fence_core *core)
{
    return (struct fence_round_masters){.fleet = &core->fleet,
                                        .latencies = core->latencies,
                                        .ask = core->config.ask,
                                        .now_us = core->now_us};
}

/* Returns how many acquires can wait at a time. */
static inline uint32_t core_waiters_max(const struct fence_core *core)
{
    const struct fence_config *config = &core->config;
    return config->waiters < config->calls ? config->waiters : config->calls;
}

static inline uint32_t core_index(const struct fence_core *core, const struct call *call)
{
    return (uint32_t)(call - core->calls);
}

static inline void core_wake_at(struct fence_core *core, const struct call *call, uint64_t due_us)
{
    fence_timers_set(&core->timers, core_index(core, call), due_us);
}

#endif
