/* One round of asking all masters: extend, release, inspect. */
#ifndef FENCE_QUORUM_QUORUM_CALL_H
#define FENCE_QUORUM_QUORUM_CALL_H

#include "fence/quorum/holders.h"
#include "fence/quorum/obstacles.h"
#include "fence/quorum/tally.h"

enum fence_verdict {
    FENCE_VERDICT_OPEN,      /* wait for more */
    FENCE_VERDICT_YES,       /* a majority did it (inspect: one holder has a majority) */
    FENCE_VERDICT_NO,        /* so many say no such lock that no majority can have it (extend: or a
                              * majority has it under a higher number) */
    FENCE_VERDICT_EXHAUSTED, /* extend: it stands, but a majority can no more extend it */
    FENCE_VERDICT_UNKNOWN,   /* too few answered: neither is certain, and nothing may be assumed */
};

struct fence_quorum_call {
    enum fence_call_kind kind; /* EXTEND, RELEASE or INSPECT */
    unsigned exhausted;
    unsigned superseded;
    struct fence_tally tally;
    struct fence_holders holders; /* INSPECT */
    struct fence_obstacles obstacles;
};

/* Begins a vote of @n masters of which those in @active are asked. */
void fence_quorum_call_begin(struct fence_quorum_call *vote, enum fence_call_kind kind, unsigned n,
                             uint32_t active);

/* Master @i answered. */
void fence_quorum_call_reply(struct fence_quorum_call *vote, unsigned i,
                             const struct fence_reply *reply);

/* What is certain by now. Never OPEN once nobody owes an answer, or after
 * fence_tally_give_up(&vote->tally). */
enum fence_verdict fence_quorum_call_verdict(const struct fence_quorum_call *vote);

/* Why it is FENCE_VERDICT_UNKNOWN: FENCE_ENOQUORUM, FENCE_EFOREIGN or FENCE_EENDLESS. */
int fence_quorum_call_error(const struct fence_quorum_call *vote);

#endif
