#include "tests/sim/promises/counted.h"

#include "tests/sim/promises/check.h"

#include <inttypes.h>

void sim_counted_begun(const struct sim_check *check, struct sim_call *call)
{
    call->least[0] = check->counted[call->set.resource[0]].highest;
}

static void check_distinct(struct sim_check *check, const struct sim_counted *counted,
                           struct sim_block block)
{
    for (uint32_t i = 0; i < counted->blocks_count; i++)
        if (block.first <= counted->blocks[i].last && block.last >= counted->blocks[i].first)
            sim_check_fail(
                check, "C1: values %" PRId64 " to %" PRId64 " overlap with %" PRId64 " to %" PRId64,
                block.first, block.last, counted->blocks[i].first, counted->blocks[i].last);
}

static void counted_block(struct sim_check *check, struct sim_counted *counted,
                          const struct sim_call *call, int64_t value)
{
    const struct sim_block block = {.first = value - call->count + 1, .last = value};
    if (block.first <= call->least[0])
        sim_check_fail(check, "C2: value %" PRId64 " is given after %" PRId64 " was returned",
                       block.first, call->least[0]);
    check_distinct(check, counted, block);
    counted->blocks[counted->blocks_count++] = block;
}

static void check_reading(struct sim_check *check, const struct sim_call *call, int64_t value)
{
    if (value < call->least[0])
        sim_check_fail(check, "C3: value %" PRId64 " is read after %" PRId64 " was returned", value,
                       call->least[0]);
}

void sim_counted_answered(struct sim_check *check, const struct sim_call *call, int64_t value)
{
    struct sim_counted *counted = &check->counted[call->set.resource[0]];
    if (call->error == FENCE_ENOENT)
        check_reading(check, call, 0);
    if (call->error)
        return;
    if (call->count > 0)
        counted_block(check, counted, call, value);
    else
        check_reading(check, call, value);
    if (counted->highest < value)
        counted->highest = value;
}
