/* The tally of one round: what each master contributed, and whether the round can still be won. */
#ifndef FENCE_ROUND_TALLY_H
#define FENCE_ROUND_TALLY_H

#include "fence/protocol/message.h"

struct fence_tally {
    unsigned n;     /* masters in the fleet */
    uint32_t asked; /* set of those a request was sent to */
    uint32_t open;  /* set of those of them that still owe an answer */
    uint32_t spare; /* set of the masters that may yet be asked */
    enum fence_part parts[FENCE_MASTERS_MAX];
};

/* A round that asks the masters in @asked, and may yet ask those in @spare. The others of the @n
 * count as down. */
void fence_tally_begin(struct fence_tally *tally, unsigned n, uint32_t asked, uint32_t spare);

/* The masters in @set, each of them spare, are asked now. */
void fence_tally_ask(struct fence_tally *tally, uint32_t set);

/* Those in @set can no more be asked: they count as down, if they are spare. */
void fence_tally_drop(struct fence_tally *tally, uint32_t set);

/* Those in @set, which answered, are asked another thing in the same round. */
void fence_tally_ask_again(struct fence_tally *tally, uint32_t set);

/* Records master @i's part. False, and nothing changes, if it owes none: a duplicate, a late one.
 */
bool fence_tally_record(struct fence_tally *tally, unsigned i, enum fence_part part);

/* The round is over: masters that still owe an answer count as timed out, spare ones as down. */
void fence_tally_give_up(struct fence_tally *tally);

unsigned fence_tally_count(const struct fence_tally *tally, enum fence_part part);

/* Masters from which nothing is known: down or timed out. */
unsigned fence_tally_unknown(const struct fence_tally *tally);

/* The masters that may still answer: they owe an answer, or may yet be asked. */
unsigned fence_tally_open(const struct fence_tally *tally);

#endif
