/* One step: passes each event to the part of the core that handles it. */
#include "fence/core.h"

#include "fence/base/minmax.h"
#include "fence/base/set.h"
#include "fence/call/acquire.h"
#include "fence/call/admit.h"
#include "fence/call/break.h"
#include "fence/call/calls.h"
#include "fence/call/cleanup.h"
#include "fence/call/client_left.h"
#include "fence/call/count.h"
#include "fence/call/extend.h"
#include "fence/call/inspect.h"
#include "fence/call/inspect_seats.h"
#include "fence/call/refuse_before_asking.h"
#include "fence/call/release.h"
#include "fence/call/rounds.h"
#include "fence/call/seating.h"
#include "fence/call/waiting.h"
#include "fence/call/watch.h"
#include "fence/rejoin/masters.h"
#include "fence/rejoin/rejoin.h"
#include "fence/round/hedge.h"
#include "fence/state/output.h"
#include "fence/state/state.h"
#include "fence/state/tag.h"

#include <assert.h>

const struct fence_fleet *fence_core_fleet(const struct fence_core *core)
{
    return &core->fleet;
}

unsigned fence_core_calls(const struct fence_core *core)
{
    return core->pool.used;
}

unsigned fence_core_waiting(const struct fence_core *core)
{
    return core->waiting;
}

unsigned fence_core_cleanups(const struct fence_core *core)
{
    return core->cleanups.pool.used;
}

const struct fence_counts *fence_core_counts(const struct fence_core *core)
{
    return &core->counts;
}

void fence_core_trace(struct fence_core *core, struct fence_tracer tracer)
{
    core->tracer = tracer;
}

/* Reports whether clean-ups without an acknowledgement may be sent again: as many at a time as
 * calls may ask. */
static bool may_tell_again(const struct fence_core *core)
{
    return core->cleanups.telling && core_has_room(core, CORE_CLASS_SINGLE);
}

uint64_t fence_core_deadline(const struct fence_core *core)
{
    if (may_tell_again(core) || core_admit_due(core))
        return core->now_us;
    uint64_t masters_us = fence_min(fence_fleet_deadline(&core->fleet), core_rejoin_deadline(core));
    masters_us = fence_min(masters_us, fence_fleet_telling_ends_us(&core->fleet));
    return fence_min(fence_timers_next_us(&core->timers), masters_us);
}

/* ---- kinds of calls -------------------------------------------------------------------------- */

static void ask_for_admission(struct fence_core *core, struct call *call,
                              const struct fence_call *asked);
static void refuse_admission(struct fence_core *core, struct call *call);

static const struct call_kind {
    /* The new call begins. */
    void (*begin)(struct fence_core *core, struct call *call, const struct fence_call *asked);
    /* The masters owe few enough answers for the next round of the call. */
    void (*admitted)(struct fence_core *core, struct call *call);
    const struct core_round_kind *round;
    /* The timer of a call that is in no round is due. */
    void (*timer)(struct fence_core *core, struct call *call);
} kinds[] = {
    [FENCE_CALL_ACQUIRE] = {core_acquire_begin, core_acquire_admitted, &core_acquire_round,
                            core_acquire_timer},
    [FENCE_CALL_EXTEND] = {ask_for_admission, core_extend_admitted, &core_extend_round,
                           refuse_admission},
    [FENCE_CALL_RELEASE] = {ask_for_admission, core_release_admitted, &core_release_round,
                            refuse_admission},
    [FENCE_CALL_INSPECT] = {ask_for_admission, core_inspect_admitted, &core_inspect_round,
                            refuse_admission},
    [FENCE_CALL_WATCH] = {core_watch_begin, core_watch_admitted, &core_watch_round,
                          core_watch_timer},
    [FENCE_CALL_COUNT] = {core_count_begin, core_count_admitted, &core_count_round,
                          core_count_timer},
    [FENCE_CALL_BREAK] = {ask_for_admission, core_break_admitted, &core_break_round,
                          refuse_admission},
};

static void ask_for_admission(struct fence_core *core, struct call *call,
                              const struct fence_call *asked)
{
    (void)asked;
    if (core_admit(core, call))
        kinds[call->kind].admitted(core, call);
}

static void refuse_admission(struct fence_core *core, struct call *call)
{
    assert(call->state == CALL_ADMITTING);
    (void)core_answer(core, call, FENCE_EBUSY);
    core_finish(core, call);
    if (core_wants_seat(call))
        core_seat_drop(call);
}

/* Returns the kind of the round of @call; NULL: @call is in no round. */
static const struct core_round_kind *round_of(const struct call *call)
{
    switch (call->state) {
    case CALL_SURVEYING:
        return call->kind == FENCE_CALL_ACQUIRE ? &core_acquire_survey : &core_show_round;
    case CALL_TRYING:
    case CALL_VOTING:
    case CALL_BREAKING:
    case CALL_COUNTING:
        return kinds[call->kind].round;
    case CALL_REACQUIRING:
        return &core_reacquire_round;
    default:
        return NULL;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_call(struct fence_core *core, const struct fence_call *asked)
{
    core_check_asked(asked);
    core_trace(core, &(struct fence_trace){.kind = FENCE_TRACE_CALLED,
                                           .call = asked->kind,
                                           .resource = asked->resource});
    int error = core_refusal(core, asked);
    if (error) {
        core_refuse(core, asked, error);
        return;
    }
    struct call *call = core_open(core, asked);
    kinds[call->kind].begin(core, call, asked);
}

/* Returns the reply as it counts: an answer of a master that lost writes does not count. */
static struct fence_reply counted(struct fence_core *core, unsigned i,
                                  const struct fence_reply *reply)
{
    if (fence_fleet_shows(&core->fleet, i, reply->writes))
        return *reply;
    if (core->fleet.master[i].connected)
        core_give_up(core, fence_set_of(i), FENCE_REASON_CHANGED);
    return (struct fence_reply){.kind = FENCE_REPLY_LOST, .tag = reply->tag, .locks = reply->locks};
}

/* Reports whether an answer comes too late to count. This process may have been suspended: the
 * answer arrived but was not read. A refusal by a master still counts. */
static bool answers_too_late(const struct fence_core *core, unsigned i, const struct call *call,
                             const struct fence_reply *reply)
{
    bool grants = reply->kind == FENCE_REPLY_NUMBER || reply->kind == FENCE_REPLY_YES;
    return grants && core->now_us > call->round.asked_us + fence_fleet_answer_us(&core->fleet) &&
           !core->fleet.master[i].facts.exclusive;
}

static void trace_reply(const struct fence_core *core, enum fence_trace_kind kind, unsigned i,
                        const struct call *call, const struct fence_reply *reply)
{
    const bool numbered = reply->kind == FENCE_REPLY_NUMBER || reply->kind == FENCE_REPLY_HELD;
    core_trace(core, &(struct fence_trace){.kind = kind,
                                           .resource = call->resource,
                                           .master = i,
                                           .reply = reply->kind,
                                           .number = numbered ? reply->number : 0});
}

/* Reports whether @serial belongs to the round of @call. A survey has a serial for each seat. */
static bool is_in_round(const struct call *call, uint64_t serial)
{
    const uint64_t serials = call->state == CALL_SURVEYING ? call->seats : 1;
    return call->round.serial != 0 && serial - call->round.serial < serials;
}

static void on_reply(struct fence_core *core, unsigned i, const struct fence_reply *reply)
{
    if (reply->kind == FENCE_REPLY_STALE)
        core_learn_view(core, i, reply->view);
    uint32_t index = core_tag_index(reply->tag);
    uint64_t round = core_tag_serial(reply->tag);
    if (core_tag_is_cleanup(reply->tag)) {
        core_undo_reply(core, i, index, round, reply->kind);
        return;
    }
    const struct fence_round_masters masters = core_round_masters(core);
    fence_round_end_trial(&masters, i, round, reply->kind);
    if (round == 0 || index >= core->config.calls || !is_in_round(&core->calls[index], round))
        return; /* a reply of a round that is over */
    struct call *call = &core->calls[index];
    const struct fence_reply late = {
        .kind = FENCE_REPLY_LOST, .tag = reply->tag, .locks = reply->locks};
    const bool too_late = answers_too_late(core, i, call, reply);
    trace_reply(core, too_late ? FENCE_TRACE_LATE : FENCE_TRACE_REPLIED, i, call, reply);
    if (too_late)
        reply = &late;
    const struct core_round_kind *kind = round_of(call);
    if (kind)
        core_round_reply(core, call, kind, i, reply);
}

static void on_reply_event(struct fence_core *core, unsigned i, const struct fence_reply *reply)
{
    fence_fleet_answered(&core->fleet, i, reply->locks, core->now_us);
    struct fence_reply read = counted(core, i, reply);
    on_reply(core, i, &read);
}

static void call_timer(struct fence_core *core)
{
    struct call *call = &core->calls[fence_timers_first(&core->timers)];
    core_wake_at(core, call, FENCE_NEVER);
    const struct core_round_kind *kind = round_of(call);
    if (kind)
        core_round_timer(core, call, kind);
    else
        kinds[call->kind].timer(core, call);
}

static void start_admitted(struct fence_core *core)
{
    struct call *call = core_admit_next(core);
    kinds[call->kind].admitted(core, call);
}

/* Calls time out before masters are abandoned: so their clean-ups still go out on the old
 * connections, behind the requests that they clean up. */
static void on_tick(struct fence_core *core)
{
    if (may_tell_again(core))
        core_undo_again(core);
    if (core_admit_due(core)) {
        start_admitted(core);
        return;
    }
    if (fence_timers_next_us(&core->timers) <= core->now_us) {
        call_timer(core);
        return;
    }
    if (core_rejoin_deadline(core) <= core->now_us) {
        core_rejoin_tick(core);
        return;
    }
    if (fence_fleet_telling_ends_us(&core->fleet) <= core->now_us) {
        core_look_again(core);
        return;
    }
    core_give_up(core, fence_fleet_silent(&core->fleet, core->now_us), FENCE_REASON_SILENT);
}

/* Returns the number for the trace: the token, the first token of several, or the value of a
 * counter. */
static int64_t number_of_answer(const struct fence_answer *answer)
{
    if (answer->kind == FENCE_CALL_COUNT)
        return answer->count.value;
    const struct fence_group *group =
        answer->kind == FENCE_CALL_ACQUIRE ? answer->acquire.group : NULL;
    return group ? group->locks[0].token : answer->token;
}

/* Called when all answers of the step are complete. */
static void trace_answers(const struct fence_core *core)
{
    for (unsigned k = 0; k < core->effects->count; k++) {
        const struct fence_effect *effect = &core->effects->items[k];
        const struct fence_answer *answer = &effect->answer;
        if (effect->kind != FENCE_EFFECT_ANSWER)
            continue;
        core_trace(core, &(struct fence_trace){.kind = FENCE_TRACE_ANSWERED,
                                               .call = answer->kind,
                                               .resource = answer->resource,
                                               .error = answer->error,
                                               .number = number_of_answer(answer)});
    }
}

void fence_step(struct fence_core *core, const struct fence_event *event,
                struct fence_effects *effects)
{
    assert(event->now_us >= core->now_us);
    assert(event->master < core->fleet.n);
    core->now_us = event->now_us;
    core->random = event->random;
    core->effects = effects;
    effects->count = 0;
    switch (event->kind) {
    case FENCE_EVENT_CALL:
        on_call(core, &event->call);
        break;
    case FENCE_EVENT_LEFT:
        core_left(core, event->client);
        break;
    case FENCE_EVENT_DECLINED:
        core_left_grant(core, &event->declined);
        break;
    case FENCE_EVENT_RELEASED:
        core_trace(core, &(struct fence_trace){.kind = FENCE_TRACE_RELEASED,
                                               .resource = event->released.resource});
        core_released(core, event->released.resource, event->released.lock_id);
        break;
    case FENCE_EVENT_PLACE:
        core_place_told(core, &event->place);
        break;
    case FENCE_EVENT_REPLY:
        on_reply_event(core, event->master, &event->reply);
        break;
    case FENCE_EVENT_FACTS:
        core_learn(core, event->master, &event->facts);
        break;
    case FENCE_EVENT_HEARD:
        core_hear_positions(core, event->master, &event->heard.positions, event->heard.writes);
        break;
    case FENCE_EVENT_DOWN:
        core_lose(core, event->master, event->reason);
        break;
    case FENCE_EVENT_REJOIN:
        core_rejoin_reply(core, event->master, &event->rejoin);
        break;
    case FENCE_EVENT_LAGGED:
        fence_fleet_lagged(&core->fleet, event->lag_us, core->now_us);
        break;
    case FENCE_EVENT_TICK:
        on_tick(core);
        break;
    }
    core_rejoin_go_on(core);
    core_note_imports(core);
    if (core->tracer.line)
        trace_answers(core);
}
