#include "fence/call/watch.h"

#include "fence/base/minmax.h"
#include "fence/call/admit.h"
#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/inspect.h"
#include "fence/call/seating.h"
#include "fence/call/votes.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* The result of a look. */
struct look {
    uint64_t serial; /* serial of its round */
    int error;       /* 0, or why nothing is known */
    bool held;
    bool kept;     /* it is held for no waiter (fence/round/holders.h) */
    int64_t token; /* 0: the masters differ, or the lock that stands there has no holder */
    uint64_t until_us;
    const char *owner;
    const struct fence_tally *tally; /* NULL: no master was asked */
};

/* ---- the queue ------------------------------------------------------------------------------- */

static struct core_wait_queue *watchers_of(const struct fence_core *core, const struct call *call)
{
    return core_wait_queues_of(&core->watching, core_index(core, call));
}

static bool looks_for_all(const struct fence_core *core, const struct call *call)
{
    return watchers_of(core, call)->first == core_index(core, call);
}

/* The first of a queue looks again soon after the end of the lease that it saw. */
static uint64_t next_look_us(const struct call *first)
{
    const struct call_watch *watch = &first->watch;
    const bool unsettled = !watch->error && watch->held && watch->token == 0;
    uint64_t due_us = watch->looked_us + (unsettled ? FENCE_WATCH_UNSETTLED_US : FENCE_WATCH_US);
    if (!watch->error && watch->held && watch->until_us > watch->looked_us)
        due_us = fence_min(due_us, watch->until_us);
    return fence_max(due_us, watch->looked_us + FENCE_LOOK_LEAST_US);
}

/* The first of @queue, which is in no look, is to look. Calls stand in the order of their arrival,
 * so the last of the queue is the one that no look may have counted for yet. */
static void plan_look(struct fence_core *core, const struct core_wait_queue *queue, bool at_once)
{
    const struct call *first = &core->calls[queue->first];
    const bool all_know = core->calls[queue->last].watch.looked;
    const uint64_t due_us = at_once || !all_know ? core->now_us : next_look_us(first);
    core_wake_at(core, first, fence_min(due_us, first->wait_until_us));
}

static void leave_queue(struct fence_core *core, const struct call *call)
{
    core->waiting--;
    core->watches--;
    core_clients_remove(&core->clients, core_index(core, call));
    (void)core_wait_queues_leave(&core->watching, core_index(core, call));
}

/* ---- endings --------------------------------------------------------------------------------- */

static void answer_watch(struct fence_core *core, struct call *call, int error)
{
    const struct core_wait_queue *queue = core_queue_for(core, call->resource);
    const struct call_watch *watch = &call->watch;
    struct fence_answer *answer = core_answer(core, call, error);
    answer->inspect.waiters = queue ? queue->length : 0;
    answer->waited = call->waited;
    if (watch->asked)
        memcpy(answer->parts, call->vote.tally.parts, sizeof(answer->parts));
    if (!error && watch->held) {
        answer->inspect.held = true;
        answer->inspect.kept = watch->kept;
        answer->owner = call->owner;
        answer->token = watch->token;
        answer->remaining_ms = watch->until_us > core->now_us
                                   ? (watch->until_us - core->now_us + 999) / UINT64_C(1000)
                                   : 1;
    }
    core_finish(core, call);
}

/* @call ends in this step. */
static void end_watch(struct fence_core *core, struct call *call, int error)
{
    const bool looks = looks_for_all(core, call);
    const bool at_once = call->watch.again || call->state != CALL_WATCHING;
    leave_queue(core, call);
    const struct core_wait_queue *queue = core_wait_queues_find(&core->watching, call->resource);
    if (looks && queue)
        plan_look(core, queue, at_once);
    answer_watch(core, call, error);
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* A token that the masters differ on is none yet: a grant is on its way, or ended halfway. */
static bool is_changed(const struct call *call, const struct look *look)
{
    if (!look->held)
        return call->token != FENCE_WATCH_FREE;
    return look->token != 0 && look->token != call->token;
}

/* Reports whether @member is to be answered after @look. A look that failed ends a watch which
 * knows nothing yet; another watch goes on until its wait is over. */
static bool take_look(struct fence_core *core, struct call *member, const struct look *look)
{
    struct call_watch *watch = &member->watch;
    const bool knew = watch->knows;
    watch->looked = true;
    watch->looked_us = core->now_us;
    watch->error = look->error;
    watch->asked = look->tally != NULL;
    if (look->tally)
        member->vote.tally = *look->tally;
    if (!look->error) {
        watch->knows = true;
        watch->held = look->held;
        watch->kept = look->kept;
        watch->token = look->token;
        watch->until_us = look->until_us;
        core_copy_text(member->owner, sizeof(member->owner), look->owner);
    }
    if (core->now_us >= member->wait_until_us)
        return true;
    return look->error ? !knew : is_changed(member, look);
}

/* Each call that ends is answered in its own step. */
static void tell_all(struct fence_core *core, const struct core_wait_queue *queue,
                     const struct look *look)
{
    uint32_t next = FENCE_NOBODY;
    for (uint32_t at = queue->first; at != FENCE_NOBODY; at = next) {
        struct call *member = &core->calls[at];
        next = core_wait_queues_behind(&core->watching, at);
        if (look->serial <= member->watch.arrived || !take_look(core, member, look))
            continue;
        leave_queue(core, member);
        core_call_move(member, CALL_WATCHED);
        core_wake_at(core, member, core->now_us);
    }
}

/* The look of @call, the first of its queue, is over. A change that this server made during the
 * look needs another look at once. */
static void end_look(struct fence_core *core, struct call *call, const struct look *look)
{
    const bool again = call->watch.again;
    call->watch.again = false;
    core_call_move(call, CALL_WATCHING);
    tell_all(core, watchers_of(core, call), look);
    const struct core_wait_queue *queue = core_wait_queues_find(&core->watching, call->resource);
    if (queue)
        plan_look(core, queue, again);
}

static void conclude_watch(struct fence_core *core, struct call *call)
{
    const enum fence_verdict verdict = fence_quorum_call_verdict(&call->vote);
    if (verdict == FENCE_VERDICT_OPEN)
        return;
    struct look look = {
        .serial = call->round.serial,
        .error = core_vote_error(call, verdict),
        .held = verdict == FENCE_VERDICT_YES,
        .owner = "",
        .tally = &call->vote.tally,
    };
    if (look.held) {
        const struct fence_holders *holders = &call->vote.holders;
        const unsigned agreeing = fence_quorum_call_agreeing(&call->vote);
        const uint64_t left_ms = fence_holders_remaining_ms(holders, agreeing);
        look.token = fence_holders_token(holders, agreeing);
        look.until_us = core->now_us + left_ms * UINT64_C(1000);
        look.owner = holders->owner;
        look.kept = fence_holders_kept(holders);
    }
    end_look(core, call, &look);
}

/* The masters owe too many answers for a look. */
static void refuse_look(struct fence_core *core, struct call *call)
{
    core_admit_leave(core, call);
    core_next_round(core, call);
    const struct look look = {.serial = call->round.serial, .error = FENCE_EBUSY, .owner = ""};
    end_look(core, call, &look);
}

static void begin_look(struct fence_core *core, struct call *call)
{
    if (core_admit(core, call))
        core_watch_admitted(core, call);
}

/* ---- what the core calls --------------------------------------------------------------------- */

void core_watch_begin(struct fence_core *core, struct call *call, const struct fence_call *asked)
{
    (void)asked;
    assert(call->kind == FENCE_CALL_WATCH && call->wait_until_us > 0);
    const uint32_t me = core_index(core, call);
    core_clients_add(&core->clients, me, call->client);
    core->waiting++;
    core->watches++;
    call->watch.arrived = core->rounds;
    core_kept_places_bound(&core->kept, core_waiters_max(core) - core->waiting);
    core_call_move(call, CALL_WATCHING);
    (void)core_wait_queues_join(&core->watching, me, call->resource, 0);
    if (looks_for_all(core, call)) {
        begin_look(core, call);
        return;
    }
    call->waited = true;
    core_wake_at(core, call, call->wait_until_us);
    core_watch_changed(core, call->resource);
}

void core_watch_admitted(struct fence_core *core, struct call *call)
{
    call->watch.again = false;
    core_inspect_look(core, call);
    conclude_watch(core, call); /* at once, if too few can be asked */
}

void core_watch_timer(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_WATCHED) {
        answer_watch(core, call, call->watch.error);
    } else if (call->state == CALL_ADMITTING) {
        refuse_look(core, call);
    } else if (core->now_us >= call->wait_until_us && call->watch.looked) {
        end_watch(core, call, call->watch.error);
    } else if (looks_for_all(core, call)) {
        call->waited = true;
        begin_look(core, call);
    } else if (core->now_us >= call->wait_until_us + FENCE_ADMISSION_US) {
        end_watch(core, call, FENCE_EBUSY); /* the masters owe too much for a look */
    } else {                                /* the look under way, or the next one, counts for it */
        core_wake_at(core, call, call->wait_until_us + FENCE_ADMISSION_US);
    }
}

void core_watch_abandon(struct fence_core *core, struct call *call)
{
    end_watch(core, call, FENCE_ELEFT);
}

void core_watch_changed(struct fence_core *core, const char *resource)
{
    if (core->watches == 0) /* as mostly: spares each grant and each release a look at the table */
        return;
    const struct core_wait_queue *queue = core_wait_queues_find(&core->watching, resource);
    if (!queue)
        return;
    struct call *first = &core->calls[queue->first];
    first->watch.again = true;
    if (first->state == CALL_WATCHING)
        core_wake_at(core, first, core->now_us);
}

const struct core_round_kind core_watch_round = {
    .tally = core_vote_tally,
    .view_refused = core_inspect_view_refused,
    .count = core_vote_count,
    .give_up = core_vote_give_up,
    .conclude = conclude_watch,
};
