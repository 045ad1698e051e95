#include "fence/core/call_move.h"

#include "fence/base/moves.h"

#include <assert.h>

static const uint32_t call_moves[] = {
    [CALL_FREE] = FENCE_MOVE(CALL_QUEUED) | FENCE_MOVE(CALL_ADMITTING) | FENCE_MOVE(CALL_VOTING),
    [CALL_QUEUED] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_QUEUED) | FENCE_MOVE(CALL_ADMITTING) |
                    FENCE_MOVE(CALL_TRYING) | FENCE_MOVE(CALL_PAUSING),
    [CALL_ADMITTING] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_TRYING) | FENCE_MOVE(CALL_VOTING),
    [CALL_TRYING] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_QUEUED) | FENCE_MOVE(CALL_PAUSING),
    [CALL_PAUSING] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_QUEUED) | FENCE_MOVE(CALL_ADMITTING) |
                     FENCE_MOVE(CALL_TRYING) | FENCE_MOVE(CALL_PAUSING),
    [CALL_VOTING] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_ADMITTING) | FENCE_MOVE(CALL_VOTING) |
                    FENCE_MOVE(CALL_REACQUIRING),
    [CALL_REACQUIRING] = FENCE_MOVE(CALL_FREE) | FENCE_MOVE(CALL_VOTING),
};

void core_call_move(struct call *call, enum call_state to)
{
    assert(fence_move_allowed(call_moves, call->state, to));
    call->state = to;
}
