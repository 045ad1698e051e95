/* One round of a named counter: the masters count, and each answers what it is at.
 *
 * A call that counts has its values once a majority of all masters answered the same number in one
 * round. Any other such call shares a master with that majority. There one of the two counted
 * first, and the other's number lies above by its whole count. So values are distinct, and later
 * calls get higher ones.
 *
 * Masters differ where one missed a call, or where two calls crossed. Then the values of the round
 * are no holder's. The next round names the highest number, so that masters which are behind come
 * up to it. A reading counts by nothing. It has to be found at a majority too: what only a few
 * masters have, a later reading might miss. */
#ifndef FENCE_ROUND_COUNTER_CALL_H
#define FENCE_ROUND_COUNTER_CALL_H

#include "fence/round/obstacles.h"
#include "fence/round/tally.h"

enum fence_count_verdict {
    FENCE_COUNT_OPEN,    /* wait for more */
    FENCE_COUNT_AGREED,  /* a majority is at one number */
    FENCE_COUNT_NEVER,   /* a reading: at a majority it never counted */
    FENCE_COUNT_DIFFER,  /* a majority answered, and no number can have one. Some of these may have
                          * no  room, which a hint makes */
    FENCE_COUNT_UNKNOWN, /* too few answered */
};

struct fence_counter_call {
    uint32_t values;                    /* that it counts; 0: it reads */
    int64_t highest;                    /* number that was answered; 0: none */
    int64_t numbers[FENCE_MASTERS_MAX]; /* the answers of masters; 0: it never counted there */
    struct fence_tally tally;
    struct fence_obstacles obstacles;
};

/* Begins a round of @n masters for @values values. Those in @first are asked, those in @spare may
 * be asked later. */
void fence_counter_call_begin(struct fence_counter_call *round, uint32_t values, unsigned n,
                              uint32_t first, uint32_t spare);

/* Master @i answered. */
void fence_counter_call_reply(struct fence_counter_call *round, unsigned i,
                              const struct fence_reply *reply);

/* Reports whether the asked masters cannot settle it, so that all spare masters are to be
 * asked. With the hint, masters that are behind answer the highest number, too. */
bool fence_counter_call_wants_more(const struct fence_counter_call *round);

/* The round is over: masters that owe an answer count as timed out. */
void fence_counter_call_give_up(struct fence_counter_call *round);

/* The facts that are certain by now. Never OPEN once no master owes an answer and no master is
 * spare. AGREED:
 * *@ret_number is the number; untouched otherwise. */
enum fence_count_verdict fence_counter_call_verdict(const struct fence_counter_call *round,
                                                    int64_t *ret_number);

/* Why it is FENCE_COUNT_UNKNOWN: FENCE_ENOQUORUM, FENCE_ESPENT, FENCE_EMISCOUNTED or
 * FENCE_ECOUNTERS. */
int fence_counter_call_error(const struct fence_counter_call *round);

#endif
