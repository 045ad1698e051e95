#include "fence/call/count.h"

#include "fence/call/admit.h"
#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/rounds.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* ---- the queue ------------------------------------------------------------------------------- */

static struct call *call_behind(const struct fence_core *core, const struct call *call)
{
    uint32_t at = core_wait_queues_behind(&core->counting, core_index(core, call));
    return at != FENCE_NOBODY ? &core->calls[at] : NULL;
}

static bool is_first(const struct fence_core *core, const struct call *call)
{
    uint32_t me = core_index(core, call);
    return core_wait_queues_before(&core->counting, me) == FENCE_NOBODY;
}

/* A call that becomes the first has its turn at once. */
static void leave_counter(struct fence_core *core, const struct call *call)
{
    uint32_t next = core_wait_queues_leave(&core->counting, core_index(core, call));
    if (next != FENCE_NOBODY && core->calls[next].state == CALL_QUEUED)
        core_wake_at(core, &core->calls[next], core->now_us);
}

/* The number of calls behind the first for which its round counts. These calls get no separate
 * replies. A reading never shares a round with calls that count: its answer would differ. */
static void gather(struct fence_core *core, struct call *call)
{
    call->count.batch = 1;
    call->count.sum = call->count.values;
    struct call *next = call_behind(core, call);
    while (next && call->count.batch < FENCE_COUNT_CALLS_MAX &&
           (next->count.values == 0) == (call->count.values == 0) &&
           call->count.sum + next->count.values <= FENCE_COUNT_MAX) {
        if (next->state == CALL_QUEUED)
            core_call_move(next, CALL_COUNTING);
        core_wake_at(core, next, FENCE_NEVER);
        next->round.serial = 0;
        call->count.batch++;
        call->count.sum += next->count.values;
        next = call_behind(core, next);
    }
}

/* ---- endings --------------------------------------------------------------------------------- */

static void answer_count(struct fence_core *core, struct call *call, int error)
{
    struct fence_answer *answer = core_answer(core, call, error);
    answer->count.value = error ? 0 : call->count.value;
    if (call->tries > 0)
        memcpy(answer->parts, call->counter.tally.parts, sizeof(answer->parts));
    core_finish(core, call);
}

/* @call leaves the queue without having asked. */
static void turn_away(struct fence_core *core, struct call *call)
{
    leave_counter(core, call);
    answer_count(core, call, FENCE_EBUSY);
}

/* One of the batch of @call, which is not the first, learns what it came to. It is answered in its
 * own step. */
static void tell_member(struct fence_core *core, struct call *member, const struct call *call)
{
    member->tries = call->tries;
    member->count.error = call->count.error;
    member->counter.tally = call->counter.tally;
    core_call_move(member, CALL_COUNTED);
    core_wake_at(core, member, core->now_us);
}

/* The round for the batch of @call is over, with @last as the last of its values. Each call of the
 * batch gets its part, in the order of the queue. */
static void end_batch(struct fence_core *core, struct call *call, int error, int64_t last)
{
    int64_t value = last - call->count.sum;
    unsigned batch = call->count.batch;
    struct call *member = call;
    call->count.error = error;
    for (unsigned k = 0; k < batch; k++) {
        assert(member && member->state == CALL_COUNTING);
        struct call *next = call_behind(core, member);
        value += member->count.values;
        member->count.value = value;
        leave_counter(core, member);
        if (member != call)
            tell_member(core, member, call);
        member = next;
    }
    answer_count(core, call, error);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void begin_round(struct fence_core *core, struct call *call);

/* Has masters that are behind answer the highest number so far. */
static int64_t hint_to_count(const struct call *call)
{
    int64_t before = call->counter.highest - call->count.sum;
    return before > call->count.hint ? before : call->count.hint;
}

static void ask_to_count(struct fence_core *core, const struct call *call, uint32_t set)
{
    struct fence_request request = {
        .kind = FENCE_REQUEST_COUNT,
        .counter.values = call->count.sum,
        .counter.hint = hint_to_count(call),
        .counter.names_max = core->config.counters,
    };
    if (set)
        core_ask(core, call, set, &request);
}

/* Random delays, longer with each try, separate servers that cross each other. */
static void pause_counting(struct fence_core *core, struct call *call)
{
    unsigned doublings = call->tries < FENCE_TRIES_MAX ? call->tries : FENCE_TRIES_MAX;
    core_call_move(call, CALL_PAUSING);
    core_wake_at(core, call,
                 core->now_us + core_random(core) % ((uint64_t)FENCE_RETRY_BASE_US << doublings));
}

/* Masters that were out of step come up to the hint at once. Only another server can keep them
 * apart after that. */
static void count_again(struct fence_core *core, struct call *call)
{
    if (call->count.hint < call->counter.highest)
        call->count.hint = call->counter.highest;
    if (call->tries >= FENCE_COUNT_TRIES_MAX)
        end_batch(core, call, FENCE_ECONTENDED, 0);
    else if (call->tries == 1)
        begin_round(core, call);
    else
        pause_counting(core, call);
}

static void conclude_count(struct fence_core *core, struct call *call)
{
    int64_t number = 0;
    switch (fence_counter_call_verdict(&call->counter, &number)) {
    case FENCE_COUNT_OPEN:
        break;
    case FENCE_COUNT_AGREED:
        end_batch(core, call, 0, number);
        break;
    case FENCE_COUNT_NEVER:
        end_batch(core, call, FENCE_ENOENT, 0);
        break;
    case FENCE_COUNT_DIFFER:
        count_again(core, call);
        break;
    case FENCE_COUNT_UNKNOWN:
        end_batch(core, call, fence_counter_call_error(&call->counter), 0);
        break;
    }
}

static void begin_round(struct fence_core *core, struct call *call)
{
    const struct fence_round_masters masters = core_round_masters(core);
    uint32_t spare = 0;
    uint32_t first = fence_round_first(&masters, call->slot, &spare);
    if (call->state != CALL_COUNTING)
        core_call_move(call, CALL_COUNTING);
    gather(core, call);
    call->tries++;
    core_round_new(core, call);
    fence_counter_call_begin(&call->counter, call->count.sum, core->fleet.n, first, spare);
    ask_to_count(core, call, first);
    core_round_begin(core, call, first, spare != 0, core->fleet.deadline_us);
    conclude_count(core, call); /* at once, if too few can be asked */
}

/* ---- the way through a round ----------------------------------------------------------------- */

static struct fence_tally *counter_tally(struct call *call)
{
    return &call->counter.tally;
}

/* The master may be alone in that, and the other masters may be enough. */
static bool count_view_refused(struct fence_core *core, struct call *call, unsigned i)
{
    (void)i;
    if (call->tries >= FENCE_COUNT_TRIES_MAX)
        return false;
    if (call->round.generation != core->fleet.generation) {
        begin_round(core, call);
        return true;
    }
    if (call->unbacked++ >= FENCE_UNBACKED_TRIES_MAX)
        return false;
    pause_counting(core, call);
    return true;
}

static bool count_view_ended(struct fence_core *core, struct call *call, uint32_t set)
{
    if (set == 0 || call->tries >= FENCE_COUNT_TRIES_MAX)
        return false;
    begin_round(core, call);
    return true;
}

static void count_number(struct fence_core *core, struct call *call, unsigned i,
                         const struct fence_reply *reply)
{
    (void)core;
    fence_counter_call_reply(&call->counter, i, reply);
}

static bool count_wants_more(const struct call *call)
{
    return fence_counter_call_wants_more(&call->counter);
}

static void ask_spare_to_count(struct fence_core *core, struct call *call, uint32_t set,
                               uint32_t active)
{
    (void)active;
    ask_to_count(core, call, set);
}

static void give_up_counting(struct call *call)
{
    fence_counter_call_give_up(&call->counter);
}

const struct core_round_kind core_count_round = {
    .tally = counter_tally,
    .view_refused = count_view_refused,
    .count = count_number,
    .wants_more = count_wants_more,
    .view_ended = count_view_ended,
    .ask = ask_spare_to_count,
    .give_up = give_up_counting,
    .conclude = conclude_count,
};

/* ---- what the core calls --------------------------------------------------------------------- */

static void have_turn(struct fence_core *core, struct call *call)
{
    if (core_admit(core, call))
        core_count_admitted(core, call);
}

void core_count_begin(struct fence_core *core, struct call *call, const struct fence_call *asked)
{
    (void)asked;
    assert(call->kind == FENCE_CALL_COUNT);
    (void)core_wait_queues_join(&core->counting, core_index(core, call), call->resource, 0);
    if (is_first(core, call)) {
        have_turn(core, call);
        return;
    }
    core_call_move(call, CALL_QUEUED);
    core_wake_at(core, call, core->now_us + FENCE_ADMISSION_US);
}

void core_count_admitted(struct fence_core *core, struct call *call)
{
    begin_round(core, call);
}

void core_count_timer(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_COUNTED)
        answer_count(core, call, call->count.error);
    else if (call->state == CALL_PAUSING)
        begin_round(core, call);
    else if (call->state == CALL_QUEUED && is_first(core, call))
        have_turn(core, call);
    else
        turn_away(core, call);
}
