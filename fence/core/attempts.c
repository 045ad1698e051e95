#include "fence/core/attempts.h"

#include "fence/core/cleanup.h"
#include "fence/core/hedge.h"
#include "fence/core/output.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

struct core_group_call *core_group_of(const struct fence_core *core, const struct call *call)
{
    return call->group != FENCE_NOBODY ? &core->groups.calls[call->group] : NULL;
}

/* What is left of the shortest lock that was found limits it. */
uint32_t core_attempt_lease_ms(const struct call *call)
{
    uint64_t found_ms = call->attempt.remaining_ms;
    return found_ms < call->ttl_ms ? (uint32_t)found_ms : call->ttl_ms;
}

/* ---- undoing --------------------------------------------------------------------------------- */

/* Takes back what a failed attempt may hold, also where no answer came. The request names the
 * attempt, so it cannot undo what a later attempt was granted. */
static void undo_at(struct fence_core *core, const struct call *call, uint32_t masters)
{
    const struct core_group_call *group = core_group_of(core, call);
    const struct fence_taken taken = {
        .resource = call->resource,
        .group = group ? &group->group : NULL,
        .lock_id = call->lock_id,
        .attempt = call->attempt.id,
        .ttl_ms = call->ttl_ms,
        .masters = masters,
    };
    if (taken.masters)
        core_undo(core, &taken);
}

void core_attempt_undo(struct fence_core *core, const struct call *call)
{
    undo_at(core, call, call->attempt.sent);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Returns the slow masters that are tried beside those asked first. */
static uint32_t begin_attempt(struct fence_core *core, struct call *call)
{
    struct core_group_call *group = core_group_of(core, call);
    struct fence_token_votes votes = {.count = 1, .each = &call->votes};
    if (group)
        votes = (struct fence_token_votes){.count = group->group.count, .each = group->votes};
    struct fence_attempt_masters masters = {.n = core->fleet.n};
    masters.first = core_hedge_first(core, call->slot, &masters.spare);
    uint32_t tries = core_hedge_tries(core, masters.spare);
    core_next_round(core, call);
    call->generation = core->fleet.generation;
    call->confirmed = false;
    core->counts.attempts++;
    fence_attempt_begin(&call->attempt, core_random(core), votes, masters, core->now_us);
    if (call->attempt.state == FENCE_ATTEMPT_TAKING)
        fence_attempt_ask(&call->attempt, tries);
    core_hedge_try(core, tries, call->round);
    return tries;
}

/* The number that the masters in @set are to come above, so that they agree with the others. */
static int64_t hint_for(const struct fence_core *core, const struct call *call, unsigned k,
                        uint16_t slot, uint32_t set)
{
    int64_t highest = fence_attempt_highest(&call->attempt, k);
    if (core->config.ask == FENCE_ASK_ALL)
        return 0;
    return highest > 0 ? highest - 1
                       : core_counter_hints_for(&core->hints, slot, call->generation, set);
}

/* Sends the first round of the attempt to the masters in @set. */
static void take(struct fence_core *core, struct call *call, uint32_t set)
{
    struct core_group_call *group = core_group_of(core, call);
    for (unsigned k = 0; group && k < group->group.count; k++) {
        struct fence_group_lock *lock = &group->group.locks[k];
        lock->hint = hint_for(core, call, k, lock->slot, set);
    }
    struct fence_request request = {
        .kind = FENCE_REQUEST_TAKE,
        .attempt = call->attempt.id,
        .ttl_ms = call->ttl_ms,
        .hint = group ? 0 : hint_for(core, call, 0, call->slot, set),
        .waits = call->wait_until_us != 0,
        .idempotent = call->idempotent,
        .group = group ? &group->group : NULL,
    };
    core_ask(core, call, set, &request);
}

/* A hedge names the view that the attempt began with. */
static bool may_hedge(const struct fence_core *core, const struct call *call)
{
    return call->generation == core->fleet.generation;
}

/* Asks the spare masters in @set, as far as they can be asked. The attempt may fail for want of
 * them. */
static void take_more(struct fence_core *core, struct call *call, uint32_t set)
{
    struct fence_attempt *attempt = &call->attempt;
    if (!may_hedge(core, call)) {
        fence_attempt_outdate(attempt);
        return;
    }
    uint32_t active = fence_fleet_active(&core->fleet);
    fence_attempt_drop(attempt, ~active);
    set &= active;
    if (attempt->state != FENCE_ATTEMPT_TAKING || set == 0)
        return;
    fence_attempt_ask(attempt, set);
    take(core, call, set);
}

static void keep_tokens(const struct fence_attempt *attempt, struct core_group_call *group)
{
    for (unsigned k = 0; k < group->group.count; k++)
        group->group.locks[k].token = attempt->votes.each[k].token;
}

static void confirm(struct fence_core *core, struct call *call)
{
    /* All of the frozen masters must agree, under the view that the attempt began with. */
    const struct fence_attempt *attempt = &call->attempt;
    bool someone_left = (attempt->frozen & ~fence_fleet_active(&core->fleet)) != 0;
    if (someone_left || call->generation != core->fleet.generation) {
        fence_attempt_outdate(&call->attempt);
        return;
    }
    struct core_group_call *group = core_group_of(core, call);
    if (group)
        keep_tokens(attempt, group);
    call->confirmed = true;
    core->counts.confirms++;
    core_next_round(core, call);
    struct fence_request request = {
        .kind = FENCE_REQUEST_CONFIRM,
        .attempt = attempt->id,
        .token = attempt->votes.each[0].token,
        .idempotent = call->idempotent,
        .group = group ? &group->group : NULL,
    };
    core_ask(core, call, attempt->tally.asked, &request);
    core_hedge_begin(core, call, attempt->tally.asked, false,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
}

/* Keeps what the counters of the frozen masters are at. */
static void learn_counters(struct fence_core *core, const struct call *call)
{
    const struct core_group_call *group = core_group_of(core, call);
    const struct fence_attempt *attempt = &call->attempt;
    for (unsigned k = 0; k < attempt->votes.count; k++)
        core_counter_hints_learn(&core->hints, group ? group->group.locks[k].slot : call->slot,
                                 call->generation, attempt->votes.each[k].token, attempt->frozen);
}

/* Masters that were asked and not counted need not keep the lock: its release asks a majority. */
static void undo_surplus(struct fence_core *core, const struct call *call)
{
    uint32_t surplus = call->attempt.sent & ~call->attempt.frozen;
    if (surplus && core->config.ask != FENCE_ASK_ALL)
        undo_at(core, call, surplus);
}

void core_attempt_begin(struct fence_core *core, struct call *call)
{
    struct fence_attempt *attempt = &call->attempt;
    uint32_t tries = begin_attempt(core, call);
    if (attempt->state == FENCE_ATTEMPT_FAILED)
        return;
    take(core, call, attempt->sent);
    core_hedge_begin(core, call, attempt->sent & ~tries, attempt->tally.spare != 0,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
}

void core_attempt_reply(struct fence_core *core, struct call *call, unsigned i,
                        const struct fence_reply *reply)
{
    struct fence_attempt *attempt = &call->attempt;
    enum fence_attempt_state before = attempt->state;
    struct fence_reply judged = *reply;
    /* The master refuses the view that still holds. By the next attempt a second master may have
     * said the same. If not, the other masters may be enough. */
    if (reply->kind == FENCE_REPLY_STALE && call->generation == core->fleet.generation &&
        call->unbacked++ >= FENCE_UNBACKED_TRIES_MAX)
        judged.kind = FENCE_REPLY_REFUSED;
    core_hedge_answered(core, call, i, reply->kind);
    fence_attempt_reply(attempt, i, &judged);
    if (fence_attempt_wants_more(attempt))
        take_more(core, call, attempt->tally.spare);
    if (attempt->state == FENCE_ATTEMPT_CONFIRMING && before == FENCE_ATTEMPT_TAKING)
        confirm(core, call);
}

void core_attempt_timer(struct fence_core *core, struct call *call)
{
    uint32_t set = 0;
    if (core_hedge_timer(core, call, &call->attempt.tally, &set))
        fence_attempt_give_up(&call->attempt);
    else
        take_more(core, call, set);
}

void core_attempt_settle(struct fence_core *core, const struct call *call)
{
    struct core_group_call *group = core_group_of(core, call);
    assert(call->attempt.state == FENCE_ATTEMPT_WON);
    if (group)
        keep_tokens(&call->attempt, group);
    learn_counters(core, call);
    undo_surplus(core, call);
}
