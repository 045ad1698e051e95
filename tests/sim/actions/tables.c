#include "tests/sim/actions/tables.h"

struct sim_shown_try *sim_actions_try(struct sim_actions *actions, uint64_t attempt)
{
    for (unsigned k = actions->tries_count; k > 0; k--)
        if (actions->tries[k - 1].id == attempt)
            return &actions->tries[k - 1];
    return NULL;
}

struct sim_shown_round *sim_actions_round(struct sim_actions *actions, unsigned server,
                                          const struct sim_request *request)
{
    for (unsigned k = actions->rounds_count; k > 0; k--) {
        struct sim_shown_round *round = &actions->rounds[k - 1];
        if (round->core == actions->core[server] && round->server == server &&
            round->tag == request->tag)
            return round;
    }
    return NULL;
}
