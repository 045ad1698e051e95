/* The masters that may vote, as the world sees it: more than any server can know. */
#ifndef TESTS_SIM_PROMISES_VOTERS_H
#define TESTS_SIM_PROMISES_VOTERS_H

#include <stdbool.h>

struct sim_world;

/* Holds the counters against the tokens that were returned: of the machines that may vote, so few
 * are behind a token that no majority of them could give it out again (P1, seen from the masters).
 * To be asked after each act that changes a marker, and after each grant. */
void sim_voters_check(struct sim_world *world);

/* Reports whether member @i is what it should be, and will be so for now: active, by the process
 * that runs at its address, under the highest incarnation that anybody knows of. */
bool sim_voters_is_in(const struct sim_world *world, unsigned i);

/* Reports whether the fleet can do without member @i now: a majority must be left that remembers.
 */
bool sim_voters_can_spare(const struct sim_world *world, unsigned i);

#endif
