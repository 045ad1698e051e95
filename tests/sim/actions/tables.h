/* The facts that the model was told so far, to be found again. */
#ifndef TESTS_SIM_ACTIONS_TABLES_H
#define TESTS_SIM_ACTIONS_TABLES_H

#include "tests/sim/actions/actions.h"

/* What an attempt asks under @view; what a round of @server asks under @view. NULL: the model was
 * not told of it. A server names most masters one view, so most are found under one. The model has
 * an attempt, or a round, for each. */
struct sim_shown_try *sim_actions_try(struct sim_actions *actions, uint64_t attempt,
                                      const struct fence_view *view);
struct sim_shown_round *sim_actions_round(struct sim_actions *actions, unsigned server,
                                          const struct sim_request *request);

/* The question of an attempt, where @masters have all answered it under one view. NULL: they did
 * not. */
struct sim_shown_try *sim_actions_try_of_all(struct sim_actions *actions, uint64_t attempt,
                                             uint32_t masters);

#endif
