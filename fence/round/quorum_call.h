/* One round of asking the masters: extend, release, inspect.
 *
 * An extension is a separate round, under one view. A lock is extended where it is. If it is
 * not, it may be locked again: by a JOIN, once a master of the same round extended it under the
 * number that is its token. A join fails where the counter is past the token, since another grant
 * may have been there. So the masters that said yes have had no other grant since.
 *
 * A grant that an operator broke is over (fence/round/breaking.h). One master that says so is
 * enough: nothing is counted any more.
 *
 * The lock is lost in two cases only. So many masters are past the token that no later round can
 * have a majority. Or all N masters answered that it is not there. A master that is silent now may
 * have it. One that is not past the token may be joined by another round. */
#ifndef FENCE_ROUND_QUORUM_CALL_H
#define FENCE_ROUND_QUORUM_CALL_H

#include "fence/round/holders.h"
#include "fence/round/obstacles.h"
#include "fence/round/tally.h"

enum fence_verdict {
    FENCE_VERDICT_OPEN,      /* wait for more */
    FENCE_VERDICT_YES,       /* a majority did it (inspect: one holder has a majority) */
    FENCE_VERDICT_NO,        /* no majority can have it */
    FENCE_VERDICT_EXHAUSTED, /* extend: it stands, and was extended as often as allowed */
    FENCE_VERDICT_BROKEN,    /* extend: an operator broke the grant */
    FENCE_VERDICT_UNKNOWN,   /* too few answered: neither is certain, and nothing may be assumed */
};

struct fence_quorum_call {
    enum fence_call_kind kind; /* EXTEND, RELEASE or INSPECT */
    unsigned exhausted;
    unsigned past;          /* extend: no such lock there, and the counter is above the token */
    unsigned superseded;    /* extend: the lock id has it there, under a number above the token */
    uint32_t uncounted;     /* set of those with a tombstone, or with an imported lock that proves
                             * nothing */
    int64_t extensions;     /* extend: the most that a lock with the token as its number has had; 0:
                             * no such lock was extended */
    int64_t extensions_max; /* extend: the cap; the caller's to set after the beginning */
    uint32_t joinable;      /* extend: set of those where it is free, and may be locked again */
    uint32_t joined;        /* extend: set of the masters that were asked to do so */
    bool adopted;           /* release: more masters may have it than its acquire asked */
    bool broken;            /* extend: a master said that the grant was broken */
    struct fence_tally tally;
    char owner[FENCE_OWNER_MAX + 1]; /* extend: the label that came with @extensions, or else with a
                                      * number below the token; or who broke
                                      * the grant */
    struct fence_holders holders;    /* INSPECT */
    struct fence_obstacles obstacles;
};

/* Begins a vote of @n masters. Those in @first are asked, and those in @spare may be asked later.
 */
void fence_quorum_call_begin(struct fence_quorum_call *vote, enum fence_call_kind kind, unsigned n,
                             uint32_t first, uint32_t spare);

/* Reports whether the asked masters cannot settle it, so that all spare masters are to be
 * asked. Never for a grant that was broken: no other caller is to keep it longer. */
bool fence_quorum_call_wants_more(const struct fence_quorum_call *vote);

/* Extend: the set of masters, all @active, to send a JOIN to now. They then owe an answer again.
 * @late may still answer, but are not waited for. 0: none, for now, or the grant was broken. */
uint32_t fence_quorum_call_join(struct fence_quorum_call *vote, uint32_t late, uint32_t active);

/* Master @i answered. */
void fence_quorum_call_reply(struct fence_quorum_call *vote, unsigned i,
                             const struct fence_reply *reply);

/* The facts that are certain by now. Never OPEN once no master owes an answer, no master is spare
 * and no master can join; or after fence_quorum_call_give_up(). */
enum fence_verdict fence_quorum_call_verdict(const struct fence_quorum_call *vote);

/* The round is over: masters that owe an answer count as timed out, and no master can join any
 * more.
 */
void fence_quorum_call_give_up(struct fence_quorum_call *vote);

/* Extend: whether the lock is there under its lock id, and masters refuse to extend it in any round
 * of this token. A majority answered. So a grant that was broken does not stand: one of those would
 * have said so. */
bool fence_quorum_call_stands(const struct fence_quorum_call *vote);

/* Extend: the masters that may acquire the lock again: 0 for all, or a set. A lock that a majority
 * has by imports alone is asked for only there. No such master tells its label, and a master that
 * lacks the lock would store it without. */
uint32_t fence_quorum_call_stands_where(const struct fence_quorum_call *vote);

/* Reports whether the lock is there, under a number below the token alone, and too few masters have
 * it: it may be acquired again, as where fence_quorum_call_stands(). */
bool fence_quorum_call_is_below(const struct fence_quorum_call *vote);

/* Inspect: the number of masters that must agree on the holder: a majority, less the masters
 * without an answer. Precondition: the verdict is YES. */
unsigned fence_quorum_call_agreeing(const struct fence_quorum_call *vote);

/* Why it is FENCE_VERDICT_UNKNOWN: FENCE_ENOQUORUM, FENCE_EFOREIGN or FENCE_EENDLESS. */
int fence_quorum_call_error(const struct fence_quorum_call *vote);

#endif
