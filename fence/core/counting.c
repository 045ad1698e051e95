#include "fence/core/counting.h"

#include "fence/core/admit.h"
#include "fence/core/call_move.h"
#include "fence/core/calls.h"
#include "fence/core/hedge.h"
#include "fence/core/output.h"

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

/* Who becomes the first by it has its turn at once. */
static void leave_counter(struct fence_core *core, const struct call *call)
{
    uint32_t next = core_wait_queues_leave(&core->counting, core_index(core, call));
    if (next != FENCE_NOBODY && core->calls[next].state == CALL_QUEUED)
        core_wake_at(core, &core->calls[next], core->now_us);
}

/* Of those behind the first: how many its round counts for. A reading is never put with calls that
 * count, as what they meet is not what it would meet. They get no replies of their own. */
static void gather(struct fence_core *core, struct call *call)
{
    call->batch = 1;
    call->sum = call->count;
    struct call *next = call_behind(core, call);
    while (next && call->batch < FENCE_COUNT_CALLS_MAX &&
           (next->count == 0) == (call->count == 0) && call->sum + next->count <= FENCE_COUNT_MAX) {
        if (next->state == CALL_QUEUED)
            core_call_move(next, CALL_COUNTING);
        core_wake_at(core, next, FENCE_NEVER);
        next->round = 0;
        call->batch++;
        call->sum += next->count;
        next = call_behind(core, next);
    }
}

/* ---- endings --------------------------------------------------------------------------------- */

static void answer_count(struct fence_core *core, struct call *call, int error)
{
    struct fence_answer *answer = core_answer(core, call, error);
    answer->value = error ? 0 : call->value;
    if (call->tries > 0)
        memcpy(answer->parts, call->counting.tally.parts, sizeof(answer->parts));
    core_finish(core, call);
}

/* @call leaves the queue without having asked. */
static void turn_away(struct fence_core *core, struct call *call)
{
    leave_counter(core, call);
    answer_count(core, call, FENCE_EBUSY);
}

/* One of the batch of @call, which is not the first, learns what it came to. It is answered in a
 * step of its own. */
static void tell_member(struct fence_core *core, struct call *member, const struct call *call)
{
    member->tries = call->tries;
    member->count_error = call->count_error;
    member->counting.tally = call->counting.tally;
    core_call_move(member, CALL_COUNTED);
    core_wake_at(core, member, core->now_us);
}

/* The round for the batch of @call is over, with @last as the last of its values. Each call of the
 * batch gets its part, in the order of the queue. */
static void end_batch(struct fence_core *core, struct call *call, int error, int64_t last)
{
    int64_t value = last - call->sum;
    unsigned batch = call->batch;
    struct call *member = call;
    call->count_error = error;
    for (unsigned k = 0; k < batch; k++) {
        assert(member && member->state == CALL_COUNTING);
        struct call *next = call_behind(core, member);
        value += member->count;
        member->value = value;
        leave_counter(core, member);
        if (member != call)
            tell_member(core, member, call);
        member = next;
    }
    answer_count(core, call, error);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void begin_round(struct fence_core *core, struct call *call);

/* What has masters that are behind answer the highest number so far. */
static int64_t hint_to_count(const struct call *call)
{
    int64_t before = call->counting.highest - call->sum;
    return before > call->hint ? before : call->hint;
}

static void ask_to_count(struct fence_core *core, const struct call *call, uint32_t set)
{
    struct fence_request request = {
        .kind = FENCE_REQUEST_COUNT,
        .count = call->sum,
        .hint = hint_to_count(call),
        .names_max = core->config.counters,
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
    if (call->hint < call->counting.highest)
        call->hint = call->counting.highest;
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
    switch (fence_counter_call_verdict(&call->counting, &number)) {
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
        end_batch(core, call, fence_counter_call_error(&call->counting), 0);
        break;
    }
}

static void begin_round(struct fence_core *core, struct call *call)
{
    uint32_t spare = 0;
    uint32_t first = core_hedge_first(core, call->slot, &spare);
    if (call->state != CALL_COUNTING)
        core_call_move(call, CALL_COUNTING);
    gather(core, call);
    call->tries++;
    call->generation = core->fleet.generation;
    core_next_round(core, call);
    fence_counter_call_begin(&call->counting, call->sum, core->fleet.n, first, spare);
    ask_to_count(core, call, first);
    core_hedge_begin(core, call, first, spare != 0, core->fleet.deadline_us);
    conclude_count(core, call); /* at once, if too few can be asked */
}

/* A round keeps to the view that it began with. */
static bool is_of_old_view(const struct fence_core *core, const struct call *call)
{
    return call->generation != core->fleet.generation;
}

/* Asks the spare masters in @set. */
static void ask_spare(struct fence_core *core, struct call *call, uint32_t set)
{
    uint32_t active = fence_fleet_active(&core->fleet);
    if (set && is_of_old_view(core, call)) {
        if (call->tries < FENCE_COUNT_TRIES_MAX) {
            begin_round(core, call);
            return;
        }
        active = 0;
    }
    fence_tally_drop(&call->counting.tally, set & ~active);
    set &= active;
    fence_tally_ask(&call->counting.tally, set);
    ask_to_count(core, call, set);
    conclude_count(core, call);
}

/* A master refused the view of the round. False: that is its answer. It may be alone in that, and
 * the other masters may be enough. */
static bool begins_anew(struct fence_core *core, struct call *call)
{
    if (call->tries >= FENCE_COUNT_TRIES_MAX)
        return false;
    if (call->generation != core->fleet.generation) {
        begin_round(core, call);
        return true;
    }
    if (call->unbacked++ >= FENCE_UNBACKED_TRIES_MAX)
        return false;
    pause_counting(core, call);
    return true;
}

/* ---- what the core calls --------------------------------------------------------------------- */

static void have_turn(struct fence_core *core, struct call *call)
{
    if (core_admit(core, call))
        core_count_admitted(core, call);
}

void core_count_begin(struct fence_core *core, struct call *call)
{
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

void core_count_reply(struct fence_core *core, struct call *call, unsigned i,
                      const struct fence_reply *reply)
{
    if (reply->kind == FENCE_REPLY_STALE && begins_anew(core, call))
        return;
    core_hedge_answered(core, call, i, reply->kind);
    fence_counter_call_reply(&call->counting, i, reply);
    bool settles = fence_counter_call_wants_more(&call->counting);
    ask_spare(core, call, settles ? call->counting.tally.spare : 0);
}

static void round_timer(struct fence_core *core, struct call *call)
{
    uint32_t set = 0;
    if (core_hedge_timer(core, call, &call->counting.tally, &set)) {
        fence_counter_call_give_up(&call->counting);
        conclude_count(core, call);
    } else {
        ask_spare(core, call, set);
    }
}

void core_count_timer(struct fence_core *core, struct call *call)
{
    if (call->state == CALL_COUNTED)
        answer_count(core, call, call->count_error);
    else if (call->state == CALL_COUNTING)
        round_timer(core, call);
    else if (call->state == CALL_PAUSING)
        begin_round(core, call);
    else if (call->state == CALL_QUEUED && is_first(core, call))
        have_turn(core, call);
    else
        turn_away(core, call);
}
