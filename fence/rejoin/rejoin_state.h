/* How a master that may have forgotten something rejoins: it imports what a majority of the
 * others holds. One server is the leader of a rejoin: it leads the steps for one member.
 *
 *   ASKING --q others--> MARKING --> CLEARING --> RECORDING --q others--> IMPORTING --> ADMITTING
 *                                                                              |           ^
 *                                                     a page does not come     '-> QUARANTINED'
 *
 *   ASKING       q OTHER active masters answer. So no rejoin is begun that cannot be ended.
 *   MARKING      The marker says "joining", under the incarnation that the master is to get. Its
 *                old marker must be the one that was seen. Each mark has its own incarnation,
 *                above all that were known or meant. It is the nonce of all later steps: late
 *                requests of another leader find another nonce.
 *   CLEARING     The locks of the member count no more: they may be incomplete. They are removed.
 *                If the member seems to have kept all it knew, they stay in the way instead.
 *   RECORDING    q OTHER active masters record the new incarnation, all under one view. The step
 *                restarts if one of them refuses that view. From then on they refuse to grant,
 *                confirm or extend anything for a sender that knows less.
 *   IMPORTING    Only then are counters and locks of q of those masters read, page by page, and
 *                merged into the member. A page is read only where the master is what it was when
 *                it recorded. A page is merged only under the nonce. Merging is commutative and
 *                idempotent, so pages come in any order, and twice. If a connection ends, reading
 *                goes on over the next one to the same process. Another process does not know the
 *                cursor.
 *   QUARANTINED  The counters were read, but some locks of a master cannot be. So the longest lease
 *                runs out. After that no earlier lock counts any more.
 *   ADMITTING    The master becomes active under its new incarnation, if the nonce is still there,
 *                and all steps were done under it.
 *
 * The steps from MARKING on are numbered, and each is done only after the one before it. A late
 * copy of the mark may bring a nonce back after the master forgot again. Then the next step finds
 * that those before it are missing. A copy of a step finds that it was done, and does nothing.
 *
 * Why tokens do not go back, and a lock does not get two holders: take a grant or an extension that
 * counts the member as it was before. Its masters and the q that are read share a master. Perhaps
 * the act there came before the record: then its lock, and a counter of at least its token, are
 * read there. Otherwise that master refuses the act. A master among the q that forgot itself
 * rejoined by the same rule.
 *
 * Imported data only stand in the way. A lock counts for its holder's extension only where q
 * masters had it. Its number counts for nothing. Locks of two ids for one name become a tombstone,
 * which has no holder, and which its time alone ends.
 *
 * If no q others are active (a majority restarted together), no master can be asked. There a master
 * is trusted alone if it can say that it lost nothing (fence_facts.intact, FENCE_EFFECT_RESTAMP).
 * So is one that is half-way through an import, which took nothing from it. Its incarnation is of
 * the memory that it kept (fence/protocol/incarnation.h). A machine that was admitted in its place
 * has a higher one. Masters that recorded the higher one refuse the lower.
 *
 * A try that fails begins again at ASKING. Not thread-safe; no I/O. */
#ifndef FENCE_REJOIN_REJOIN_STATE_H
#define FENCE_REJOIN_REJOIN_STATE_H

#include "fence/protocol/limits.h"
#include "fence/protocol/rejoin_message.h"

#include <stdbool.h>
#include <stdint.h>

enum core_rejoin_state {
    CORE_REJOIN_IDLE,
    CORE_REJOIN_DELAYED, /* for a short random time, so that servers do not begin in step */
    CORE_REJOIN_ASKING,
    CORE_REJOIN_MARKING,
    CORE_REJOIN_CLEARING,
    CORE_REJOIN_RECORDING,
    CORE_REJOIN_IMPORTING,
    CORE_REJOIN_QUARANTINED,
    CORE_REJOIN_ADMITTING,
};

/* One of the masters that are read. */
struct core_source {
    enum fence_rejoin_part part; /* being read; FENCE_REJOIN_PARTS: all was */
    bool reading;                /* it owes a page */
    bool broken;                 /* the rest of it will not be read */
    bool unreadable;             /* since it answers no page, though it is there */
    uint64_t cursor;             /* cursor of the next page */
    unsigned number;             /* number of the last request for a page; part of its tag */
    unsigned tries;              /* tries for the next page that a lost connection ended */
    uint64_t away_us;            /* since when no connection to it is of use; 0: one is */
    unsigned merging[FENCE_REJOIN_PARTS]; /* its pages that the member has not acknowledged */
};

struct core_rejoin {
    enum core_rejoin_state state;
    bool beaten;            /* the last try met a higher incarnation than its own */
    uint64_t serial;        /* serial of the round under way; part of the tag */
    uint64_t due_us;        /* when the state ends or times out */
    uint64_t asked_us;      /* when others were asked to record last */
    uint64_t sign_us;       /* when the member was last told to merge something */
    int64_t meant_before;   /* fence_master.meant before the last mark */
    uint64_t recorded_us;   /* when the last of q masters had recorded */
    uint32_t steps;         /* CLEAR and INSTALL that were sent since the mark */
    uint32_t asked;         /* set of masters in this round of ASKING or RECORDING, */
    uint32_t answered;      /* and the masters that did it */
    uint32_t sources;       /* IMPORTING: set of the masters that are read */
    unsigned rounds;        /* rounds in ASKING and RECORDING */
    unsigned stuck;         /* times that locks could not be read, over all tries */
    struct fence_view view; /* named to all of those, the new incarnation in it, */
    struct fence_view named[FENCE_MASTERS_MAX]; /* but for what each alone is named */
    struct core_source source[FENCE_MASTERS_MAX];
};

/* Begins at DELAYED, until @due_us. */
void core_rejoin_state_begin(struct core_rejoin *rejoin, uint64_t due_us);

/* Enters @state, or another round of it: replies to earlier rounds no longer count. */
void core_rejoin_state_enter(struct core_rejoin *rejoin, enum core_rejoin_state state,
                             uint64_t due_us);

/* Enters ASKING or RECORDING, again or for the first time, of the masters @asked. */
void core_rejoin_state_ask(struct core_rejoin *rejoin, enum core_rejoin_state state, uint32_t asked,
                           uint64_t due_us);

/* Enters IMPORTING from @sources, of which nothing was read yet. */
void core_rejoin_state_import(struct core_rejoin *rejoin, uint32_t sources, uint64_t due_us);

/* Enters QUARANTINED, in the round of the import: its pages that are on their way are still
 * awaited. */
void core_rejoin_state_quarantine(struct core_rejoin *rejoin, uint64_t due_us);

/* Pages of @source, of all its parts, that the member has not acknowledged. */
unsigned core_rejoin_state_merging(const struct core_source *source);

/* The sources of which all up to and including @part is merged into the member. */
uint32_t core_rejoin_state_imported(const struct core_rejoin *rejoin, enum fence_rejoin_part part);

/* To source @i, if it is one: its connection ended; it is another process. */
void core_rejoin_state_source_lost(struct core_rejoin *rejoin, unsigned i, uint64_t now_us);
void core_rejoin_state_source_restarted(struct core_rejoin *rejoin, unsigned i, uint64_t now_us);

/* The connection to @source is of no use, or it may not vote just now. */
void core_source_leave(struct core_source *source, uint64_t now_us);

/* The rejoin is over: done or broken off. */
void core_rejoin_state_end(struct core_rejoin *rejoin);

#endif
