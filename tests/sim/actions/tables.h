/* The facts that the model was told so far, to be found again. */
#ifndef TESTS_SIM_ACTIONS_TABLES_H
#define TESTS_SIM_ACTIONS_TABLES_H

#include "tests/sim/actions/actions.h"

/* An attempt; a round of @server. NULL: the model was not told of it. */
struct sim_shown_try *sim_actions_try(struct sim_actions *actions, uint64_t attempt);
struct sim_shown_round *sim_actions_round(struct sim_actions *actions, unsigned server,
                                          const struct sim_request *request);

#endif
