/* One attempt to acquire: the two-phase token.
 *
 *   TAKING ----q numbers, all equal----------------------> WON
 *     |  '-----q numbers, not equal--> CONFIRMING --q yes--> WON
 *     |                                    |
 *     '--a majority is out of reach--------'--------------> FAILED
 *
 *   TAKING      Each master asked adds 1 to the slot's counter, locks, and answers the number. A
 *               majority may be asked first, and others later: the answers of all count alike.
 *   CONFIRMING  The first q masters to answer are frozen. The token is the greatest of their
 *               numbers. Each of them raises its counter to the token, if it still holds this
 *               attempt.
 *
 * Why two grants never get their tokens in the wrong order: their majorities share a master. There
 * each grant held the lock from its TAKE to its last word of agreement. So one of the two came
 * wholly first. It left the counter at its token or higher before the other was given a number.
 *
 * Several resources are one attempt: a master locks all of them or none. This text about numbers
 * and tokens applies to each resource by itself. A retry of an acquire may find a lock under its
 * own lock id, since an earlier answer was lost. Such a lock gives the number it has. It was held
 * there ever since, so the argument stands.
 *
 * Three rules carry that argument. A majority is of all N masters, not of the masters that
 * answered. The frozen set never grows: a later number proves nothing, since the lock may have
 * changed hands at that master in between. And a confirmation goes to this attempt with its number,
 * not to the lock id (fence_request's @attempt and @token; the master compares).
 *
 * Source: S. Sanfilippo, the Redlock algorithm (2014), for the lock. The token is a quorum
 * max-register with conflict detection on top of it. */
#ifndef FENCE_ROUND_ATTEMPT_H
#define FENCE_ROUND_ATTEMPT_H

#include "fence/round/holders.h"
#include "fence/round/obstacles.h"
#include "fence/round/tally.h"
#include "fence/round/token_votes.h"

enum fence_attempt_state {
    FENCE_ATTEMPT_TAKING,
    FENCE_ATTEMPT_CONFIRMING,
    FENCE_ATTEMPT_WON,
    FENCE_ATTEMPT_FAILED,
};

struct fence_attempt {
    enum fence_attempt_state state;
    uint64_t id;       /* random, new for every attempt */
    uint64_t began_us; /* before the first request left */
    uint32_t sent;     /* set of masters that may hold something of this attempt */
    uint32_t frozen;   /* the first q that gave a number */
    uint32_t found; /* set of the masters that had it all locked before, under the same lock id */
    uint64_t remaining_ms; /* the least that a lock found so has left; UINT64_MAX: none was found */
    bool stale; /* a master knows a newer view than the one named: another attempt may do better */
    struct fence_token_votes votes;
    struct fence_tally tally;
    struct fence_holders holders;     /* the holders in the way: one holder, or a split vote */
    struct fence_obstacles obstacles; /* and what */
};

/* The masters that an attempt asks, out of @n masters. */
struct fence_attempt_masters {
    unsigned n;
    uint32_t first; /* set of the masters that it asks, */
    uint32_t spare; /* and of the masters that it may yet ask */
};

/* Begins an attempt @id. Each resource has one element of @votes. Too few of @masters: it has
 * FAILED, and nothing must be sent. */
void fence_attempt_begin(struct fence_attempt *attempt, uint64_t id, struct fence_token_votes votes,
                         struct fence_attempt_masters masters, uint64_t now_us);

/* Reports whether the asked masters cannot settle it, so that all spare masters are to be
 * asked. */
bool fence_attempt_wants_more(const struct fence_attempt *attempt);

/* The masters in @set, which its tally asks now, are sent the first round's request. Or its tally
 * dropped masters, and @set is empty: the attempt may have FAILED by that, and must send nothing
 * then. Precondition: TAKING. */
void fence_attempt_asked(struct fence_attempt *attempt, uint32_t set);

/* The view that it began under is over, as far as the caller knows: no more masters can be asked.
 * The attempt FAILS, unless the asked masters may still be enough. */
void fence_attempt_outdate(struct fence_attempt *attempt);

/* The greatest number for the @k-th resource so far; 0: there is none. */
int64_t fence_attempt_highest(const struct fence_attempt *attempt, unsigned k);

/* Master @i answered the round under way. The caller keeps replies of earlier rounds away. When the
 * state becomes CONFIRMING, send the second round to @frozen. */
void fence_attempt_reply(struct fence_attempt *attempt, unsigned i,
                         const struct fence_reply *reply);

/* The round's deadline came: a master that has not answered counts no more. */
void fence_attempt_give_up(struct fence_attempt *attempt);

/* Reports whether nothing that a WON attempt counts had to be taken: the lock was there already. */
bool fence_attempt_found(const struct fence_attempt *attempt);

/* Why a FAILED attempt failed. FENCE_ENOQUORUM: too many masters are down, silent or refusing.
 * FENCE_EHELD: a majority names one holder (see @holders). FENCE_EFOREIGN, FENCE_EENDLESS,
 * FENCE_ESPENT, FENCE_EMISCOUNTED: the lock cannot be taken before a person mends it; @ret_blocked
 * is its index in a group, and is untouched otherwise. FENCE_ECONTENDED: all else; a retry after a
 * random delay may do better. */
int fence_attempt_error(const struct fence_attempt *attempt, unsigned *ret_blocked);

#endif
