/* How a master that may have lost data rejoins: it imports what a majority of the other masters
 * holds. One server is the leader of a rejoin: it leads the steps for one member.
 *
 *   ASKING --q others--> MARKING --> CLEARING --> RECORDING --q others--> IMPORTING --> ADMITTING
 *                                                                              |           ^
 *                                                     a page does not come     '-> QUARANTINED'
 *
 *   ASKING       q OTHER active masters answer. So no rejoin begins that cannot end.
 *   MARKING      The marker becomes "joining", under the incarnation that the member is to get. The
 *                old marker must still be as it was seen. Each mark has a new incarnation, above
 *                all incarnations that are known or meant. It is the nonce of all later steps:
 *                late requests of another leader find another nonce.
 *   CLEARING     The locks of the member no longer count: they may be incomplete. They are removed.
 *                If the member seems to have kept all its data, its locks stay and block instead.
 *   RECORDING    q OTHER active masters record the new incarnation, all under one view. The step
 *                restarts if one of them refuses that view. From then on these masters refuse to
 *                grant, confirm or extend anything for a sender with an older view.
 *   IMPORTING    After that the leader reads the counters and locks of q of those masters, page by
 *                page, and merges them into the member. A page is read only if the master is still
 *                in the state in which it recorded. A page is merged only under the nonce. Merging
 *                is commutative and idempotent, so pages arrive in any order, and twice. If a
 *                connection ends, reading goes on over the next one to the same process. Another
 *                process does not know the cursor.
 *   QUARANTINED  The counters were read, but some locks of a master cannot be read. So the member
 *                waits for the longest lease. After that no earlier lock counts any more.
 *   ADMITTING    The member becomes active under its new incarnation, if the nonce is still there
 *                and all steps were done under it.
 *
 * The steps from MARKING on are numbered. The member does each step only after the step before it.
 * A late copy of the mark may restore a nonce after the member lost data again. Then the next step
 * finds that earlier steps are missing. A copy of a step finds that the step was done, and does
 * nothing.
 *
 * Why tokens never go back, and a lock never gets two holders: take a grant or an extension that
 * counts the member as it was before. Its masters and the q masters that are read share a master.
 * If that master acted before it recorded, its lock, and a counter of at least its token, are read
 * there. Otherwise that master refuses to act. A master among the q that lost data itself rejoined
 * by the same rule.
 *
 * Imported data only block. A lock counts for an extension by its holder only if q masters had it.
 * Its number does not count. Locks of two ids for one name become a tombstone: a lock without a
 * holder, which ends only when its lease expires.
 *
 * If no q other masters are active (a majority restarted together), no master can be asked. Then a
 * master is trusted alone if it can tell that it lost nothing (fence_facts.intact,
 * FENCE_EFFECT_RESTAMP). The same holds for a master that is half-way through an import: the import
 * removed nothing from it. Its incarnation is of the memory that it kept
 * (fence/protocol/incarnation.h). If a machine was admitted in its place, that machine has a higher
 * incarnation. Masters that recorded the higher incarnation refuse the lower one.
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

/* One of the masters that the import reads from. */
struct core_source {
    enum fence_rejoin_part part; /* the part that is being read; FENCE_REJOIN_PARTS: all parts
                                  * were read */
    bool reading;                /* the source owes a page */
    bool broken;                 /* the rest of the source will not be read */
    bool unreadable;             /* broken, since the source is connected and answers no page */
    uint64_t cursor;             /* cursor of the next page */
    unsigned number;             /* number of the last request for a page; part of its tag */
    unsigned tries;              /* tries for the next page that ended with a lost connection */
    uint64_t away_us;            /* since when the source has no usable connection; 0: it has one */
    unsigned merging[FENCE_REJOIN_PARTS]; /* pages of the source that the member has not
                                           * acknowledged */
};

struct core_rejoin {
    enum core_rejoin_state state;
    bool beaten;            /* the last try met a higher incarnation */
    uint64_t serial;        /* serial of the round under way; part of the tag */
    uint64_t due_us;        /* when the state ends or times out */
    uint64_t asked_us;      /* when masters were last asked to record */
    uint64_t sign_us;       /* when the last of q masters recorded */
    int64_t meant_before;   /* fence_master.meant before the last mark */
    uint64_t recorded_us;   /* when the last of q masters had recorded */
    uint32_t steps;         /* CLEAR and INSTALL requests sent since the mark */
    uint32_t asked;         /* set of masters in this round of ASKING or RECORDING, */
    uint32_t answered;      /* set of these masters that did it */
    uint32_t sources;       /* IMPORTING: set of the masters that are read */
    unsigned rounds;        /* rounds in ASKING and RECORDING */
    unsigned stuck;         /* times that locks could not be read, in all tries */
    struct fence_view view; /* the view that most masters in @asked were sent, with the new
                             * incarnation */
    struct fence_view named[FENCE_MASTERS_MAX]; /* the view that each master was sent if it
                                                 * differs */
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

/* Enters IMPORTING from @sources: nothing was read from them yet. */
void core_rejoin_state_import(struct core_rejoin *rejoin, uint32_t sources, uint64_t due_us);

/* Enters QUARANTINED, in the round of the import: pages that are on their way are still awaited. */
void core_rejoin_state_quarantine(struct core_rejoin *rejoin, uint64_t due_us);

/* Returns the number of pages of @source, of all its parts, that the member has not
 * acknowledged. */
unsigned core_rejoin_state_merging(const struct core_source *source);

/* Returns the sources whose parts up to and including @part are merged into the member. */
uint32_t core_rejoin_state_imported(const struct core_rejoin *rejoin, enum fence_rejoin_part part);

/* The connection to source @i ended; source @i is another process. Nothing happens if @i is no
 * source. */
void core_rejoin_state_source_lost(struct core_rejoin *rejoin, unsigned i, uint64_t now_us);
void core_rejoin_state_source_restarted(struct core_rejoin *rejoin, unsigned i, uint64_t now_us);

/* @source has no usable connection, or has no vote at the moment. */
void core_source_leave(struct core_source *source, uint64_t now_us);

/* Ends the rejoin: it is done or broken off. */
void core_rejoin_state_end(struct core_rejoin *rejoin);

#endif
