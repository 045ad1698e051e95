#include "fence/call/waiting.h"

#include "fence/base/minmax.h"
#include "fence/call/call_move.h"
#include "fence/call/calls.h"
#include "fence/call/seating.h"
#include "fence/call/watch.h"
#include "fence/protocol/lock_id.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

static struct core_group_call *group_call(const struct fence_core *core, const struct call *call)
{
    assert(call->group != FENCE_NOBODY);
    return &core->groups.calls[call->group];
}

static struct core_wait_queue *queue_of(const struct fence_core *core, const struct call *call)
{
    assert(call->group == FENCE_NOBODY);
    return core_wait_queues_of(&core->queues, core_index(core, call));
}

struct core_holder_hint *core_hint(const struct fence_core *core, const struct call *call)
{
    if (core_wants_seat(call))
        return core_seat_hint(core, call);
    return call->group != FENCE_NOBODY ? &group_call(core, call)->seen
                                       : &queue_of(core, call)->seen;
}

static bool is_own(const struct core_holder_hint *seen, const struct call *call)
{
    return call->idempotent && seen->holder == fence_lock_id_hash(call->lock_id);
}

bool core_knows_held(const struct fence_core *core, const struct call *call)
{
    if (core_wants_seat(call))
        return core_seats_all_held(core, call);
    const struct core_holder_hint *seen = core_hint(core, call);
    return seen->held_until_us > core->now_us && !is_own(seen, call);
}

/* For seats: all seats whose turn @call has. */
static bool knows_turn_held(const struct fence_core *core, const struct call *call)
{
    return core_wants_seat(call) ? core_seats_turn_held(core, call) : core_knows_held(core, call);
}

bool core_holds_itself(const struct fence_core *core, const struct call *call)
{
    if (core_wants_seat(call))
        return core_seat_held_by_itself(core, call);
    const struct core_holder_hint *seen = core_hint(core, call);
    return seen->held_until_us > core->now_us && is_own(seen, call);
}

bool core_stands_behind(const struct fence_core *core, const struct call *call)
{
    if (core_wants_seat(call))
        return !core_seats_has_turn(core, call);
    return call->group == FENCE_NOBODY && queue_of(core, call)->first != core_index(core, call);
}

const struct core_holder_hint *core_first_to_end(const struct fence_core *core,
                                                 const struct call *call)
{
    return core_wants_seat(call) ? core_seat_first_to_end(core, call) : core_hint(core, call);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

void core_waits(const struct fence_core *core, struct call *call)
{
    if (call->wait_until_us && !call->waited)
        core_trace_call(core, FENCE_TRACE_WAITS, call, 0, 0);
    call->waited = true;
}

void core_pause_until(struct fence_core *core, struct call *call, uint64_t due_us)
{
    assert(due_us != FENCE_NEVER);
    core_call_move(call, CALL_PAUSING);
    core_waits(core, call);
    if (call->wait_until_us)
        due_us = fence_min(due_us, call->wait_until_us);
    call->acquire.look_us = due_us;
    if (core_has_gate(call)) /* it extends the gate then */
        due_us = fence_min(due_us, core->now_us + call->ttl_ms * UINT64_C(1000) / FENCE_GATE_PARTS);
    core_trace_call(core, FENCE_TRACE_PAUSED, call, 0,
                    due_us > core->now_us ? (int64_t)(due_us - core->now_us) : 0);
    core_wake_at(core, call, due_us);
}

/* When the lease should be over. A lease may end, and the same holder still has the lock. Then each
 * look comes later than the last one, so that no call asks without a pause. The leases of several
 * seats may end one after the other, so a look counts for a seat with any holder. */
static uint64_t lease_end_us(struct fence_core *core, struct call *call)
{
    const bool seats = core_wants_seat(call);
    const struct core_holder_hint *seen =
        seats ? core_seat_next_to_end(core, call) : core_hint(core, call);
    if (!seats && seen->holder != call->acquire.quick_holder)
        call->acquire.quick_looks = 0;
    call->acquire.quick_holder = seen->holder;
    uint64_t soonest_us =
        core->now_us + ((uint64_t)FENCE_LOOK_LEAST_US << call->acquire.quick_looks);
    uint64_t end_us = seen->held_until_us + FENCE_LOOK_LEAST_US;
    bool soon =
        end_us <= core->now_us + ((uint64_t)FENCE_LOOK_LEAST_US << FENCE_LOOK_DOUBLINGS_MAX);
    if (soon && call->acquire.quick_looks < FENCE_LOOK_DOUBLINGS_MAX)
        call->acquire.quick_looks++;
    else if (seats && !soon)
        call->acquire.quick_looks = 0;
    return fence_max(end_us, soonest_us);
}

uint64_t core_next_look_us(struct fence_core *core, struct call *call)
{
    uint64_t end_us = lease_end_us(core, call);
    bool soon = core_wants_seat(call) ? core_seats_unheard(core, call) : call->tries == 0;
    uint64_t after_us = soon ? FENCE_FIRST_LOOK_US : FENCE_LOOK_US;
    uint64_t spread_us = core_random(core) % (after_us * FENCE_LOOK_SPREADS);
    uint64_t look_us = core->now_us + after_us + spread_us;
    return fence_min(look_us, end_us);
}

/* ---- standing -------------------------------------------------------------------------------- */

/* A rank is this much above the time at which its waiter came. */
#define WAIT_MAX_US (FENCE_WAITED_MAX_MS * UINT64_C(1000))

static uint64_t next_rank(struct fence_core *core)
{
    const uint64_t by_time = core->now_us + WAIT_MAX_US;
    core->ranks = fence_max(core->ranks + 1, by_time);
    return core->ranks;
}

/* The waited time that a caller reports counts while this process is new and knows no places. */
static uint64_t believed_wait_us(struct fence_core *core, const struct fence_call *asked)
{
    if (core->claims_until_us == 0)
        core->claims_until_us = core->now_us + FENCE_CLAIMS_US;
    return core->now_us < core->claims_until_us ? asked->waited_ms * UINT64_C(1000) : 0;
}

/* The rank of @call in its queue. A call that waits takes the room of a place that is kept, where
 * there is no other. */
static uint64_t rank_of(struct fence_core *core, struct call *call, const struct fence_call *asked)
{
    assert(core->waiting <= core_waiters_max(core));
    const uint64_t rank = next_rank(core);
    const uint32_t away_max = core_waiters_max(core) - core->waiting;
    if (!call->wait_until_us)
        return rank;
    if (!call->idempotent || call->group != FENCE_NOBODY) {
        core_kept_places_bound(&core->kept, away_max);
        return rank;
    }
    const struct core_place_owner owner = {
        .resource = call->resource, .lock_id = call->lock_id, .owner = call->owner};
    call->acquire.place = core_kept_places_come(
        &core->kept, &owner, rank - believed_wait_us(core, asked), core->now_us, away_max);
    return core_kept_places_rank(&core->kept, call->acquire.place);
}

int64_t core_ticket(const struct fence_core *core, const struct call *call)
{
    if (call->group != FENCE_NOBODY || core_wants_seat(call))
        return FENCE_TICKET_NONE;
    return call->acquire.ticket > 0 ? call->acquire.ticket : queue_of(core, call)->first_number;
}

void core_learn_number(struct fence_core *core, const struct call *call, int64_t number)
{
    if (call->group != FENCE_NOBODY || number <= 0)
        return;
    struct core_wait_queue *queue = queue_of(core, call);
    if (queue->first_number == 0)
        queue->first_number = number;
    if (queue->number < number)
        queue->number = number;
}

/* The ticket of the place that is kept for @call, or else the number that its queue knows now. */
static void take_ticket(struct fence_core *core, struct call *call, int64_t number)
{
    const uint32_t place = call->acquire.place;
    call->acquire.ticket =
        place == FENCE_NOBODY ? number : core_kept_places_ticket(&core->kept, place, number);
}

bool core_stand(struct fence_core *core, struct call *call, const struct fence_call *asked)
{
    assert(call->kind == FENCE_CALL_ACQUIRE);
    uint32_t me = core_index(core, call);
    core_clients_add(&core->clients, me, call->client);
    core->waiting += call->wait_until_us != 0;
    core_call_move(call, CALL_QUEUED);
    call->group = asked->group ? core_groups_open(&core->groups, asked->group, me) : FENCE_NOBODY;
    const uint64_t rank = rank_of(core, call, asked);
    if (asked->group)
        return true;
    struct core_wait_queue *queue = core_wait_queues_join(&core->queues, me, call->resource, rank);
    queue->askers += !call->wait_until_us;
    queue->own_ids += call->idempotent;
    take_ticket(core, call, queue->number);
    if (core_wants_seat(call) && queue->seats == FENCE_NOBODY)
        queue->seats = core_seats_open(&core->seats);
    if (core_wants_seat(call))
        core_seats_take_turns(core, call);
    return !core_stands_behind(core, call);
}

/* FENCE_NOBODY: there is none. */
static uint32_t first_asker(const struct fence_core *core, const struct core_wait_queue *queue)
{
    uint32_t first = FENCE_NOBODY;
    uint32_t who = queue->last;
    for (uint32_t left = queue->askers; left > 0; who = core_wait_queues_before(&core->queues, who))
        if (!core->calls[who].wait_until_us) {
            first = who;
            left--;
        }
    return first;
}

/* A retry comes with the lock id of a holder. It need not wait for the calls before it. It came
 * late, so only the end of the queue is searched. */
static void wake_retries(struct fence_core *core, const struct core_wait_queue *queue)
{
    uint32_t who = queue->last;
    for (unsigned looked = 0; looked < FENCE_RETRIES_LOOKED_AT && who != FENCE_NOBODY; looked++) {
        const struct call *retry = &core->calls[who];
        if (retry->idempotent && retry->state == CALL_QUEUED && core_holds_itself(core, retry))
            core_wake_at(core, retry, core->now_us);
        who = core_wait_queues_before(&core->queues, who);
    }
}

void core_answer_queue(struct fence_core *core, const struct call *call)
{
    if (call->group != FENCE_NOBODY)
        return;
    const struct core_wait_queue *queue = queue_of(core, call);
    if (queue->own_ids > 0)
        wake_retries(core, queue);
    if (core_wants_seat(call) && !core_seats_all_held(core, call))
        return;
    const unsigned held = core_wants_seat(call) ? core_seats_held_from_first(core, call) : 0;
    uint32_t who = first_asker(core, queue);
    for (; who != FENCE_NOBODY; who = core_wait_queues_behind(&core->queues, who)) {
        const struct call *asker = &core->calls[who];
        if (asker->state == CALL_QUEUED && !asker->wait_until_us && asker->seats <= held)
            core_wake_at(core, asker, core->now_us);
    }
}

/* The first takes one of the seats, which it is told of by itself. */
static void wake_behind_first(struct fence_core *core, const struct core_wait_queue *queue)
{
    unsigned seats = core_seats_shared(core, &core->calls[queue->first]);
    uint32_t who = core_wait_queues_behind(&core->queues, queue->first);
    for (; who != FENCE_NOBODY && seats > 1; who = core_wait_queues_behind(&core->queues, who)) {
        const struct call *reader = &core->calls[who];
        if (reader->mode != FENCE_MODE_READ || reader->state != CALL_QUEUED)
            continue;
        core_wake_at(core, reader, core->now_us);
        seats--;
    }
}

void core_wake_readers(struct fence_core *core, const struct call *call)
{
    if (call->mode == FENCE_MODE_READ)
        wake_behind_first(core, queue_of(core, call));
}

/* @next is first in its queue now, or has the turn of more seats. An attempt that it already has in
 * flight goes on. */
static void step_forward(struct fence_core *core, struct call *next)
{
    assert(next->kind == FENCE_CALL_ACQUIRE);
    if (next->state == CALL_TRYING || next->state == CALL_ADMITTING ||
        next->state == CALL_SURVEYING)
        return;
    next->tries = 0;
    bool can_wait = next->wait_until_us > core->now_us && knows_turn_held(core, next);
    core_pause_until(core, next, can_wait ? core_next_look_us(core, next) : core->now_us);
}

/* The turn of the seats in @passed is another call's now. */
static void step_forward_for_seats(struct fence_core *core, const struct core_seats_known *known,
                                   uint64_t passed)
{
    uint32_t told = FENCE_NOBODY;
    for (unsigned k = 0; k < FENCE_SEATS_MAX; k++) {
        if (!(passed >> k & 1) || known->turn[k] == told)
            continue;
        told = known->turn[k];
        step_forward(core, &core->calls[told]);
    }
}

void core_step_out(struct fence_core *core, struct call *call)
{
    assert(call->kind == FENCE_CALL_ACQUIRE && call->group == FENCE_NOBODY);
    assert(!core_wants_seat(call));
    struct core_wait_queue *queue = queue_of(core, call);
    if (call->acquire.place != FENCE_NOBODY)
        (void)core_kept_places_leave(&core->kept, call->acquire.place, true, core->now_us);
    call->acquire.place = FENCE_NOBODY;
    core_kept_places_bound(&core->kept, core_waiters_max(core) - core->waiting);
    queue->askers -= !call->wait_until_us;
    queue->own_ids -= call->idempotent;
    const uint32_t successor = core_wait_queues_leave(&core->queues, core_index(core, call));
    if (successor != FENCE_NOBODY)
        step_forward(core, &core->calls[successor]);
}

/* @call leaves its queue, and its slot is free. */
static void leave_wait_queue(struct fence_core *core, struct call *call)
{
    struct core_wait_queue *queue = queue_of(core, call);
    const bool seats = core_wants_seat(call);
    const uint32_t known = queue->seats;
    const uint64_t passed = seats ? core_seats_pass_turns(core, call) : 0;
    queue->askers -= !call->wait_until_us;
    queue->own_ids -= call->idempotent;
    if (seats && queue->length == 1)
        core_seats_close(&core->seats, known);
    const uint32_t successor = core_wait_queues_leave(&core->queues, core_index(core, call));
    core_finish(core, call);
    if (seats)
        step_forward_for_seats(core, &core->seats.known[known], passed);
    else if (successor != FENCE_NOBODY)
        step_forward(core, &core->calls[successor]);
}

/* The client may ask another server of the fleet next. */
static void tell_place(struct fence_core *core, const struct call *call, uint64_t rank,
                       int64_t ticket)
{
    const uint64_t fresh = core->now_us + WAIT_MAX_US;
    struct fence_effect *effect = core_add_effect(core, FENCE_EFFECT_PLACE);
    effect->masters = fence_fleet_active(&core->fleet);
    effect->place = (struct fence_place){.resource = call->resource,
                                         .lock_id = call->lock_id,
                                         .owner = call->owner,
                                         .ticket = ticket,
                                         .waited_us = fresh > rank ? fresh - rank : 0};
}

static void leave_place(struct fence_core *core, const struct call *call, bool granted)
{
    const uint32_t place = call->acquire.place;
    const uint64_t rank = core_kept_places_rank(&core->kept, place);
    const int64_t ticket =
        core_kept_places_ticket(&core->kept, place, fence_max_signed(core_ticket(core, call), 0));
    if (core_kept_places_leave(&core->kept, place, granted, core->now_us) && ticket > 0)
        tell_place(core, call, rank, ticket);
}

void core_leave(struct fence_core *core, struct call *call, bool granted)
{
    assert(call->kind == FENCE_CALL_ACQUIRE);
    assert(core->waiting > 0 || call->wait_until_us == 0);
    core->waiting -= call->wait_until_us != 0;
    core_clients_remove(&core->clients, core_index(core, call));
    if (granted)
        core->granted_place = call->acquire.place;
    if (call->acquire.place != FENCE_NOBODY)
        leave_place(core, call, granted);
    if (call->group == FENCE_NOBODY) {
        leave_wait_queue(core, call);
        return;
    }
    core_groups_close(&core->groups, call->group);
    core_finish(core, call);
}

/* ---- being told ------------------------------------------------------------------------------ */

/* @call, which came before the word of its place, moves forward. The first in a queue need not, and
 * asks at once: the masters learn its ticket. Of a call for seats the turns stay as they are. */
static void move_forward(struct fence_core *core, struct call *call, const struct fence_place *told)
{
    const uint32_t me = core_index(core, call);
    if (call->acquire.ticket > told->ticket)
        call->acquire.ticket = told->ticket;
    if (call->state == CALL_PAUSING && !core_stands_behind(core, call))
        core_wake_at(core, call, core->now_us);
    if (call->state != CALL_QUEUED || core_wants_seat(call) || !core_stands_behind(core, call))
        return;
    (void)!core_wait_queues_leave(&core->queues, me);
    (void)core_wait_queues_join(&core->queues, me, call->resource,
                                core_kept_places_rank(&core->kept, call->acquire.place));
    if (!core_stands_behind(core, call))
        step_forward(core, call);
}

void core_place_told(struct fence_core *core, const struct fence_place *told)
{
    const struct core_place_owner owner = {told->resource, told->lock_id, told->owner};
    const uint64_t rank = core->now_us + WAIT_MAX_US - fence_min(told->waited_us, WAIT_MAX_US);
    const uint32_t room = core_waiters_max(core) - core->waiting;
    const struct core_wait_queue *queue = core_queue_for(core, told->resource);
    if (room == 0)
        return;
    const uint32_t place =
        core_kept_places_told(&core->kept, &owner, rank, told->ticket, core->now_us, room);
    uint32_t who = queue && place != FENCE_NOBODY ? queue->last : FENCE_NOBODY;
    for (unsigned looked = 0; looked < FENCE_RETRIES_LOOKED_AT && who != FENCE_NOBODY; looked++) {
        struct call *call = &core->calls[who];
        who = core_wait_queues_before(&core->queues, who);
        if (call->acquire.place == place)
            move_forward(core, call, told);
    }
}

/* @asker: FENCE_NOBODY, where no call asks for it. */
static void wake_on_release(struct fence_core *core, uint32_t asker, struct core_holder_hint *seen,
                            uint64_t by)
{
    const struct call *call = asker != FENCE_NOBODY ? &core->calls[asker] : NULL;
    if (core_holder_hint_released(seen, by) && call && call->state == CALL_PAUSING)
        core_wake_at(core, call, core->now_us);
}

/* @queue may be NULL. */
static void wake_queue(struct fence_core *core, struct core_wait_queue *queue, const char *resource,
                       const char *lock_id)
{
    struct core_holder_hint *seen = queue ? core_queue_hint(core, queue, resource) : NULL;
    if (!seen)
        return;
    wake_on_release(core, core_queue_asker(core, queue, resource), seen,
                    fence_lock_id_hash(lock_id));
    if (queue->seats != FENCE_NOBODY && seen->held_until_us <= core->now_us)
        core_wake_readers(core, &core->calls[queue->first]);
}

void core_released(struct fence_core *core, const char *resource, const char *lock_id)
{
    core_watch_changed(core, resource);
    const size_t len = strlen(resource);
    wake_queue(core, core_queue_for(core, resource), resource, lock_id);
    if (fence_gate_is(resource, len))
        wake_queue(core, core_queue_of_readers(core, resource), resource, lock_id);
    if (core->groups.used_count == 0)
        return;
    const uint64_t by = fence_lock_id_hash(lock_id);
    const uint16_t slot = (uint16_t)fence_slot(resource, len);
    for (uint32_t k = 0; k < core->groups.used_count; k++) {
        struct core_group_call *group = &core->groups.calls[core->groups.used[k]];
        if (core_groups_has(group, slot, resource))
            wake_on_release(core, group->call, &group->seen, by);
    }
}
