/* Acquire: from the line for a resource, through attempts and pauses, to a grant or a reason. */
#include "fence/core_state.h"
#include "fence/lease.h"

#include <assert.h>
#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool known_held(const struct fence_core *core, const struct fence_line *line)
{
    return line->held_until_us > core->now_us;
}

static void remember_holder(const struct fence_core *core, struct fence_line *line,
                            uint64_t remaining_ms, const char *owner, uint64_t holder)
{
    line->holder = holder;
    line->held_until_us = core->now_us + remaining_ms * 1000;
    memcpy(line->owner, owner, strlen(owner) + 1);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static void pause_until(struct fence_core *core, struct call *call, uint64_t due_us)
{
    call->state = CALL_PAUSING;
    if (call->wait_until_us)
        due_us = least(due_us, call->wait_until_us);
    fence_core_wake_at(core, call, due_us);
}

/* A waiter looks soon when it has become the first, so that the masters know that somebody waits.
 * Then it is told when the lock is free; it looks at the end of the lease, and now and then, since
 * it may not have been told. At random, so that servers come apart. */
static uint64_t next_look_us(struct fence_core *core, const struct call *call,
                             const struct fence_line *line)
{
    uint64_t after_us = call->tries == 0 ? FENCE_FIRST_LOOK_US : FENCE_LOOK_US;
    uint64_t look_us =
        core->now_us + after_us + fence_core_random(core) % (after_us * FENCE_LOOK_SPREADS);
    return known_held(core, line) ? least(look_us, line->held_until_us + 1000) : look_us;
}

/* Contenders that split the masters come apart by random delays, longer with each try. */
static uint64_t next_try_us(struct fence_core *core, const struct call *call)
{
    unsigned doublings = call->tries < FENCE_TRIES_MAX ? call->tries : FENCE_TRIES_MAX;
    return core->now_us + fence_core_random(core) % ((uint64_t)FENCE_RETRY_BASE_US << doublings);
}

/* ---- endings --------------------------------------------------------------------------------- */

/* The first of a line learnt that the resource is held: that answers those behind it who only ask.
 */
static void answer_askers(struct fence_core *core, const struct fence_line *line)
{
    if (line->askers == 0)
        return;
    for (uint32_t who = line->first; who != FENCE_NOBODY;
         who = fence_lines_behind(&core->lines, who))
        if (core->calls[who].state == CALL_QUEUED && !core->calls[who].wait_until_us)
            fence_core_wake_at(core, &core->calls[who], core->now_us);
}

/* @call has its answer. Whoever stood behind it is first now. */
static void leave(struct fence_core *core, struct call *call)
{
    if (call->wait_until_us)
        core->waiting--;
    else
        fence_lines_of(&core->lines, fence_core_index(core, call))->askers--;
    fence_clients_remove(&core->clients, fence_core_index(core, call));
    uint32_t successor = fence_lines_leave(&core->lines, fence_core_index(core, call));
    fence_core_finish(core, call);
    if (successor == FENCE_NOBODY)
        return;
    struct call *next = &core->calls[successor];
    const struct fence_line *line = fence_lines_of(&core->lines, successor);
    bool can_wait = next->wait_until_us > core->now_us && known_held(core, line);
    pause_until(core, next, can_wait ? next_look_us(core, next, line) : core->now_us);
}

static void answer_error(struct fence_core *core, struct call *call, int error)
{
    const struct fence_line *line = fence_lines_of(&core->lines, fence_core_index(core, call));
    struct fence_answer *answer = fence_core_answer(core, call, error);
    if (known_held(core, line)) {
        answer->remaining_ms = (line->held_until_us - core->now_us + 999) / 1000;
        answer->owner = line->owner;
    }
    if (call->tries > 0) {
        memcpy(answer->parts, call->attempt.tally.parts, sizeof(answer->parts));
        answer->granted = fence_tally_count(&call->attempt.tally, FENCE_PART_GRANTED);
    }
    leave(core, call);
}

static void answer_grant(struct fence_core *core, struct call *call, uint64_t validity_us)
{
    struct fence_line *line = fence_lines_of(&core->lines, fence_core_index(core, call));
    remember_holder(core, line, call->ttl_ms, call->owner, fence_holders_hash(call->lock_id));
    answer_askers(core, line);
    const struct fence_attempt *attempt = &call->attempt;
    struct fence_answer *answer = fence_core_answer(core, call, 0);
    answer->token = attempt->token;
    answer->validity_ms = validity_us / 1000;
    answer->granted = fence_tally_count(&attempt->tally, FENCE_PART_GRANTED);
    memcpy(answer->parts, attempt->tally.parts, sizeof(answer->parts));
    leave(core, call);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Takes back what a failed attempt may hold, also where no answer came: by its own attempt, so that
 * it cannot undo what a later one was granted. */
static void undo(struct fence_core *core, const struct call *call)
{
    if (call->attempt.sent)
        fence_core_undo(core, call, call->attempt.sent);
}

static bool worth_another_try(const struct fence_core *core, const struct call *call, int error)
{
    if (error != FENCE_EHELD && error != FENCE_ECONTENDED)
        return false;
    if (call->wait_until_us)
        return core->now_us < call->wait_until_us;
    return error == FENCE_ECONTENDED && call->tries < FENCE_TRIES_MAX;
}

/* It was said to be free before those masters were asked that still have it. */
static bool is_on_its_way_out(const struct fence_line *line)
{
    return line->holder != 0 && line->freed == line->holder;
}

static void fail(struct fence_core *core, struct call *call, int error)
{
    undo(core, call);
    struct fence_line *line = fence_lines_of(&core->lines, fence_core_index(core, call));
    if (error == FENCE_EHELD) {
        const struct fence_holders *holders = &call->attempt.holders;
        remember_holder(core, line,
                        fence_holders_remaining_ms(holders, fence_majority(core->fleet.n)),
                        holders->owner, fence_holders_leader(holders));
        answer_askers(core, line);
    }
    if (!worth_another_try(core, call, error)) {
        bool waited = call->wait_until_us && error != FENCE_ENOQUORUM && error != FENCE_ETOOSLOW;
        answer_error(core, call, waited ? FENCE_EWAITTIMEOUT : error);
        return;
    }
    bool is_held = error == FENCE_EHELD && !is_on_its_way_out(line);
    line->freed = 0;
    fence_core_next_round(core, call);
    pause_until(core, call, is_held ? next_look_us(core, call, line) : next_try_us(core, call));
}

static void try(struct fence_core *core, struct call *call)
{
    uint32_t active = fence_fleet_active(&core->fleet);
    call->state = CALL_TRYING;
    call->tries++;
    call->generation = core->fleet.generation;
    fence_core_next_round(core, call);
    fence_attempt_begin(&call->attempt, fence_core_random(core), core->fleet.n, active,
                        core->now_us);
    if (call->attempt.state == FENCE_ATTEMPT_FAILED) {
        fail(core, call, fence_attempt_error(&call->attempt));
        return;
    }
    struct fence_request request = {
        .kind = FENCE_REQUEST_TAKE,
        .attempt = call->attempt.id,
        .ttl_ms = call->ttl_ms,
        .waits = call->wait_until_us != 0,
    };
    fence_core_ask(core, call, call->attempt.sent, &request);
    fence_core_wake_at(core, call, core->now_us + fence_patience_us(call->ttl_ms));
}

static void confirm(struct fence_core *core, struct call *call)
{
    /* All of the frozen masters must agree, under the view that the attempt began with. */
    const struct fence_attempt *attempt = &call->attempt;
    bool someone_left = (attempt->frozen & ~fence_fleet_active(&core->fleet)) != 0;
    if (someone_left || call->generation != core->fleet.generation) {
        fail(core, call, FENCE_ECONTENDED);
        return;
    }
    fence_core_next_round(core, call);
    struct fence_request request = {
        .kind = FENCE_REQUEST_CONFIRM,
        .attempt = attempt->id,
        .token = attempt->token,
    };
    fence_core_ask(core, call, attempt->tally.asked, &request);
    fence_core_wake_at(core, call, core->now_us + fence_patience_us(call->ttl_ms));
}

static void win(struct fence_core *core, struct call *call)
{
    int64_t validity_us = fence_validity_us(call->ttl_ms, call->attempt.began_us, core->now_us);
    if (validity_us <= 0)
        fail(core, call, FENCE_ETOOSLOW);
    else
        answer_grant(core, call, (uint64_t)validity_us);
}

/* ---- what the core calls --------------------------------------------------------------------- */

void fence_core_acquire_begin(struct fence_core *core, struct call *call)
{
    uint32_t me = fence_core_index(core, call);
    struct fence_line *line = fence_lines_join(&core->lines, me, call->resource);
    fence_clients_add(&core->clients, me, call->client);
    call->state = CALL_QUEUED;
    line->askers += !call->wait_until_us;
    core->waiting += call->wait_until_us != 0;
    if (line->first == me)
        try(core, call);
    else if (!call->wait_until_us && known_held(core, line))
        answer_error(core, call, FENCE_EHELD);
    else
        fence_core_wake_at(core, call, call->wait_until_us ? call->wait_until_us : FENCE_NEVER);
}

void fence_core_acquire_reply(struct fence_core *core, struct call *call, unsigned i,
                              const struct fence_reply *reply)
{
    enum fence_attempt_state before = call->attempt.state;
    fence_attempt_reply(&call->attempt, i, reply);
    if (call->attempt.state == before)
        return;
    switch (call->attempt.state) {
    case FENCE_ATTEMPT_TAKING:
        break;
    case FENCE_ATTEMPT_CONFIRMING:
        confirm(core, call);
        break;
    case FENCE_ATTEMPT_WON:
        win(core, call);
        break;
    case FENCE_ATTEMPT_FAILED:
        fail(core, call, fence_attempt_error(&call->attempt));
        break;
    }
}

void fence_core_acquire_timer(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_TRYING) {
        fence_attempt_give_up(&call->attempt);
        fail(core, call, fence_attempt_error(&call->attempt));
        return;
    }
    const struct fence_line *line = fence_lines_of(&core->lines, fence_core_index(core, call));
    if (call->wait_until_us && core->now_us >= call->wait_until_us)
        answer_error(core, call, FENCE_EWAITTIMEOUT);
    else if (!call->wait_until_us && call->tries == 0 && known_held(core, line))
        answer_error(core, call, FENCE_EHELD); /* whoever stood before it has it now */
    else
        try(core, call);
}

void fence_core_acquire_abandon(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_TRYING)
        undo(core, call);
    answer_error(core, call, FENCE_ELEFT);
}

void fence_core_acquire_freed(struct fence_core *core, const char *resource, const char *lock_id)
{
    struct fence_line *line = fence_lines_find(&core->lines, resource);
    if (!line)
        return;
    line->freed = fence_holders_hash(lock_id);
    if (line->holder != 0 && line->holder != line->freed)
        return; /* somebody had the lock since */
    line->held_until_us = 0;
    line->holder = 0;
    if (core->calls[line->first].state == CALL_PAUSING)
        fence_core_wake_at(core, &core->calls[line->first], core->now_us);
}
