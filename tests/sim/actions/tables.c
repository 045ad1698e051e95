#include "tests/sim/actions/tables.h"

#include <string.h>

static bool is_same_view(const struct fence_view *a, const struct fence_view *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

struct sim_shown_try *sim_actions_try(struct sim_actions *actions, uint64_t attempt,
                                      const struct fence_view *view)
{
    for (unsigned k = actions->tries_count; k > 0; k--)
        if (actions->tries[k - 1].id == attempt && is_same_view(&actions->tries[k - 1].view, view))
            return &actions->tries[k - 1];
    return NULL;
}

struct sim_shown_try *sim_actions_try_of_all(struct sim_actions *actions, uint64_t attempt,
                                             uint32_t masters)
{
    for (unsigned k = actions->tries_count; k > 0; k--)
        if (actions->tries[k - 1].id == attempt && (masters & ~actions->tries[k - 1].heard) == 0)
            return &actions->tries[k - 1];
    return NULL;
}

struct sim_shown_round *sim_actions_round(struct sim_actions *actions, unsigned server,
                                          const struct sim_request *request)
{
    for (unsigned k = actions->rounds_count; k > 0; k--) {
        struct sim_shown_round *round = &actions->rounds[k - 1];
        if (round->core == actions->core[server] && round->server == server &&
            round->tag == request->tag && is_same_view(&round->view, &request->view))
            return round;
    }
    return NULL;
}
