#include "fence/round/token_votes.h"

#include "fence/base/set.h"

#include <assert.h>

int64_t fence_token_votes_greatest(const struct fence_counter_votes *votes, unsigned n,
                                   uint32_t set)
{
    assert(set != 0 && n <= FENCE_MASTERS_MAX);
    int64_t greatest = 0;
    for (unsigned i = 0; i < n; i++)
        if (fence_set_has(set, i) && votes->numbers[i] > greatest)
            greatest = votes->numbers[i];
    return greatest;
}

static bool all_equal(const struct fence_counter_votes *votes, unsigned n, uint32_t set)
{
    assert(set != 0 && n <= FENCE_MASTERS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (fence_set_has(set, i) && votes->numbers[i] != votes->token)
            return false;
    return true;
}

bool fence_token_votes_fix(const struct fence_token_votes *votes, unsigned n, uint32_t set)
{
    bool agreed = true;
    for (unsigned k = 0; k < votes->count; k++) {
        struct fence_counter_votes *counter = &votes->each[k];
        counter->token = fence_token_votes_greatest(counter, n, set);
        agreed = agreed && all_equal(counter, n, set);
    }
    return agreed;
}
