/* W3: the first of a line asks when it is time, whatever went wrong. That is
 *
 *   at once when it came and no other call was there; soon (FENCE_FIRST_LOOK_US) when it has become
 * first; at once when word comes that the holder, as a majority told it, gave the lock up; after a
 *     retry's delay (FENCE_RETRY_BASE_US) if that word came before it was told;
 *   at the end of the lease that it was told of, or after such a delay;
 *   in any case now and then (FENCE_LOOK_US), each with its spreads.
 *
 * So it sleeps for at most that last one past the moment from which on a majority was free: that
 * is checked for itself, since it is the promise. If all is calm it sleeps much less.
 *
 * A call for several at once is bound by that last one alone.
 *
 * Delays are by the server's own clock; where it was stopped they count from when it goes on. */
#ifndef TESTS_SIM_PROMISES_WAKING_H
#define TESTS_SIM_PROMISES_WAKING_H

#include "tests/sim/promises/waiters.h"

/* Somebody has become the first of @line at server @s, where it has to ask @at_once or soon; begins
 * an attempt. One that asked out of its turn may be asking when it becomes the first. */
void sim_waking_first(struct sim_world *world, unsigned s, struct sim_line *line, bool at_once);
void sim_waking_begin(struct sim_world *world, unsigned s, struct sim_line *line, uint64_t attempt);

/* @call, which wants a seat, asks, or is answered: no seat was free for too long. */
void sim_waking_check_seats(struct sim_world *world, const struct sim_call *call);

/* @first, of @line, asks now or has an answer; @call, anywhere in a line or in none, has one, and
 * was granted the lock of @line. */
void sim_waking_check(struct sim_world *world, const struct sim_call *first,
                      const struct sim_line *line);
void sim_waking_check_end(struct sim_world *world, const struct sim_call *call);
void sim_waking_granted(const struct sim_world *world, const struct sim_call *call,
                        struct sim_line *line);

/* @call, which wants several and stands in no line, asks now or has an answer. */
void sim_waking_check_group(struct sim_world *world, const struct sim_call *call);

/* Server @s is about to learn how master @i answered @request; or that @lock was released. */
void sim_waking_told(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_lock_request *request, const struct sim_reply *reply);
void sim_waking_heard(struct sim_world *world, unsigned s, uint32_t resource, uint32_t lock);

/* A master is about to lock @resource for a caller: a holder that sleeps has slept past its
 * freedom. */
void sim_waking_overtaken(struct sim_world *world, uint32_t resource);

#endif
