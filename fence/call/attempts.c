#include "fence/call/attempts.h"

#include "fence/call/cleanup.h"
#include "fence/call/rounds.h"
#include "fence/call/seating.h"
#include "fence/call/waiting.h"
#include "fence/protocol/lease.h"
#include "fence/round/hedge.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

struct core_group_call *core_group_of(const struct fence_core *core, const struct call *call)
{
    return call->group != FENCE_NOBODY ? &core->groups.calls[call->group] : NULL;
}

/* The rest of the shortest lease among the found locks limits it. */
uint32_t core_attempt_lease_ms(const struct call *call)
{
    uint64_t found_ms = call->taking.attempt.remaining_ms;
    return found_ms < call->ttl_ms ? (uint32_t)found_ms : call->ttl_ms;
}

/* ---- undoing --------------------------------------------------------------------------------- */

/* Undoes a failed attempt on each master that may hold it, also on masters without an answer. The
 * request names the attempt, so it cannot undo a later attempt. */
static void undo_at(struct fence_core *core, const struct call *call, uint32_t masters)
{
    const struct core_group_call *group = core_group_of(core, call);
    const struct fence_taken taken = {
        .resource = core_wants_seat(call) || call->mode != FENCE_MODE_PLAIN
                        ? core_seat_kept_name(core, call)
                        : call->resource,
        .group = group ? &group->group : NULL,
        .lock_id = call->lock_id,
        .attempt = call->taking.attempt.id,
        .ttl_ms = call->ttl_ms + call->delay_ms,
        .masters = masters,
    };
    if (taken.masters)
        core_undo(core, &taken);
}

void core_attempt_undo(struct fence_core *core, const struct call *call)
{
    assert(call->state == CALL_TRYING || call->state == CALL_REACQUIRING);
    undo_at(core, call, call->taking.attempt.sent);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The masters that the attempt asks first, and later. */
static struct fence_attempt_masters masters_of(const struct call *call,
                                               const struct fence_round_masters *known)
{
    struct fence_attempt_masters masters = {.n = known->fleet->n};
    masters.first = fence_round_first(known, call->slot, &masters.spare);
    const uint32_t there = call->kind == FENCE_CALL_EXTEND ? call->extend.there : 0;
    if (there) {
        masters.first = (masters.first | masters.spare) & there;
        masters.spare = 0;
    }
    return masters;
}

/* Returns the slow masters that are tried beside those asked first. */
static uint32_t begin_attempt(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_TRYING || call->state == CALL_REACQUIRING);
    struct fence_attempt *attempt = &call->taking.attempt;
    struct core_group_call *group = core_group_of(core, call);
    const struct fence_round_masters known = core_round_masters(core);
    struct fence_token_votes votes = {.count = 1, .each = &call->taking.votes};
    if (group)
        votes = (struct fence_token_votes){.count = group->group.count, .each = group->votes};
    const struct fence_attempt_masters masters = masters_of(call, &known);
    core_round_new(core, call);
    uint32_t tries = fence_round_begin_trials(&known, masters.spare, call->round.serial);
    call->taking.confirmed = false;
    core->counts.attempts++;
    fence_attempt_begin(attempt, core_random(core), votes, masters, core->now_us);
    if (attempt->state == FENCE_ATTEMPT_TAKING) {
        fence_tally_ask(&attempt->tally, tries);
        fence_attempt_asked(attempt, tries);
    }
    return tries;
}

/* The number that the masters in @set are to come above, so that they agree with the others. */
static int64_t hint_for(const struct fence_core *core, const struct call *call, unsigned k,
                        uint16_t slot, uint32_t set)
{
    int64_t highest = fence_attempt_highest(&call->taking.attempt, k);
    if (core->config.ask == FENCE_ASK_ALL)
        return 0;
    return highest > 0 ? highest - 1
                       : core_counter_hints_for(&core->hints, slot, call->round.generation, set);
}

/* Sends the first round of the attempt to the masters in @set. */
static void take(struct fence_core *core, struct call *call, uint32_t set)
{
    struct core_group_call *group = core_group_of(core, call);
    const bool waits = call->wait_until_us != 0;
    for (unsigned k = 0; group && k < group->group.count; k++) {
        struct fence_group_lock *lock = &group->group.locks[k];
        lock->hint = hint_for(core, call, k, lock->slot, set);
    }
    struct fence_request request = {
        .kind = FENCE_REQUEST_TAKE,
        .attempt = call->taking.attempt.id,
        .ttl_ms = call->ttl_ms + call->delay_ms,
        .take.hint = group ? 0 : hint_for(core, call, 0, call->slot, set),
        .take.waits = waits,
        .take.ticket = waits ? core_ticket(core, call) : 0,
        .idempotent = call->idempotent,
        .group = group ? &group->group : NULL,
    };
    if (call->mode == FENCE_MODE_READ && call->kind == FENCE_CALL_ACQUIRE) {
        request.take.gated = true;
        request.group = core_seat_with_gate(core, call, request.take.hint);
    }
    core_ask(core, call, set, &request);
}

static void keep_tokens(const struct fence_attempt *attempt, struct core_group_call *group)
{
    for (unsigned k = 0; k < group->group.count; k++)
        group->group.locks[k].token = attempt->votes.each[k].token;
}

static void confirm(struct fence_core *core, struct call *call)
{
    /* All of the frozen masters must agree, under the view that the attempt began with. */
    const struct fence_attempt *attempt = &call->taking.attempt;
    assert(attempt->state == FENCE_ATTEMPT_CONFIRMING && attempt->frozen != 0);
    bool someone_left = (attempt->frozen & ~fence_fleet_active(&core->fleet)) != 0;
    if (someone_left || call->round.generation != core->fleet.generation) {
        fence_attempt_outdate(&call->taking.attempt);
        return;
    }
    struct core_group_call *group = core_group_of(core, call);
    if (group)
        keep_tokens(attempt, group);
    call->taking.confirmed = true;
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
    core_round_begin(core, call, attempt->tally.asked, false,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
}

/* Keeps what the counters of the frozen masters are at. */
static void learn_counters(struct fence_core *core, const struct call *call)
{
    const struct core_group_call *group = core_group_of(core, call);
    const struct fence_attempt *attempt = &call->taking.attempt;
    for (unsigned k = 0; k < attempt->votes.count; k++)
        core_counter_hints_learn(&core->hints, group ? group->group.locks[k].slot : call->slot,
                                 call->round.generation, attempt->votes.each[k].token,
                                 attempt->frozen);
}

/* Masters that were asked and not counted need not keep the lock: its release asks a majority. */
static void undo_surplus(struct fence_core *core, const struct call *call)
{
    uint32_t surplus = call->taking.attempt.sent & ~call->taking.attempt.frozen;
    if (surplus && core->config.ask != FENCE_ASK_ALL)
        undo_at(core, call, surplus);
}

void core_attempt_begin(struct fence_core *core, struct call *call)
{
    struct fence_attempt *attempt = &call->taking.attempt;
    uint32_t tries = begin_attempt(core, call);
    if (attempt->state == FENCE_ATTEMPT_FAILED)
        return;
    take(core, call, attempt->sent);
    core_round_begin(core, call, attempt->sent & ~tries, attempt->tally.spare != 0,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
}

/* ---- the round ------------------------------------------------------------------------------- */

struct fence_tally *core_attempt_tally(struct call *call)
{
    return &call->taking.attempt.tally;
}

/* A master may refuse a view that still holds. A second master may do so before the next attempt.
 * Otherwise the other masters may be enough. */
void core_attempt_count(struct fence_core *core, struct call *call, unsigned i,
                        const struct fence_reply *reply)
{
    assert(i < core->fleet.n);
    struct fence_attempt *attempt = &call->taking.attempt;
    const enum fence_attempt_state before = attempt->state;
    struct fence_reply judged = *reply;
    if (reply->kind == FENCE_REPLY_STALE && call->round.generation == core->fleet.generation &&
        call->unbacked++ >= FENCE_UNBACKED_TRIES_MAX)
        judged.kind = FENCE_REPLY_REFUSED;
    fence_attempt_reply(attempt, i, &judged);
    if (before != FENCE_ATTEMPT_TAKING || attempt->frozen == 0)
        return;
    if (attempt->state == FENCE_ATTEMPT_CONFIRMING || attempt->state == FENCE_ATTEMPT_WON)
        core_trace(core, &(struct fence_trace){.kind = FENCE_TRACE_FROZEN,
                                               .call = call->kind,
                                               .client = call->client,
                                               .resource = call->resource,
                                               .attempt = attempt->id,
                                               .masters = attempt->frozen,
                                               .number = attempt->votes.each[0].token});
    if (attempt->state == FENCE_ATTEMPT_CONFIRMING)
        confirm(core, call);
}

bool core_attempt_wants_more(const struct call *call)
{
    return fence_attempt_wants_more(&call->taking.attempt);
}

bool core_attempt_view_ended(struct fence_core *core, struct call *call, uint32_t set)
{
    (void)core, (void)set;
    if (call->taking.attempt.state == FENCE_ATTEMPT_TAKING)
        fence_attempt_outdate(&call->taking.attempt);
    return false;
}

/* The attempt may have failed for want of spare masters that are not active any more. */
void core_attempt_ask(struct fence_core *core, struct call *call, uint32_t set, uint32_t active)
{
    struct fence_attempt *attempt = &call->taking.attempt;
    (void)active;
    if (attempt->state != FENCE_ATTEMPT_TAKING)
        return;
    fence_attempt_asked(attempt, set);
    if (attempt->state != FENCE_ATTEMPT_TAKING || set == 0)
        return;
    take(core, call, set);
}

void core_attempt_give_up(struct call *call)
{
    fence_attempt_give_up(&call->taking.attempt);
}

void core_attempt_settle(struct fence_core *core, const struct call *call)
{
    struct core_group_call *group = core_group_of(core, call);
    assert(call->taking.attempt.state == FENCE_ATTEMPT_WON);
    if (group)
        keep_tokens(&call->taking.attempt, group);
    learn_counters(core, call);
    undo_surplus(core, call);
}
