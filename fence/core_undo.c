/* Clean-ups of failed attempts: told, remembered until acknowledged, told again. */
#include "fence/core_state.h"

static void tell_debt(struct fence_core *core, const struct fence_debt *debt, uint32_t set)
{
    struct fence_request request = {
        .kind = FENCE_REQUEST_UNDO,
        .tag = fence_core_tag(debt->serial, true, (uint32_t)(debt - core->debts.debts)),
        .resource = debt->resource,
        .lock_id = debt->lock_id,
        .owner = "",
        .attempt = debt->attempt,
    };
    fence_core_send(core, set, &request);
}

static uint32_t open_debt(struct fence_core *core, const struct call *call, const char *resource,
                          uint32_t set)
{
    struct fence_debt owed = {
        .attempt = call->attempt.id,
        .expires_us = core->now_us + call->ttl_ms * UINT64_C(1000) + FENCE_DEBT_SLACK_US,
        .owed = set,
    };
    fence_core_copy_text(owed.resource, sizeof(owed.resource), resource);
    fence_core_copy_text(owed.lock_id, sizeof(owed.lock_id), call->lock_id);
    return fence_debts_open(&core->debts, &owed, core->now_us);
}

void fence_core_undo(struct fence_core *core, const struct call *call, uint32_t set)
{
    uint32_t index = open_debt(core, call, call->resource, set);
    if (index == FENCE_NO_DEBT) {
        /* Too many at once: this one is told without being remembered. */
        struct fence_request request = {.kind = FENCE_REQUEST_UNDO, .attempt = call->attempt.id};
        fence_core_tell(core, call, set, &request);
        return;
    }
    struct fence_debt *debt = &core->debts.debts[index];
    debt->told = set & fence_fleet_active(&core->fleet);
    tell_debt(core, debt, debt->told);
}

/* Where the table is full the rest stays until its lease ends. */
void fence_core_undo_group(struct fence_core *core, const struct call *call,
                           const struct fence_group *group, uint32_t set)
{
    for (unsigned k = 0; k < group->count; k++)
        if (open_debt(core, call, group->members[k].resource, set) == FENCE_NO_DEBT)
            break;
    fence_debts_tell_again(&core->debts);
}

void fence_core_undo_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                           enum fence_reply_kind kind)
{
    /* Refused means that nothing was done, as much as lost may mean it. */
    bool done =
        kind != FENCE_REPLY_LOST && kind != FENCE_REPLY_REFUSED && kind != FENCE_REPLY_STALE;
    if (!done)
        fence_debts_lose(&core->debts, index, serial, i);
    if (kind == FENCE_REPLY_STALE)
        fence_debts_tell_again(&core->debts); /* under the view learnt from it */
    if (done)
        fence_debts_settle(&core->debts, index, serial, i);
}

void fence_core_undo_again(struct fence_core *core)
{
    uint32_t set = 0;
    const struct fence_debt *debt =
        fence_debts_next(&core->debts, fence_fleet_active(&core->fleet), core->now_us, &set);
    if (debt)
        tell_debt(core, debt, set);
}
