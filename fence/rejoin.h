/* How a master that forgot is taken back: the steps that one server leads, for one member.
 *
 *   CLAIMING --> WIPING --> ASKING --q others--> RECORDING --q others--> HOLDING --> ADMITTING
 *      '-- keeping its locks ----^                      '--- keeping its locks ---------^
 *
 *   CLAIMING   The marker is given a fresh nonce, and the incarnation that the master is to get, if
 *              it is still the marker that was seen. From here on another leader's late requests
 *              find a nonce that is not theirs; and that incarnation, if it turns up elsewhere, is
 *              known to be no other machine's.
 *   WIPING     Its locks go: it no longer knows that they are all.
 *   ASKING     q OTHER active masters answer, so that nothing is recorded which nobody ends.
 *   RECORDING  On q OTHER active masters: record the new incarnation, then read all counters, some
 *              in each script, so that a master at work is not held up. All of them under one view:
 *              begun anew if one of them refuses it.
 *   HOLDING    The longest lease runs out that it may have voted for before.
 *   ADMITTING  The counters are raised to what was read, and it is active under its new
 *              incarnation, if the nonce is still there, and as much was wiped under it as the
 *              leader knows of: a late copy of the claim may bring a nonce back after the master
 *              forgot again.
 *
 * Why tokens cannot go back through it: a grant's majority and the q that were read share a master.
 * Either the grant's act there came before the record, and then the counter that was read is at
 * least its token; or that master refuses the act, since it knows a higher incarnation. The wait
 * serves exclusion alone.
 *
 * A master that lost nothing (it was durable before and is now) keeps its locks, and needs no wait.
 * Its incarnation stays that of its machine (fence/view.h), and so below any that was given to an
 * empty machine in its place: no recording of it hides that there is one. Where no q others are
 * active, it is trusted alone, as what it is or as what others know of it (FENCE_EFFECT_RESTAMP):
 * whoever it votes with meets the q others that know of a machine in its place.
 *
 * A try that fails begins again at CLAIMING, with a new nonce and a higher incarnation. Not
 * thread-safe; no I/O. */
#ifndef FENCE_REJOIN_H
#define FENCE_REJOIN_H

#include "fence/error.h"
#include "fence/limits.h"
#include "fence/view.h"

#include <stdbool.h>
#include <stdint.h>

struct fence_facts;

/* Every counter of a master. One that is absent counts from @floor. */
struct fence_counters {
    int64_t floor;
    int64_t slot[FENCE_SLOTS]; /* 0: absent */
};

/* ---- between the core and masters ------------------------------------------------------------ */

enum fence_rejoin_step {
    FENCE_REJOIN_CLAIM,  /* to the member: write @nonce, if its marker is the one in @seen */
    FENCE_REJOIN_WIPE,   /* to the member: remove some of its locks, from @cursor on */
    FENCE_REJOIN_RECORD, /* to others: record its new incarnation, answer counters from @cursor on.
                          * To ASK: the same under the view as it is, which records nothing */
    FENCE_REJOIN_ADMIT,  /* to the member: raise the counters to @counters, and be active */
};

/* What is borrowed lives until the effects were acted on. */
struct fence_rejoin_request {
    enum fence_rejoin_step step;
    uint64_t tag;    /* comes back in the reply */
    unsigned member; /* index of the master that is taken back */
    uint64_t nonce;  /* CLAIM writes it; WIPE and ADMIT do nothing where they find another */
    bool keep_locks; /* CLAIM: its state stays what it was; else it becomes "joining" */
    const char *fleet_id;
    uint32_t ttl_max_ms;
    const struct fence_facts *seen; /* CLAIM: the facts it was judged by */
    uint32_t wiped;                 /* ADMIT: how many steps of WIPE were done since the claim */
    uint64_t cursor;                /* WIPE, RECORD: 0 at first, then what the reply said */
    int64_t incarnation;            /* CLAIM: what the member is going to be, which is written
                                     * beside the nonce; 0: not known yet */
    const struct fence_view *view;  /* CLAIM: to be known there. RECORD: under which; the
                                     * member's incarnation in it is the one to record. ADMIT:
                                     * to be known there, the member's own included */
    const struct fence_counters *counters; /* ADMIT */
};

enum fence_rejoin_outcome {
    FENCE_REJOIN_DONE,
    FENCE_REJOIN_CHANGED, /* nothing was done: another marker, nonce or view than named */
    FENCE_REJOIN_LOST,    /* outcome unknown: the connection ended, or an error of the server */
};

struct fence_rejoin_reply {
    enum fence_rejoin_outcome outcome;
    uint64_t tag;
    uint64_t cursor;                       /* WIPE, RECORD, DONE: where to go on; 0: that was all */
    const struct fence_counters *counters; /* RECORD, DONE; 0 in slots that were not answered */
    const struct fence_view *view; /* RECORD, CHANGED: what that master knows; may be NULL */
};

/* ---- the state machine ----------------------------------------------------------------------- */

enum fence_rejoin_state {
    FENCE_REJOIN_IDLE,
    FENCE_REJOIN_DELAYED, /* for a short random time, so that servers do not begin in step */
    FENCE_REJOIN_CLAIMING,
    FENCE_REJOIN_WIPING,
    FENCE_REJOIN_ASKING,
    FENCE_REJOIN_RECORDING,
    FENCE_REJOIN_HOLDING,
    FENCE_REJOIN_ADMITTING,
};

struct fence_rejoin {
    enum fence_rejoin_state state;
    bool keep_locks;
    bool beaten; /* the last try met a higher incarnation than its own */
    uint64_t nonce;
    uint64_t serial;                /* of the round under way; part of the tag */
    uint64_t due_us;                /* when the state ends, or patience with it does */
    uint64_t cursor;                /* WIPING */
    uint32_t wiped;                 /* steps of it that were done */
    int64_t incarnation;            /* from CLAIMING on, and kept for the next try; 0: none yet */
    uint32_t asked;                 /* set of masters in this round of ASKING or RECORDING, */
    uint32_t read;                  /* and of those that answered all of it */
    unsigned rounds;                /* of ASKING */
    struct fence_view view;         /* named to all of those, the new incarnation in it */
    struct fence_counters counters; /* the maxima of what was read */
};

/* Begins at DELAYED, until @due_us. */
void fence_rejoin_begin(struct fence_rejoin *rejoin, bool keep_locks, uint64_t due_us);

/* Enters @state, or another round of it: replies to earlier rounds no longer count. */
void fence_rejoin_enter(struct fence_rejoin *rejoin, enum fence_rejoin_state state,
                        uint64_t due_us);

/* Enters ASKING, anew or for the first time, of the masters @asked. */
void fence_rejoin_ask(struct fence_rejoin *rejoin, uint32_t asked, uint64_t due_us);

/* Enters RECORDING, anew or for the first time, on the masters @asked: @view is what the others are
 * known by. Nothing is read yet. */
void fence_rejoin_record(struct fence_rejoin *rejoin, unsigned member,
                         const struct fence_view *view, uint32_t asked, uint64_t due_us);

/* Adds counters that were read. */
void fence_rejoin_add(struct fence_rejoin *rejoin, const struct fence_counters *counters);

/* Over, in whatever way. */
void fence_rejoin_end(struct fence_rejoin *rejoin);

#endif
