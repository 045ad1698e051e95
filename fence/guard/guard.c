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

int fence_guard_judge_write(const struct fence_guard *seen, int64_t token,
                            struct fence_guard *ret_seen)
{
    struct fence_guard next = *seen;
    const int err = fence_guard_judge(seen->writer, token, &next.writer);
    if (err)
        return err;
    if (token <= seen->reader)
        return FENCE_ESTALE;
    *ret_seen = next;
    return 0;
}

int fence_guard_judge_read(const struct fence_guard *seen, int64_t token,
                           struct fence_guard *ret_seen)
{
    struct fence_guard next = *seen;
    int64_t ignored;
    const int err = fence_guard_judge(seen->writer, token, &ignored);
    if (err)
        return err;
    if (token > seen->reader)
        next.reader = token;
    *ret_seen = next;
    return 0;
}

int64_t fence_guard_refusing(const struct fence_guard *seen, int64_t token, bool *ret_is_reader)
{
    *ret_is_reader = token >= seen->writer;
    return *ret_is_reader ? seen->reader : seen->writer;
}

int fence_guard_judge_id(const char *claimed_id, const char *lock_id)
{
    return strcmp(claimed_id, lock_id) == 0 ? 0 : FENCE_ESTALE;
}
