/* A page of a listing of held locks, or of named counters, as an event/effect machine. Pawl keeps
 * no index. The listing reads the names from the masters step by step, and then inspects each name
 * as for any client. So a lock is listed exactly if a majority names one holder for it, or would do
 * so if the silent masters answered.
 *
 *   IDLE --call--> SCANNING --names--> SIFTING --new ones--> INSPECTING --.
 *                     ^                                                   | until the page is full
 *                     '---------------------- next step ------------------'
 *
 *   SCANNING    A lock that q of N masters hold is on at least one of any N - q + 1 masters. The
 *               listing walks so many masters, one after the other, in as many pages as needed.
 *   SIFTING     A lock that is on two of these masters is listed with the first. The listing passes
 *               over a name if a finished master names the same holder for it as the current
 *               master. If the finished masters cannot be asked, the name is not passed over.
 *   INSPECTING  The core's FENCE_CALL_INSPECT; its answers tell whether a lock is held.
 *   ANSWERED    The page was answered, but some replies are still to come.
 *
 * So a lock that the same holder holds on the same masters from the first page to the last is
 * listed. It is listed once, or again if a master goes down or resizes its table in between. A lock
 * that is taken or released meanwhile may be listed or not. If a new machine replaces a master that
 * was walked, a lock that the machine imported may be passed over: the cursor does not tell the two
 * machines apart.
 *
 * A page ends between two steps. If a step has more names than there is room, the listing repeats
 * it with fewer keys. So no name is missed. If even the smallest step has more names than a whole
 * page, the page ends within the step. The next page then passes over the names up to the last
 * listed one. If the step now covers another part of the table (its scan cursor tells), all of its
 * names are listed again.
 *
 * If a master goes down before its answer, another master repeats the step.
 *
 * A page is bounded by its limit and by FENCE_LISTING_STEPS. So a page may be short, or even empty,
 * though more pages follow. */
#ifndef FENCE_LISTING_PAGE_H
#define FENCE_LISTING_PAGE_H

#include "fence/fleet/fleet.h"
#include "fence/listing/cursor.h"
#include "fence/listing/names.h"
#include "fence/protocol/listing_message.h"

enum {
    FENCE_LISTING_STEPS = 16,      /* steps of scans for one page */
    FENCE_LISTING_CALLS = 64,      /* inspections that a page has under way at a time */
    FENCE_LISTING_EFFECTS_MAX = 2, /* effects in one step: the answer, and a last question */

    /* The maximum wait for masters that are at work: the longer of this time and so many deadlines
     * of masters. */
    FENCE_LISTING_PATIENCE_US = 250 * 1000,
    FENCE_LISTING_DEADLINES = 2,
};

/* ---- events ---------------------------------------------------------------------------------- */

enum fence_listing_event_kind {
    FENCE_LISTING_EVENT_BEGIN,     /* a client wants a page; the listing is idle */
    FENCE_LISTING_EVENT_SCANNED,   /* @master answered a scan, or will never answer it */
    FENCE_LISTING_EVENT_HOLDERS,   /* @master answered a question for holders, or will never
                                    * answer it */
    FENCE_LISTING_EVENT_INSPECTED, /* the core answered a call of inspection */
    FENCE_LISTING_EVENT_TICK,      /* fence_listing_deadline() has come */
};

struct fence_listing_event {
    enum fence_listing_event_kind kind;
    uint64_t now_us;                 /* never less than in the previous event */
    const struct fence_fleet *fleet; /* as the core sees it now; borrowed for the step */
    union {
        struct {
            const struct fence_listing_call *call; /* borrowed for the step */
            struct fence_listed *locks; /* room for call->limit; borrowed until the answer */
        } begin;
        struct {
            unsigned master;
            const struct fence_found *found; /* borrowed for the step */
            struct fence_listing_names room; /* SCANNED: empty, with room for found->count names,
                                              * unless there are too many. Borrowed until the
                                              * next scan, or the answer */
        } told;
        const struct fence_answer *answer; /* INSPECTED */
    };
};

/* ---- effects --------------------------------------------------------------------------------- */

enum fence_listing_effect_kind {
    FENCE_LISTING_EFFECT_SCAN,    /* ask the one master in @masters for the names behind @scan;
                                   * one SCANNED follows, after this step */
    FENCE_LISTING_EFFECT_HOLDERS, /* ask each of @masters for the holders of @names; one HOLDERS
                                   * follows for each, after this step */
    FENCE_LISTING_EFFECT_INSPECT, /* have the core inspect each of @names for
                                   * FENCE_ORIGIN_LISTING, or read each counter; one INSPECTED
                                   * follows for each, perhaps before the next effect */
    FENCE_LISTING_EFFECT_ANSWER,  /* answer the client */
};

struct fence_listing_effect {
    enum fence_listing_effect_kind kind;
    enum fence_listing_kind listed; /* the kind of names */
    uint32_t masters;               /* a set: bit i is master i. Each was active when the listing
                                     * last looked */
    union {
        struct {
            uint64_t cursor; /* 0, or the start of this step that the previous step returned */
            const char *prefix;
            unsigned keys; /* to look at: 1 .. FENCE_SCAN_KEYS_MAX */
        } scan;
        struct {
            const struct fence_lock_name *name;
            size_t count; /* not 0 */
        } names;
        struct fence_listing_answer answer;
    };
    char next_cursor[FENCE_LISTING_CURSOR_MAX]; /* cursor for the answer, which points into it */
};

struct fence_listing_effects {
    unsigned count;
    struct fence_listing_effect items[FENCE_LISTING_EFFECTS_MAX];
};

/* ---- the machine ----------------------------------------------------------------------------- */

enum fence_listing_phase {
    FENCE_LISTING_IDLE,
    FENCE_LISTING_SCANNING,
    FENCE_LISTING_SIFTING,
    FENCE_LISTING_INSPECTING,
    FENCE_LISTING_ANSWERED,
};

struct fence_listing {
    enum fence_listing_phase phase;
    unsigned owed;        /* answers that masters and the core owe */
    uint32_t asked;       /* set of masters that owe one */
    uint64_t deadline_us; /* time of the next TICK: to go on, or the end of the maximum wait */
    int error;            /* the first error */
    enum fence_part parts[FENCE_MASTERS_MAX];

    /* The call. */
    enum fence_listing_kind kind;
    uint64_t client;
    unsigned limit;
    char prefix[FENCE_RESOURCE_MAX + 1];

    /* The step of the scan. */
    struct fence_listing_cursor at;
    uint64_t next; /* the scan cursor behind this step */
    unsigned keys; /* number of keys that the step looks at */
    unsigned steps;
    bool lost;  /* the connection ended before the answer */
    bool split; /* the page ends within the step */
    struct fence_listing_names names;
    size_t inspected; /* names whose inspection has ended or is under way */

    /* The page so far. */
    struct fence_listed *locks;
    size_t count;

    /* Valid during one event. */
    uint64_t now_us;
    const struct fence_fleet *fleet;
    struct fence_listing_effects *effects;
};

/* Makes the listing idle. */
void fence_listing_init(struct fence_listing *listing);

/* Does one step. Empties @effects, then fills it; act on the effects in order. Only BEGIN and TICK
 * have effects: other events are noted, and a TICK goes on with them. Each BEGIN is followed by
 * exactly one answer. */
void fence_listing_step(struct fence_listing *listing, const struct fence_listing_event *event,
                        struct fence_listing_effects *effects);

/* Returns when the next TICK is due; FENCE_NEVER: none is. A TICK that comes too early does no
 * harm. */
static inline uint64_t fence_listing_deadline(const struct fence_listing *listing)
{
    return listing->deadline_us;
}

/* Reports whether the listing can take a call: the last call was answered, and no reply is owed. */
static inline bool fence_listing_is_idle(const struct fence_listing *listing)
{
    return listing->phase == FENCE_LISTING_IDLE;
}

/* Asserts the invariants of the listing, between two steps. */
void fence_listing_check(const struct fence_listing *listing);

#endif
