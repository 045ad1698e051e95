/* The holders of a lock, as the masters name them. They are kept while the replies of one round
 * come in, to find the one holder that a majority names. */
#ifndef FENCE_ROUND_HOLDERS_H
#define FENCE_ROUND_HOLDERS_H

#include "fence/protocol/message.h"

struct fence_holders {
    uint32_t named;   /* set of masters that named a holder */
    unsigned top;     /* a master that named the holder with the most votes; valid if votes > 0 */
    unsigned votes;   /* how many named that holder */
    unsigned blocked; /* for a group: the index of a lock that it has */
    uint64_t hash[FENCE_MASTERS_MAX]; /* hash of the lock id */
    int64_t number[FENCE_MASTERS_MAX];
    uint64_t remaining_ms[FENCE_MASTERS_MAX];
    char owner[FENCE_OWNER_MAX + 1]; /* the label that came with that holder */
};

/* No holder was named yet. */
void fence_holders_begin(struct fence_holders *holders);

/* Master @i answered FENCE_REPLY_HELD. At most once a master and round. */
void fence_holders_record(struct fence_holders *holders, unsigned i,
                          const struct fence_reply *reply);

/* The fence_lock_id_hash() of that holder; 0: no holder was named, or it has no holder. */
uint64_t fence_holders_top(const struct fence_holders *holders);

/* Reports whether that is no holder: the lock was released, and stays closed for a while. */
bool fence_holders_kept(const struct fence_holders *holders);

/* How many masters name the holder with the next most votes; 0: all name one. */
unsigned fence_holders_rival_votes(const struct fence_holders *holders);

/* How long the holder named most often still has it with @majority masters: the majority-th longest
 * of what they say. 0 if fewer name it. */
uint64_t fence_holders_remaining_ms(const struct fence_holders *holders, unsigned majority);

/* The number on which at least @majority masters with that holder agree; 0 if there is none, or
 * more than one. */
int64_t fence_holders_token(const struct fence_holders *holders, unsigned majority);

/* The highest number that any holder was named with; 0: no holder was named. */
int64_t fence_holders_highest(const struct fence_holders *holders);

#endif
