/* The input, the knowledge and the end of a run of a bootstrap is given, what it knows, and how it
 * ends (fence/bootstrap/bootstrap.h).
 */
#ifndef FENCE_BOOTSTRAP_RUN_H
#define FENCE_BOOTSTRAP_RUN_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/rejoin_message.h"
#include "fence/protocol/view.h"

#include <stdbool.h>
#include <stdint.h>

/* How far above everything known a token floor is put. */
#define FENCE_FLOOR_MARGIN (INT64_C(1) << 32)

/* The highest number that a floor can be put above: some tokens are left to go on with. */
#define FENCE_FLOOR_SEEN_MAX (FENCE_TOKEN_MAX - 2 * FENCE_FLOOR_MARGIN)

enum {
    FENCE_BOOTSTRAP_WATCH_US = 1000 * 1000, /* between two looks at the claims, in WAITING */
};

/* The states in which a run ends that does not fail. */
enum fence_bootstrap_until {
    FENCE_BOOTSTRAP_ALL_DONE,
    FENCE_BOOTSTRAP_ALL_LOOKED_AT, /* and judged; nothing is written */
    FENCE_BOOTSTRAP_ALL_CLAIMED,
};

struct fence_bootstrap_params {
    unsigned n;          /* masters: odd, at most FENCE_MASTERS_MAX */
    bool goes_on;        /* a fleet that granted tokens goes on above a floor; else a new fleet */
    int64_t seen;        /* @goes_on: no guard has seen a higher token; at least each floor that an
                          * earlier run named. 0 .. FENCE_FLOOR_SEEN_MAX */
    uint32_t ttl_max_ms; /* 0: that of the survivors, or else FENCE_TTL_MAX_DEFAULT_MS */
    uint32_t readers;    /* seats of readers for each name; 0: as the survivors have it, or else
                          * FENCE_READERS_DEFAULT */
    uint32_t extensions_max; /* for one grant; 0: as the survivors have it, or else
                              * FENCE_EXTENSIONS_DEFAULT */
    enum fence_bootstrap_until until;

    /* For a move (fence/bootstrap/closing.h). */
    bool closes;     /* the fleet of these masters is closed for ever; @goes_on is false */
    bool is_known;   /* somebody answers for @seen: a majority need not remember */
    bool was_closed; /* @goes_on: an earlier run closed the fleet it follows, for @fleet_id */
    char from[FENCE_ID_HEX_LEN + 1]; /* @goes_on: the fleet it follows; "": none */
    uint32_t from_ttl_max_ms;        /* the longest lease of that fleet */
    uint64_t from_until_us;          /* when the last of its leases has run out; 0: not known */
    struct fence_predecessors predecessors; /* of that fleet */

    char fleet_id[FENCE_ID_HEX_LEN + 1]; /* at random: for a fleet that has none. @closes: of the
                                          * fleet that follows */
    uint64_t random[FENCE_MASTERS_MAX];  /* another for each run: of the incarnations */
};

enum fence_bootstrap_state {
    FENCE_BOOTSTRAP_LOOKING,
    FENCE_BOOTSTRAP_CLAIMING,
    FENCE_BOOTSTRAP_WIPING,
    FENCE_BOOTSTRAP_SURVEYING,
    FENCE_BOOTSTRAP_READING_LEASES,
    FENCE_BOOTSTRAP_CLOSING,
    FENCE_BOOTSTRAP_WAITING,
    FENCE_BOOTSTRAP_ADMITTING,
    FENCE_BOOTSTRAP_ENDED,
};

/* Why a run failed. Those above the line are refusals: nothing was written. */
enum fence_bootstrap_failure {
    FENCE_BOOTSTRAP_DONE,
    FENCE_BOOTSTRAP_BAD_COUNT,    /* an even number of masters, or too many */
    FENCE_BOOTSTRAP_BAD_TTL,      /* the maximum TTL is out of bounds */
    FENCE_BOOTSTRAP_UNFIT,        /* the server is unfit whatever it holds: @reason */
    FENCE_BOOTSTRAP_MARKED,       /* a new fleet: it is a member of another */
    FENCE_BOOTSTRAP_CUT_SHORT,    /* a new fleet: a run with a token floor broke off on it */
    FENCE_BOOTSTRAP_PLACE,        /* a survivor from another place in the list */
    FENCE_BOOTSTRAP_OTHER_FLEET,  /* a survivor of another fleet than one before it */
    FENCE_BOOTSTRAP_OTHER_TTL,    /* a survivor with another maximum TTL */
    FENCE_BOOTSTRAP_NOTHING_LOST, /* a majority, @count, remembers */
    FENCE_BOOTSTRAP_INCARNATION,  /* an incarnation leaves no room for higher ones */
    FENCE_BOOTSTRAP_MOVED,        /* its fleet was moved to other masters */
    FENCE_BOOTSTRAP_OTHER_SIZE,   /* its fleet has another number of masters */
    FENCE_BOOTSTRAP_NO_FLEET,     /* closes: no master is of any fleet */
    FENCE_BOOTSTRAP_FORGOTTEN,    /* in a move: fewer than a majority, @count, remember */
    FENCE_BOOTSTRAP_OTHER_MOVE,   /* closes: it was closed for another fleet than this run's */
    /* ---- */
    FENCE_BOOTSTRAP_FLOOR,      /* no floor fits above @seen */
    FENCE_BOOTSTRAP_LOST_ONE,   /* it cannot be reached, gave no answer, or an error */
    FENCE_BOOTSTRAP_CHANGED,    /* its marker is not the one that was looked at */
    FENCE_BOOTSTRAP_TAKEN_OVER, /* it is claimed no more: wiped, or claimed by another run */
};

/* The first failure. */
struct fence_bootstrap_outcome {
    enum fence_bootstrap_failure failure;
    enum fence_bootstrap_state state; /* in which it failed */
    unsigned master;                  /* the first that it is about */
    enum fence_reason reason;         /* UNFIT */
    unsigned count;                   /* NOTHING_LOST, FORGOTTEN */
    int64_t seen;                     /* FLOOR */
    unsigned admitted;                /* masters that vote now */
};

/* The owner reads all of it, and changes none of it. */
struct fence_bootstrap {
    struct fence_bootstrap_params params;
    enum fence_bootstrap_state state;
    struct fence_bootstrap_outcome outcome;
    unsigned at; /* the master that is asked now */
    struct fence_facts seen[FENCE_MASTERS_MAX];

    char fleet_id[FENCE_ID_HEX_LEN + 1]; /* the fields for the marker of each master is to say */
    uint32_t ttl_max_ms;
    uint32_t readers;
    uint32_t extensions_max;
    struct fence_predecessors predecessors; /* of the fleet that the markers are to name */
    struct fence_view known;                /* the knowledge of survivors */
    struct fence_view admitted;             /* the terms under which the fleet goes on under */
    unsigned survivors;
    unsigned closed;                       /* closes: masters that an earlier run has closed, */
    char closed_for[FENCE_ID_HEX_LEN + 1]; /* and the fleet that follows */
    uint32_t keeps; /* closes: a set of masters that remember all they voted for */
    uint32_t skips; /* a set of masters that nothing is asked of after LOOKING */

    uint32_t steps[FENCE_MASTERS_MAX]; /* done on each since its mark */
    uint64_t cursor;                   /* WIPING */
    int64_t highest;                   /* number of a survivor's counter */
    int64_t floor;                     /* 0: none */
    uint64_t until_us;                 /* WAITING. @closes: when the last lease of the fleet has
                                        * run out; 0: not known */
    struct fence_page empty;
};

#endif
