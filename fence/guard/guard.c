#include "fence/guard/guard.h"

#include "fence/protocol/limits.h"

#include <string.h>

bool fence_token_valid(int64_t token)
{
    return token >= 1 && token <= FENCE_TOKEN_MAX;
}

int fence_guard_judge(int64_t highest, int64_t token, int64_t *ret_highest)
{
    if (!fence_token_valid(token))
        return FENCE_EINVAL;
    if (token < highest)
        return FENCE_ESTALE;
    *ret_highest = token;
    return 0;
}

int fence_guard_judge_id(const char *claimed_id, const char *lock_id)
{
    return strcmp(claimed_id, lock_id) == 0 ? 0 : FENCE_ESTALE;
}
