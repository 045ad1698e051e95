#include "fence/call/survey.h"

#include "fence/base/minmax.h"
#include "fence/base/set.h"
#include "fence/call/call_move.h"
#include "fence/call/seating.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/lock_id.h"

#include <assert.h>
#include <string.h>

enum {
    SURVEYED_FROM = 3, /* seats: of two, the one that is left is asked for without a survey */
};

bool core_survey_due(const struct call *call)
{
    const bool asks = call->acquire.met && !call->wait_until_us && call->seats >= SURVEYED_FROM;
    return core_wants_seat(call) && (call->idempotent || asks) && !call->acquire.surveyed;
}

void core_survey_begin(struct fence_core *core, struct call *call)
{
    const struct fence_round_masters masters = core_round_masters(core);
    uint32_t spare = 0;
    const uint32_t first = fence_round_first(&masters, call->slot, &spare);
    core_call_move(call, CALL_SURVEYING);
    core_round_new(core, call);
    memset(call->survey.answered, 0, sizeof(call->survey.answered));
    memset(call->survey.held, 0, sizeof(call->survey.held));
    memset(call->survey.free, 0, sizeof(call->survey.free));
    memset(call->survey.own, 0, sizeof(call->survey.own));
    call->survey.own_seat = FENCE_NOBODY;
    core_seats_forget_own(core, call);
    fence_tally_begin(&call->survey.tally, core->fleet.n, first, spare);
    core_seats_ask(core, call, first);
    core_round_begin(core, call, first, spare != 0,
                     fence_round_timeout_us(core->fleet.deadline_us, call->ttl_ms));
}

struct fence_tally *core_survey_tally(struct call *call)
{
    return &call->survey.tally;
}

/* Another lock id has @seat at a master. Once a majority says so, no attempt can get the seat. */
static void count_held_seat(struct fence_core *core, struct call *call, unsigned seat,
                            const struct fence_reply *reply)
{
    const uint32_t left_ms = (uint32_t)fence_min(reply->remaining_ms, FENCE_REMAINING_MAX_MS);
    uint32_t *least_ms = &call->survey.left_ms[seat];
    *least_ms = call->survey.held[seat]++ == 0 ? left_ms : (uint32_t)fence_min(*least_ms, left_ms);
    if (call->survey.held[seat] == fence_majority(core->fleet.n))
        core_seat_found_held(core, call, seat, *least_ms, reply);
}

/* A grant is on a majority. On fewer masters may be another seat, which an attempt left behind. */
static void count_own_seat(struct fence_core *core, struct call *call, unsigned seat,
                           const struct fence_reply *reply)
{
    const uint32_t best = call->survey.own_seat;
    const unsigned count = ++call->survey.own[seat];
    if (best != FENCE_NOBODY && best != seat && count <= call->survey.own[best])
        return;
    if (best != seat)
        core_seats_forget_own(core, call);
    call->survey.own_seat = seat;
    core_seat_found(core, call, seat, reply->remaining_ms);
}

static void count_seat(struct fence_core *core, struct call *call, unsigned i, unsigned seat,
                       const struct fence_reply *reply)
{
    call->survey.answered[i] |= UINT64_C(1) << seat;
    const bool held = reply->kind == FENCE_REPLY_HELD;
    if (held && call->idempotent && strcmp(reply->holder, call->lock_id) == 0)
        count_own_seat(core, call, seat, reply);
    else if (held)
        count_held_seat(core, call, seat, reply);
    if (reply->kind == FENCE_REPLY_NO)
        call->survey.free[seat]++;
    if (call->survey.answered[i] == core_seats_of(call))
        (void)fence_tally_record(&call->survey.tally, i, FENCE_PART_GRANTED);
}

void core_survey_count(struct fence_core *core, struct call *call, unsigned i,
                       const struct fence_reply *reply)
{
    const unsigned seat = core_seat_of_reply(call, reply);
    if (reply->kind == FENCE_REPLY_HELD || reply->kind == FENCE_REPLY_NO ||
        reply->kind == FENCE_REPLY_FOREIGN || reply->kind == FENCE_REPLY_ENDLESS)
        count_seat(core, call, i, seat, reply);
    else
        (void)fence_tally_record(&call->survey.tally, i, fence_part_of_reply(reply->kind));
}

/* Reports whether several seats are under the lock id of @call, and it is open which is on a
 * majority. */
static bool has_rivals(const struct call *call)
{
    const uint32_t best = call->survey.own_seat;
    unsigned found = 0;
    for (unsigned k = 0; k < call->seats; k++)
        found += call->survey.own[k] > 0;
    return found > 1 && call->survey.own[best] < fence_majority(call->survey.tally.n);
}

/* Reports whether it depends on the other masters which seat to ask for, or if there is one. A
 * holder's seat is on a majority, and the masters that were asked may be partly others. */
static bool depends_on_others(const struct call *call)
{
    const unsigned majority = fence_majority(call->survey.tally.n);
    bool some_held = false;
    if (call->survey.own_seat != FENCE_NOBODY)
        return has_rivals(call);
    for (unsigned k = 0; k < call->seats; k++) {
        if (call->survey.free[k] >= majority)
            return false;
        some_held |= call->survey.held[k] > 0 && call->survey.held[k] < majority;
    }
    return some_held;
}

bool core_survey_wants_more(const struct call *call)
{
    const struct fence_tally *tally = &call->survey.tally;
    const unsigned answered = fence_tally_count(tally, FENCE_PART_GRANTED);
    const unsigned majority = fence_majority(tally->n);
    return answered + fence_set_count(tally->open) < majority ||
           (answered >= majority && depends_on_others(call));
}

void core_survey_ask(struct fence_core *core, struct call *call, uint32_t set, uint32_t active)
{
    (void)active;
    core_seats_ask(core, call, set);
}

void core_survey_give_up(struct call *call)
{
    fence_tally_give_up(&call->survey.tally);
}

int core_survey_result(const struct call *call)
{
    const struct fence_tally *tally = &call->survey.tally;
    const unsigned answered = fence_tally_count(tally, FENCE_PART_GRANTED);
    if (answered >= fence_majority(tally->n))
        return depends_on_others(call) && fence_tally_open(tally) > 0 ? FENCE_EBUSY : 0;
    return answered + fence_tally_open(tally) < fence_majority(tally->n) ? FENCE_ENOQUORUM
                                                                         : FENCE_EBUSY;
}
