#include "fence/call/acquire.h"

#include "fence/call/admit.h"
#include "fence/call/attempts.h"
#include "fence/call/call_move.h"
#include "fence/call/seating.h"
#include "fence/call/survey.h"
#include "fence/call/waiting.h"
#include "fence/call/watch.h"
#include "fence/call/writer_gate.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/lock_id.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* ---- endings --------------------------------------------------------------------------------- */

/* The last words of the masters; NULL: nothing yet. */
static const struct fence_tally *latest_tally(const struct call *call)
{
    if (call->state == CALL_SURVEYING)
        return &call->survey.tally;
    return call->tries > 0 ? &call->taking.attempt.tally : NULL;
}

/* A freed slot keeps its strings, and its group, for the rest of the step. */
static void answer_failed(struct fence_core *core, struct call *call, int error)
{
    const struct core_holder_hint *seen = core_first_to_end(core, call);
    const struct core_group_call *group = core_group_of(core, call);
    const struct fence_tally *tally = latest_tally(call);
    struct fence_answer *answer = core_answer(core, call, error);
    bool obstructed = fence_error_is_obstacle(error);
    bool held = !obstructed && core_knows_held(core, call);
    if (held) {
        answer->remaining_ms = (seen->held_until_us - core->now_us + 999) / 1000;
        answer->owner = seen->owner;
    }
    if (group && (obstructed || (held && !core_writes(call))))
        answer->resource = group->group.locks[group->blocked].resource;
    if (tally) {
        memcpy(answer->parts, tally->parts, sizeof(answer->parts));
        answer->lease.granted = fence_tally_count(tally, FENCE_PART_GRANTED);
    }
    /* A client that waits in steps comes again under its lock id, and finds its gate. */
    const bool returns = error == FENCE_EWAITTIMEOUT && call->idempotent;
    if (core_has_gate(call) && !returns)
        core_gate_release(core, call->resource, call->lock_id);
    core_leave(core, call, false);
    if ((core_wants_seat(call) || core_writes(call)) && !obstructed)
        core_seat_drop(call);
}

static void tell_watches(struct fence_core *core, const struct call *call,
                         const struct core_group_call *group)
{
    if (!group)
        core_watch_changed(core, call->resource);
    for (unsigned k = 0; group && k < group->group.count; k++)
        core_watch_changed(core, group->group.locks[k].resource);
}

static void answer_granted(struct fence_core *core, struct call *call, uint64_t validity_us)
{
    const struct fence_attempt *attempt = &call->taking.attempt;
    const struct core_group_call *group = core_group_of(core, call);
    assert(attempt->state == FENCE_ATTEMPT_WON);
    core_holder_hint_held(core_hint(core, call),
                          core->now_us +
                              (core_attempt_lease_ms(call) + call->delay_ms) * UINT64_C(1000),
                          fence_lock_id_hash(call->lock_id), call->owner);
    core_learn_number(core, call, attempt->votes.each[0].token);
    if (core_wants_seat(call))
        core_seat_granted(core, call);
    core_answer_queue(core, call);
    core_wake_readers(core, call);
    tell_watches(core, call, group);
    struct fence_answer *answer = core_answer(core, call, 0);
    answer->acquire.group = group ? &group->group : NULL;
    answer->token =
        core_writes(call) ? core_gate_token(&group->group) : attempt->votes.each[0].token;
    answer->lease.validity_ms = validity_us / 1000;
    answer->acquire.found = fence_attempt_found(attempt);
    answer->acquire.confirmed = call->taking.confirmed;
    if (attempt->found == 0) /* what was found may have been extended before */
        answer->lease.extensions_left = core_extensions_max(core);
    answer->acquire.attempt = attempt->id;
    answer->acquire.sent = attempt->sent;
    answer->lease.granted = fence_tally_count(&attempt->tally, FENCE_PART_GRANTED);
    memcpy(answer->parts, attempt->tally.parts, sizeof(answer->parts));
    core_leave(core, call, true);
}

/* ---- attempts -------------------------------------------------------------------------------- */

static bool worth_another_try(const struct fence_core *core, const struct call *call, int error)
{
    bool waits = core->now_us < call->wait_until_us;
    if (error == FENCE_ETOOSLOW) /* its own lock was found, and ends in a moment */
        return waits && call->taking.attempt.remaining_ms < call->ttl_ms;
    if (error != FENCE_EHELD && error != FENCE_ECONTENDED)
        return false;
    if (call->wait_until_us)
        return waits;
    unsigned tries_max = call->taking.attempt.stale ? FENCE_STALE_TRIES_MAX : FENCE_TRIES_MAX;
    return error == FENCE_ECONTENDED && call->tries < tries_max;
}

/* Reports whether a reader met the gate, and not the seat that it asked for. */
static bool met_gate(const struct call *call)
{
    return call->mode == FENCE_MODE_READ && call->taking.attempt.holders.blocked > 0;
}

static void remember_holder(struct fence_core *core, struct call *call)
{
    const struct fence_holders *holders = &call->taking.attempt.holders;
    uint64_t remaining_ms = fence_holders_remaining_ms(holders, fence_majority(core->fleet.n));
    struct core_holder_hint *hint =
        met_gate(call) ? core_seat_gate_hint(core, call) : core_hint(core, call);
    core_holder_hint_held(hint, core->now_us + remaining_ms * 1000, fence_holders_top(holders),
                          holders->owner);
    if (met_gate(call))
        core_seat_gate_met(core, call);
    else if (core_wants_seat(call))
        core_seat_met(core, call);
    core_answer_queue(core, call);
    struct core_group_call *group = core_group_of(core, call);
    if (group)
        group->blocked = holders->blocked;
}

static uint64_t random_moment_us(struct fence_core *core, unsigned doublings)
{
    return core->now_us + core_random(core) % ((uint64_t)FENCE_RETRY_BASE_US << doublings);
}

/* Random delays, longer with each try, separate contenders that split the masters. An acquire of
 * several may find them split for as long as one of its locks is held. */
static uint64_t next_try_us(struct fence_core *core, const struct call *call)
{
    const bool many = call->group != FENCE_NOBODY && !core_writes(call);
    unsigned most = many ? FENCE_GROUP_DOUBLINGS_MAX : FENCE_TRIES_MAX;
    return random_moment_us(core, call->tries < most ? call->tries : most);
}

/* An attempt out of turn failed. The holder that it saw, and a release that arrived, are for the
 * first of the queue to act on. */
static void step_back(struct fence_core *core, struct call *call)
{
    assert(core_stands_behind(core, call));
    if (core_holds_itself(core, call)) {
        core_pause_until(core, call, next_try_us(core, call));
        return;
    }
    core_call_move(call, CALL_QUEUED);
    core_waits(core, call);
    call->tries = 0;
    core_wake_at(core, call, call->wait_until_us ? call->wait_until_us : FENCE_NEVER);
}

/* Waiting would have helped against these. */
static bool can_be_waited_for(int error)
{
    return error != FENCE_ENOQUORUM && error != FENCE_ETOOSLOW && !fence_error_is_obstacle(error);
}

static void ask_masters(struct fence_core *core, struct call *call);

/* Calls before @call, which does not wait, ask for the other seats: it looks again in a moment. */
static bool lets_others_ask(struct fence_core *core, struct call *call)
{
    if (!core_wants_seat(call) || call->wait_until_us || call->acquire.yields >= FENCE_TRIES_MAX ||
        !core_seats_left_to_others(core, call))
        return false;
    core_next_round(core, call);
    const unsigned doublings = ++call->acquire.yields;
    core_pause_until(core, call, random_moment_us(core, doublings));
    return true;
}

/* Reports whether @call may ask the masters: it is the first of its queue, it has the lock itself,
 * or it is a reader for whom there is a seat. */
static bool may_ask(const struct fence_core *core, const struct call *call)
{
    return !core_stands_behind(core, call) || core_holds_itself(core, call) ||
           core_seats_shared(core, call) > 0;
}

/* Another lock id holds the seat that @call asked for: it asks for the next one. False: there is no
 * other one. */
static bool ask_for_next_seat(struct fence_core *core, struct call *call)
{
    const bool over = call->wait_until_us && core->now_us >= call->wait_until_us;
    const bool in_turn = call->mode == FENCE_MODE_READ || !core_stands_behind(core, call);
    if (!core_wants_seat(call) || over || !in_turn || !core_seat_choose(core, call))
        return false;
    core_next_round(core, call);
    call->tries--; /* all of them are one try */
    if (core_admit(core, call))
        ask_masters(core, call);
    return true;
}

static void fail(struct fence_core *core, struct call *call, int error)
{
    core_seat_trying(core, call, false);
    core_attempt_undo(core, call);
    core_learn_number(core, call, fence_holders_highest(&call->taking.attempt.holders));
    core->counts.contended += error == FENCE_ECONTENDED;
    if (error == FENCE_EHELD) {
        remember_holder(core, call);
        if (ask_for_next_seat(core, call) || lets_others_ask(core, call))
            return;
    }
    if (!worth_another_try(core, call, error)) {
        bool waited = call->wait_until_us && can_be_waited_for(error);
        answer_failed(core, call, waited ? FENCE_EWAITTIMEOUT : error);
        return;
    }
    core_next_round(core, call);
    if (core_stands_behind(core, call)) {
        step_back(core, call);
        return;
    }
    bool overtaken = core_holder_hint_overtaken(core_hint(core, call));
    bool may_be_free = core_wants_seat(call) && !core_seats_turn_held(core, call);
    bool looks = error == FENCE_EHELD && !overtaken && !may_be_free;
    core_pause_until(core, call, looks ? core_next_look_us(core, call) : next_try_us(core, call));
}

/* Fails for what the attempt met. */
static void fail_by_attempt(struct fence_core *core, struct call *call)
{
    struct core_group_call *group = core_group_of(core, call);
    unsigned only = 0;
    fail(core, call, fence_attempt_error(&call->taking.attempt, group ? &group->blocked : &only));
}

static void start_attempt(struct fence_core *core, struct call *call)
{
    core_call_move(call, CALL_TRYING);
    call->tries++;
    if (core_has_gate(call))
        core_gate_extend(core, call);
    core_seat_trying(core, call, true);
    core_attempt_begin(core, call);
    if (call->taking.attempt.state == FENCE_ATTEMPT_FAILED)
        fail_by_attempt(core, call);
}

static void survey(struct fence_core *core, struct call *call)
{
    core_survey_begin(core, call);
    if (core_survey_result(call) == FENCE_ENOQUORUM)
        answer_failed(core, call, FENCE_ENOQUORUM);
}

static void ask_masters(struct fence_core *core, struct call *call)
{
    if (core_survey_due(call))
        survey(core, call);
    else
        start_attempt(core, call);
}

/* All seats that @call has the turn of are known to be held. */
static void wait_for_seat(struct fence_core *core, struct call *call)
{
    if (call->wait_until_us)
        core_pause_until(core, call, core_next_look_us(core, call));
    else if (!lets_others_ask(core, call))
        answer_failed(core, call, FENCE_EHELD);
}

/* Reports whether the fleet has another number of seats for readers than @call asks for. */
static bool has_other_seats(const struct fence_core *core, const struct call *call)
{
    const struct core_group_call *group = core_group_of(core, call);
    return (call->mode == FENCE_MODE_READ && call->seats != core->fleet.readers) ||
           (core_has_gate(call) && group->group.count != core->fleet.readers);
}

static void try(struct fence_core *core, struct call *call)
{
    if (call->ttl_ms + call->delay_ms > core->fleet.ttl_max_ms || has_other_seats(core, call)) {
        /* a new fleet was made while the call waited */
        const int error = has_other_seats(core, call) ? FENCE_EBUSY : FENCE_ETTL;
        answer_failed(core, call, error);
        return;
    }
    if (core_wants_seat(call) && !core_survey_due(call) && !core_seat_choose(core, call))
        wait_for_seat(core, call);
    else if (core_admit(core, call))
        ask_masters(core, call);
}

void core_acquire_admitted(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_ACQUIRE && call->state == CALL_ADMITTING);
    const bool asks =
        core_holds_itself(core, call) || core_survey_due(call) || call->mode == FENCE_MODE_READ;
    const bool passed = core_wants_seat(call) && !asks && !core_seat_has_turn(core, call);
    if (core_stands_behind(core, call) && !asks)
        step_back(core, call); /* another one came back to its place meanwhile */
    else if (passed && !core_seat_choose(core, call))
        wait_for_seat(core, call);
    else
        ask_masters(core, call);
}

/* @call has the gate, and goes on for the seats. */
static void pass_gate(struct fence_core *core, struct call *call)
{
    if (!core_gate_pass(core, call)) {
        core_attempt_undo(core, call);
        answer_failed(core, call, FENCE_EBUSY);
        return;
    }
    core_next_round(core, call);
    if (core_admit(core, call))
        start_attempt(core, call);
}

static void win(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_TRYING);
    int64_t validity_us =
        fence_validity_us(core_attempt_lease_ms(call), call->taking.attempt.began_us, core->now_us);
    if (validity_us <= 0) {
        fail(core, call, FENCE_ETOOSLOW);
        return;
    }
    if (core_writes(call) && !core_has_gate(call)) {
        pass_gate(core, call);
        return;
    }
    core_seat_trying(core, call, false);
    core_attempt_settle(core, call);
    answer_granted(core, call, (uint64_t)validity_us);
}

/* ---- what the core calls --------------------------------------------------------------------- */

static void stand_behind(struct fence_core *core, struct call *call)
{
    if (!call->wait_until_us && core_knows_held(core, call)) {
        answer_failed(core, call, FENCE_EHELD);
        return;
    }
    core_call_move(call, CALL_QUEUED);
    core_waits(core, call);
    core_wake_at(core, call, call->wait_until_us ? call->wait_until_us : FENCE_NEVER);
}

void core_acquire_begin(struct fence_core *core, struct call *call, const struct fence_call *asked)
{
    const bool first = core_stand(core, call, asked);
    if (first || core_survey_due(call) || may_ask(core, call))
        try(core, call);
    else
        stand_behind(core, call);
}

/* A survey that met another view starts again under that view. */
static void conclude_survey(struct fence_core *core, struct call *call)
{
    const int result = core_survey_result(call);
    const bool outdated = call->round.generation != core->fleet.generation;
    if (result == FENCE_EBUSY)
        return;
    const bool over = call->wait_until_us && core->now_us >= call->wait_until_us;
    if (result != 0 && outdated && !over && call->tries++ < FENCE_TRIES_MAX) {
        survey(core, call);
        return;
    }
    if (result != 0) {
        answer_failed(core, call, result);
        return;
    }
    call->acquire.surveyed = true;
    call->acquire.asked = 0;
    call->tries = 0;
    core_next_round(core, call);
    if (!may_ask(core, call))
        stand_behind(core, call);
    else
        try(core, call);
}

const struct core_round_kind core_acquire_survey = {
    .tally = core_survey_tally,
    .count = core_survey_count,
    .wants_more = core_survey_wants_more,
    .ask = core_survey_ask,
    .give_up = core_survey_give_up,
    .conclude = conclude_survey,
};

static void conclude_attempt(struct fence_core *core, struct call *call)
{
    if (call->taking.attempt.state == FENCE_ATTEMPT_WON)
        win(core, call);
    else if (call->taking.attempt.state == FENCE_ATTEMPT_FAILED)
        fail_by_attempt(core, call);
}

const struct core_round_kind core_acquire_round = {
    CORE_ATTEMPT_STEPS,
    .conclude = conclude_attempt,
};

/* Reports whether a writer is up for its gate alone: no holder of a seat released it meanwhile. */
static bool only_extends_gate(const struct fence_core *core, const struct call *call)
{
    return call->state == CALL_PAUSING && core_has_gate(call) &&
           core->now_us < call->acquire.look_us &&
           core_hint(core, call)->held_until_us > core->now_us;
}

void core_acquire_timer(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_ADMITTING || call->state == CALL_QUEUED ||
           call->state == CALL_PAUSING);
    if (only_extends_gate(core, call)) {
        core_gate_extend(core, call);
        core_pause_until(core, call, call->acquire.look_us);
        return;
    }
    if (call->state == CALL_ADMITTING) {
        answer_failed(core, call, call->wait_until_us ? FENCE_EWAITTIMEOUT : FENCE_EBUSY);
        return;
    }
    if (core_wants_seat(call))
        core_seats_look(core, call, !core_stands_behind(core, call));
    const bool may_try = may_ask(core, call);
    const bool asks_once = !call->wait_until_us && call->tries == 0;
    if (call->wait_until_us && core->now_us >= call->wait_until_us)
        answer_failed(core, call, FENCE_EWAITTIMEOUT);
    else if (asks_once && (core_knows_held(core, call) || (core_wants_seat(call) && !may_try)))
        answer_failed(core, call, FENCE_EHELD); /* the call before it has the lock now, or waits */
    else if (may_try)
        try(core, call);
    else
        step_back(core, call); /* woken, but another has it by now */
}

void core_acquire_abandon(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_ACQUIRE && call->state != CALL_FREE);
    if (call->state == CALL_TRYING) {
        core_seat_trying(core, call, false);
        core_attempt_undo(core, call);
    }
    answer_failed(core, call, FENCE_ELEFT);
}
