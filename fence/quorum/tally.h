/* The tally of one round: what each master contributed, and whether the round can still be won. */
#ifndef FENCE_QUORUM_TALLY_H
#define FENCE_QUORUM_TALLY_H

#include "fence/protocol/message.h"

struct fence_tally {
    unsigned n;     /* masters in the fleet */
    uint32_t asked; /* set of those a request was sent to */
    uint32_t open;  /* set of those that still owe an answer */
    enum fence_part parts[FENCE_MASTERS_MAX];
};

/* A round that asks the masters in @asked; the others of the @n count as down. */
void fence_tally_begin(struct fence_tally *tally, unsigned n, uint32_t asked);

/* Records master @i's part. False, and nothing changes, if it owes none: a duplicate, a late one.
 */
bool fence_tally_record(struct fence_tally *tally, unsigned i, enum fence_part part);

/* The round is over: masters that still owe an answer count as timed out. */
void fence_tally_give_up(struct fence_tally *tally);

unsigned fence_tally_count(const struct fence_tally *tally, enum fence_part part);

/* Masters from which nothing is known: down or timed out. */
unsigned fence_tally_unknown(const struct fence_tally *tally);

unsigned fence_tally_open(const struct fence_tally *tally);

#endif
