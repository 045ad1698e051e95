/* A page of a listing of held locks, or of named counters, as an event/effect machine. No index is
 * kept. The names are read from the masters step by step, and each is then inspected as for any
 * client. So a lock is listed exactly if a majority names one holder for it, or only silent masters
 * keep that holder from a majority.
 *
 *   IDLE --call--> SCANNING --names--> SIFTING --new ones--> INSPECTING --.
 *                     ^                                                   | until the page is full
 *                     '---------------------- next step ------------------'
 *
 *   SCANNING    A lock that q of N masters hold stands on at least one of any N - q + 1. So many
 *               are walked, one after the other, in as many pages as it takes.
 *   SIFTING     A lock that stands on two of these is listed with the first: a name is passed over
 *               where a master walked before names the same holder for it as the one being walked.
 *               If those cannot be asked it is not passed over.
 *   INSPECTING  The core's FENCE_CALL_INSPECT; its answers say whether a lock is held.
 *   ANSWERED    The page was answered, but some of what was asked is still to come.
 *
 * So a lock that is held, by the same holder on the same masters, from the first page to the last
 * is listed: once, but perhaps again if a master goes down or resizes its table in between. One
 * taken or released meanwhile may be listed or not. If a machine takes the place of a master
 * that was walked, a lock that it got by import may be passed over: the cursor does not tell the
 * two apart.
 *
 * A page ends between two steps. A step that has more names than there is room is asked for again
 * with fewer keys. So nothing is missed by what is left over. Only where the smallest step has more
 * names than a whole page has room, a page ends within it. The next page then passes over its names
 * up to the last one. If the step now covers another part of the table (its scan cursor tells), all
 * of them are listed again.
 *
 * A step whose master goes down before its answer is made again, at another master.
 *
 * A page is bounded by its limit and by FENCE_LISTING_STEPS, so it may be short, even empty,
 * though more follow. */
#ifndef FENCE_LISTING_PAGE_H
#define FENCE_LISTING_PAGE_H

#include "fence/fleet/fleet.h"
#include "fence/listing/cursor.h"
#include "fence/listing/names.h"
#include "fence/protocol/listing_message.h"

enum {
    FENCE_LISTING_STEPS = 16,      /* steps in a scan, for a page */
    FENCE_LISTING_CALLS = 64,      /* calls for inspection, that a page makes at a time */
    FENCE_LISTING_EFFECTS_MAX = 2, /* effects in one step: the answer, and a last question */

    /* For the answers of masters that are at work: the longer of this, and so many deadlines of
     * masters. */
    FENCE_LISTING_PATIENCE_US = 250 * 1000,
    FENCE_LISTING_DEADLINES = 2,
};

/* ---- events ---------------------------------------------------------------------------------- */

enum fence_listing_event_kind {
    FENCE_LISTING_EVENT_BEGIN,     /* a client wants a page; the listing is idle */
    FENCE_LISTING_EVENT_SCANNED,   /* @master answered a scan, or it is known that it will not */
    FENCE_LISTING_EVENT_HOLDERS,   /* the same of a question for holders */
    FENCE_LISTING_EVENT_INSPECTED, /* the core answered a call of inspection */
    FENCE_LISTING_EVENT_TICK,      /* fence_listing_deadline() has come */
};

struct fence_listing_event {
    enum fence_listing_event_kind kind;
    uint64_t now_us;                 /* never less than in the event before */
    const struct fence_fleet *fleet; /* as the core sees it now; borrowed for the step */
    union {
        struct {
            const struct fence_listing_call *call; /* borrowed for the step */
            struct fence_listed *locks; /* room for call->limit; borrowed until the answer */
        } begin;
        struct {
            unsigned master;
            const struct fence_found *found; /* borrowed for the step */
            struct fence_listing_names room; /* SCANNED: for found->count names, unless these
                                              * are too many; empty. Borrowed until the next
                                              * scan, or the answer */
        } told;
        const struct fence_answer *answer; /* INSPECTED */
    };
};

/* ---- effects --------------------------------------------------------------------------------- */

enum fence_listing_effect_kind {
    FENCE_LISTING_EFFECT_SCAN,    /* ask the one of @masters for the names behind @scan; one SCANNED
                                   * follows, after this step */
    FENCE_LISTING_EFFECT_HOLDERS, /* ask each of @masters who holds @names; one HOLDERS follows for
                                   * each, after this step */
    FENCE_LISTING_EFFECT_INSPECT, /* have the core inspect each of @names for FENCE_ORIGIN_LISTING,
                                   * or read it where these are counters; one INSPECTED follows for
                                   * each, perhaps before the next effect */
    FENCE_LISTING_EFFECT_ANSWER,  /* answer the client */
};

struct fence_listing_effect {
    enum fence_listing_effect_kind kind;
    enum fence_listing_kind listed; /* the kind of names */
    uint32_t masters;               /* a set: bit i is master i. Each was active a moment ago */
    union {
        struct {
            uint64_t cursor; /* 0, or where the step before said that the next begins */
            const char *prefix;
            unsigned keys; /* to look at: 1 .. FENCE_SCAN_KEYS_MAX */
        } scan;
        struct {
            const struct fence_lock_name *name;
            size_t count; /* not 0 */
        } names;
        struct fence_listing_answer answer;
    };
    char next_cursor[FENCE_LISTING_CURSOR_MAX]; /* cursor for the answer, which points here */
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
    unsigned owed;        /* answers of masters and of the core */
    uint32_t asked;       /* set of masters that owe one */
    uint64_t deadline_us; /* time of the next TICK: to go on with, or the end of the patience */
    int error;            /* the first */
    enum fence_part parts[FENCE_MASTERS_MAX];

    /* The call. */
    enum fence_listing_kind kind;
    uint64_t client;
    unsigned limit;
    char prefix[FENCE_RESOURCE_MAX + 1];

    /* The step of the scan. */
    struct fence_listing_cursor at;
    uint64_t next; /* the scan cursor that follows it */
    unsigned keys; /* that it looks at */
    unsigned steps;
    bool lost;  /* the connection ended before the answer */
    bool split; /* the page ends within it */
    struct fence_listing_names names;
    size_t inspected; /* names that are inspected, or being so */

    /* The page so far. */
    struct fence_listed *locks;
    size_t count;

    /* For the event. */
    uint64_t now_us;
    const struct fence_fleet *fleet;
    struct fence_listing_effects *effects;
};

/* Idle. */
void fence_listing_init(struct fence_listing *listing);

/* One step. @effects is emptied, then filled; act on them in order. Only BEGIN and TICK have any:
 * what comes back is noted, and a TICK goes on with it. Each BEGIN is followed by exactly one
 * answer. */
void fence_listing_step(struct fence_listing *listing, const struct fence_listing_event *event,
                        struct fence_listing_effects *effects);

/* When the next TICK is due; FENCE_NEVER for none. One that comes too early does no harm. */
static inline uint64_t fence_listing_deadline(const struct fence_listing *listing)
{
    return listing->deadline_us;
}

/* Reports whether it can take a call: the last one was answered, and nothing is owed to it. */
static inline bool fence_listing_is_idle(const struct fence_listing *listing)
{
    return listing->phase == FENCE_LISTING_IDLE;
}

/* Asserts its invariants, between two steps. */
void fence_listing_check(const struct fence_listing *listing);

#endif
