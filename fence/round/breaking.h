/* Breaks a grant: an operator names the token, and the holder loses the lock.
 *
 * The first round inspects the lock, and learns the lock id that masters name with the token. The
 * second asks all masters, under one view, to break the grant of that lock id and token. In one
 * step each of them
 *
 * - raises its counter above the token. So no extension joins there any more, and the next grant
 *   has a higher token;
 * - notes that the grant was broken. An extension that meets the note is told so, and does not
 *   acquire again;
 * - deletes the lock where the lock id has it under a number that is not above the token. A higher
 *   number is of a later grant, and it stays.
 *
 * The grant is broken once a majority did so. No lock with such a number is then left on any of
 * them, under any lock id. None returns: a lock that is taken there counts above the token; no
 * lock joins; and a copy that such a master imports after a loss of data does not count. The reason
 * is the view: the q masters that the import reads share a master with this majority, and that
 * master broke the grant before it recorded the new incarnation. So fewer than a majority have a
 * copy that counts. Thus no extension that is sent later has a majority under this token.
 *
 * A writer of a read-write lock holds all seats of a name, and loses them together. So a break of
 * one seat that a writer holds is refused before the second round. A break of the writer is a break
 * of each of its locks, which covers.
 *
 * The number alone says less. An attempt under way may have been given the same number by a master
 * whose counter is behind. If the first round takes its lock id for the grant's, the lock of the
 * grant is left where it is, and that master does not count. */
#ifndef FENCE_ROUND_BREAKING_H
#define FENCE_ROUND_BREAKING_H

#include "fence/round/obstacles.h"
#include "fence/round/quorum_call.h"
#include "fence/round/tally.h"

enum fence_break_verdict {
    FENCE_BREAK_OPEN,     /* wait for more */
    FENCE_BREAK_FOUND,    /* the lock id is known: the second round may begin */
    FENCE_BREAK_DONE,     /* a majority broke the grant */
    FENCE_BREAK_FREE,     /* no majority holds the lock, and no master names the token */
    FENCE_BREAK_MISMATCH, /* another grant has the lock */
    FENCE_BREAK_WRITERS,  /* a writer holds the lock, with all other seats: nothing was done */
    FENCE_BREAK_UNKNOWN,  /* neither is certain. Another try is safe */
};

struct fence_breaking {
    int64_t token;
    bool covers;    /* the grant of any number up to the token: it is one of a writer's locks */
    bool writes;    /* the grant that was named is a writer's */
    bool breaks;    /* the second round is under way */
    unsigned named; /* masters that name @lock_id with the token */
    unsigned later; /* second round: masters where the lock id has a number above the token */
    int64_t now;    /* the highest such number */
    struct fence_quorum_call seen; /* the first round, an inspection */
    struct fence_tally tally;      /* the second round */
    struct fence_obstacles obstacles;
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

/* Begins the first round, which asks the masters in @asked. @covers: the lock is one of several
 * under
 * @token, the greatest of their numbers. */
void fence_breaking_begin(struct fence_breaking *breaking, int64_t token, bool covers, unsigned n,
                          uint32_t asked);

/* Begins the second round, which asks the masters in @asked. Precondition: FENCE_BREAK_FOUND. */
void fence_breaking_break(struct fence_breaking *breaking, uint32_t asked);

/* Master @i answered, in the round under way. */
void fence_breaking_reply(struct fence_breaking *breaking, unsigned i,
                          const struct fence_reply *reply);

/* The round is over: masters that owe an answer count as timed out. */
void fence_breaking_give_up(struct fence_breaking *breaking);

/* The verdict so far. Never OPEN once no master owes an answer. */
enum fence_break_verdict fence_breaking_verdict(const struct fence_breaking *breaking);

/* The tally of the round under way. */
struct fence_tally *fence_breaking_tally(struct fence_breaking *breaking);

/* FENCE_BREAK_MISMATCH: the token of the grant that has the lock; 0: the masters differ. */
int64_t fence_breaking_token_now(const struct fence_breaking *breaking);

/* Why it is FENCE_BREAK_UNKNOWN: FENCE_ENOQUORUM, or an obstacle's error. */
int fence_breaking_error(const struct fence_breaking *breaking);

#endif
