#include "fence/call/seating.h"

#include "fence/base/minmax.h"
#include "fence/protocol/lock_id.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"
#include "fence/state/output.h"
#include "fence/state/tag.h"

#include <assert.h>
#include <string.h>

static struct core_seats_known *known_of(const struct fence_core *core, const struct call *call)
{
    const struct core_wait_queue *queue =
        core_wait_queues_of(&core->queues, core_index(core, call));
    assert(core_wants_seat(call) && queue && queue->seats != FENCE_NOBODY);
    return &core->seats.known[queue->seats];
}

static uint64_t seat_bit(unsigned seat)
{
    return UINT64_C(1) << seat;
}

static bool is_held(const struct fence_core *core, const struct core_holder_hint *seen)
{
    return seen->held_until_us > core->now_us;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Reports whether @who, of the same queue, stands behind @call. */
static bool is_behind(const struct fence_core *core, uint32_t who, const struct call *call)
{
    const struct core_wait_place *places = core->queues.places;
    return places[who].rank > places[core_index(core, call)].rank;
}

void core_seats_take_turns(struct fence_core *core, const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    for (unsigned k = 0; k < call->seats; k++)
        if (known->turn[k] == FENCE_NOBODY || is_behind(core, known->turn[k], call))
            known->turn[k] = core_index(core, call);
}

/* A call that does not know a seat does not know a later one, either: the queue is walked once. */
uint64_t core_seats_pass_turns(struct fence_core *core, const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    const uint32_t me = core_index(core, call);
    uint32_t next = core_wait_queues_behind(&core->queues, me);
    uint64_t passed = 0;
    for (unsigned k = 0; k < call->seats; k++) {
        if (known->turn[k] != me)
            continue;
        while (next != FENCE_NOBODY && core->calls[next].seats <= k)
            next = core_wait_queues_behind(&core->queues, next);
        known->turn[k] = next;
        passed |= next != FENCE_NOBODY ? seat_bit(k) : 0;
    }
    return passed;
}

/* Bits of the seats that @call has the turn of. */
static uint64_t turns_of(const struct fence_core *core, const struct call *call)
{
    const struct core_seats_known *known = known_of(core, call);
    uint64_t turns = 0;
    for (unsigned k = 0; k < call->seats; k++)
        turns |= known->turn[k] == core_index(core, call) ? seat_bit(k) : 0;
    return turns;
}

bool core_seats_has_turn(const struct fence_core *core, const struct call *call)
{
    return turns_of(core, call) != 0;
}

bool core_seat_has_turn(const struct fence_core *core, const struct call *call)
{
    return known_of(core, call)->turn[call->seat] == core_index(core, call);
}

/* ---- what is known --------------------------------------------------------------------------- */

struct core_holder_hint *core_seat_hint(const struct fence_core *core, const struct call *call)
{
    return &known_of(core, call)->seen[call->seat];
}

struct core_holder_hint *core_seat_gate_hint(const struct fence_core *core, const struct call *call)
{
    return &known_of(core, call)->gate;
}

/* Reports whether a writer is known to have the gate, which turns @call away. */
static bool is_shut_out(const struct fence_core *core, const struct call *call)
{
    return call->mode == FENCE_MODE_READ && is_held(core, &known_of(core, call)->gate);
}

/* Seats that a reader leaves to other readers of this server. */
static uint64_t left_to_others(const struct fence_core *core, const struct call *call)
{
    return call->mode == FENCE_MODE_READ ? known_of(core, call)->trying : 0;
}

/* Bits of the seats that @call waits for: the seats of its turn. Readers ask side by side,
 * and have the turn of all. */
static uint64_t awaited_seats(const struct fence_core *core, const struct call *call)
{
    return call->mode == FENCE_MODE_READ ? core_seats_of(call) : turns_of(core, call);
}

/* The hint of the seat in @set whose lease ends first. */
static struct core_holder_hint *first_to_end_of(struct core_seats_known *known, uint64_t set)
{
    struct core_holder_hint *first = NULL;
    for (unsigned k = 0; k < FENCE_SEATS_MAX; k++)
        if (set & seat_bit(k) && (!first || known->seen[k].held_until_us < first->held_until_us))
            first = &known->seen[k];
    assert(first);
    return first;
}

/* The hint of the gate, for a reader that the gate turns away. */
struct core_holder_hint *core_seat_first_to_end(const struct fence_core *core,
                                                const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    return is_shut_out(core, call) ? &known->gate : first_to_end_of(known, core_seats_of(call));
}

struct core_holder_hint *core_seat_next_to_end(const struct fence_core *core,
                                               const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    const uint64_t turns = awaited_seats(core, call);
    if (is_shut_out(core, call))
        return &known->gate;
    return first_to_end_of(known, turns != 0 ? turns : core_seats_of(call));
}

bool core_seats_all_held(const struct fence_core *core, const struct call *call)
{
    return is_held(core, core_seat_first_to_end(core, call)) &&
           !core_seat_held_by_itself(core, call);
}

bool core_seats_turn_held(const struct fence_core *core, const struct call *call)
{
    return is_held(core, core_seat_next_to_end(core, call)) &&
           !core_seat_held_by_itself(core, call);
}

/* Bits of the seats that lock ids are known to hold. */
static uint64_t held_seats(const struct fence_core *core, const struct call *call)
{
    const struct core_seats_known *known = known_of(core, call);
    uint64_t held = 0;
    for (unsigned k = 0; k < FENCE_SEATS_MAX; k++)
        held |= is_held(core, &known->seen[k]) ? seat_bit(k) : 0;
    return held;
}

bool core_seats_left_to_others(const struct fence_core *core, const struct call *call)
{
    return (core_seats_of(call) & ~awaited_seats(core, call) & ~held_seats(core, call)) != 0;
}

unsigned core_seats_held_from_first(const struct fence_core *core, const struct call *call)
{
    const uint64_t held = held_seats(core, call);
    unsigned count = 0;
    while (count < FENCE_SEATS_MAX && held & seat_bit(count))
        count++;
    return count;
}

/* The seat that the lock id of @call is known to hold; FENCE_NOBODY: none. */
static unsigned own_seat(const struct fence_core *core, const struct call *call)
{
    const struct core_seats_known *known = known_of(core, call);
    const uint64_t me = fence_lock_id_hash(call->lock_id);
    for (unsigned k = 0; call->idempotent && k < call->seats; k++)
        if (known->seen[k].holder == me && is_held(core, &known->seen[k]))
            return k;
    return FENCE_NOBODY;
}

/* The seat that the lock id of @call asked for last, and @call did not; FENCE_NOBODY: none. The
 * first call may be under way, or its answer may be lost. */
static unsigned asked_before(const struct fence_core *core, const struct call *call)
{
    const struct core_seats_known *known = known_of(core, call);
    const uint64_t me = fence_lock_id_hash(call->lock_id);
    for (unsigned k = 0; call->idempotent && k < call->seats; k++)
        if (known->asker[k] == me && !(call->acquire.asked & seat_bit(k)))
            return k;
    return FENCE_NOBODY;
}

bool core_seat_held_by_itself(const struct fence_core *core, const struct call *call)
{
    return own_seat(core, call) != FENCE_NOBODY;
}

bool core_seats_unheard(const struct fence_core *core, const struct call *call)
{
    if (is_shut_out(core, call))
        return !known_of(core, call)->gate_heard;
    return (awaited_seats(core, call) & ~known_of(core, call)->heard) != 0;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Repeated requests of one lock id, that come to several servers at a time, begin at one seat. */
static unsigned begin_at(const struct core_seats_known *known, const struct call *call)
{
    const unsigned long own = fence_hash(call->lock_id, strlen(call->lock_id), 0);
    return (call->idempotent ? (unsigned)(own % call->seats) : known->next % call->seats);
}

/* The first seat of @set from @from on; FENCE_NOBODY: it is empty. */
static unsigned first_from(uint64_t set, unsigned from, unsigned seats)
{
    for (unsigned k = 0; k < seats; k++)
        if (set & seat_bit((from + k) % seats))
            return (from + k) % seats;
    return FENCE_NOBODY;
}

unsigned core_seats_shared(const struct fence_core *core, const struct call *call)
{
    if (call->mode != FENCE_MODE_READ || is_shut_out(core, call))
        return 0;
    const uint64_t free = core_seats_of(call) & ~held_seats(core, call);
    return (unsigned)__builtin_popcountll(free & ~left_to_others(core, call));
}

void core_seat_trying(struct fence_core *core, const struct call *call, bool begins)
{
    if (call->mode != FENCE_MODE_READ)
        return;
    struct core_seats_known *known = known_of(core, call);
    known->trying &= ~seat_bit(call->seat);
    known->trying |= begins ? seat_bit(call->seat) : 0;
}

static unsigned next_seat(const struct fence_core *core, const struct call *call)
{
    const struct core_seats_known *known = known_of(core, call);
    const unsigned from = begin_at(known, call);
    const unsigned own = own_seat(core, call);
    const unsigned before = call->mode == FENCE_MODE_READ ? asked_before(core, call) : FENCE_NOBODY;
    const uint64_t left =
        awaited_seats(core, call) & ~call->acquire.asked & ~left_to_others(core, call);
    if (own != FENCE_NOBODY && !(call->acquire.asked & seat_bit(own)))
        return own;
    if (is_shut_out(core, call))
        return FENCE_NOBODY;
    if (before != FENCE_NOBODY && !is_held(core, &known_of(core, call)->seen[before]))
        return before;
    const unsigned free = first_from(left & ~held_seats(core, call), from, call->seats);
    return free != FENCE_NOBODY ? free : first_from(left & call->acquire.look, from, call->seats);
}

bool core_seat_choose(struct fence_core *core, struct call *call)
{
    const unsigned seat = next_seat(core, call);
    if (seat == FENCE_NOBODY)
        return false;
    call->seat = (uint8_t)seat;
    call->acquire.asked |= seat_bit(seat);
    if (call->idempotent)
        known_of(core, call)->asker[seat] = fence_lock_id_hash(call->lock_id);
    if (call->mode == FENCE_MODE_READ) /* another reader may begin before the answer comes */
        known_of(core, call)->next = seat + 1;
    fence_seat_write(call->resource, seat);
    return true;
}

void core_seats_look(struct fence_core *core, struct call *call, bool first)
{
    const uint64_t turns = awaited_seats(core, call);
    const uint64_t unheard = turns & ~known_of(core, call)->heard;
    call->acquire.asked = 0;
    call->acquire.look = 0;
    if (first && is_shut_out(core, call)) /* the next seat that it asks for tells about the gate */
        known_of(core, call)->gate.held_until_us = 0;
    if (core_seats_turn_held(core, call))
        call->acquire.look = unheard ? unheard : turns;
}

static uint64_t held_until_us(const struct fence_core *core, uint64_t remaining_ms)
{
    return core->now_us + fence_min(remaining_ms, FENCE_REMAINING_MAX_MS) * 1000;
}

void core_seat_found(struct fence_core *core, const struct call *call, unsigned seat,
                     uint64_t remaining_ms)
{
    core_holder_hint_held(&known_of(core, call)->seen[seat], held_until_us(core, remaining_ms),
                          fence_lock_id_hash(call->lock_id), "");
}

void core_seats_forget_own(struct fence_core *core, const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    for (unsigned k = own_seat(core, call); k != FENCE_NOBODY; k = own_seat(core, call))
        known->seen[k].held_until_us = 0;
}

/* If its release arrived before, the seat was about to be free. */
static void forget_overtaken(struct core_holder_hint *seen)
{
    if (core_holder_hint_overtaken(seen))
        seen->held_until_us = 0;
}

void core_seat_found_held(struct fence_core *core, const struct call *call, unsigned seat,
                          uint64_t remaining_ms, const struct fence_reply *reply)
{
    struct core_holder_hint *seen = &known_of(core, call)->seen[seat];
    core_holder_hint_held(seen, held_until_us(core, remaining_ms),
                          fence_lock_id_hash(reply->holder), reply->owner);
    forget_overtaken(seen);
}

void core_seat_met(struct fence_core *core, struct call *call)
{
    forget_overtaken(core_seat_hint(core, call));
    call->acquire.met = true;
    if (call->wait_until_us)
        known_of(core, call)->heard |= seat_bit(call->seat);
}

void core_seat_gate_met(struct fence_core *core, struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    if (core_holder_hint_overtaken(&known->gate)) /* it was about to be free */
        known->gate.held_until_us = 0;
    known->gate_heard = known->gate_heard || call->wait_until_us != 0;
    call->acquire.asked &= ~seat_bit(call->seat); /* nothing was learnt of the seat */
}

void core_seat_granted(struct fence_core *core, const struct call *call)
{
    struct core_seats_known *known = known_of(core, call);
    known->heard &= ~seat_bit(call->seat);
    known->next = call->seat + 1;
}

const char *core_seat_kept_name(struct fence_core *core, const struct call *call)
{
    memcpy(core->seats.undone, call->resource, sizeof(core->seats.undone));
    return core->seats.undone;
}

const struct fence_group *core_seat_with_gate(struct fence_core *core, const struct call *call,
                                              int64_t hint)
{
    struct fence_group *group = &core->seats.gated;
    group->count = 2;
    for (unsigned k = 0; k < group->count; k++) {
        group->locks[k].slot = call->slot;
        group->locks[k].hint = hint;
        core_copy_text(group->locks[k].resource, sizeof(group->locks[k].resource), call->resource);
    }
    fence_gate_write(group->locks[1].resource);
    return group;
}

/* ---- asking about all of them ---------------------------------------------------------------- */

/* Each seat has its own serial in the round, so that a reply tells which seat it is about. */
void core_seats_ask(struct fence_core *core, const struct call *call, uint32_t set)
{
    core->rounds = fence_max(core->rounds, call->round.serial + FENCE_SEATS_MAX - 1);
    for (unsigned k = 0; set != 0 && k < call->seats; k++) {
        char *name = core->seats.names[k];
        core_copy_text(name, sizeof(core->seats.names[k]), call->resource);
        fence_seat_write(name, k);
        const struct fence_request request = {
            .kind = FENCE_REQUEST_INSPECT,
            .tag = core_tag(call->round.serial + k, false, core_index(core, call)),
            .resource = name,
            .lock_id = call->lock_id,
            .owner = call->owner,
            .slot = call->slot,
        };
        core_send(core, set, &request);
    }
}

unsigned core_seat_of_reply(const struct call *call, const struct fence_reply *reply)
{
    const uint64_t seat = core_tag_serial(reply->tag) - call->round.serial;
    assert(seat < call->seats);
    return (unsigned)seat;
}

/* ---- names ----------------------------------------------------------------------------------- */

void core_seat_drop(struct call *call)
{
    call->resource[fence_seat_name_len(call->resource, strlen(call->resource))] = '\0';
}

void core_queue_name(const char *resource, char ret_name[static FENCE_RESOURCE_MAX + 1])
{
    const size_t len = strlen(resource);
    const size_t name_len = fence_seat_name_len(resource, len);
    const bool is_seat = name_len < len && !fence_gate_is(resource, len);
    const size_t used = is_seat ? name_len + 1 : len;
    assert(len <= FENCE_RESOURCE_MAX);
    memcpy(ret_name, resource, used);
    ret_name[used] = '\0';
}

struct core_holder_hint *core_queue_hint(struct fence_core *core, struct core_wait_queue *queue,
                                         const char *resource)
{
    unsigned seat = 0;
    if (queue->seats == FENCE_NOBODY)
        return &queue->seen;
    struct core_seats_known *known = &core->seats.known[queue->seats];
    if (fence_gate_is(resource, strlen(resource)))
        return &known->gate;
    return fence_seat_read(resource, strlen(resource), &seat) ? &known->seen[seat] : NULL;
}

struct core_wait_queue *core_queue_of_readers(const struct fence_core *core, const char *gate)
{
    char name[FENCE_RESOURCE_MAX + 1];
    core_copy_text(name, sizeof(name), gate);
    name[fence_seat_name_len(name, strlen(name)) + 1] = '\0';
    return core_wait_queues_find(&core->queues, name);
}

uint32_t core_queue_asker(const struct fence_core *core, const struct core_wait_queue *queue,
                          const char *resource)
{
    unsigned seat = 0;
    if (queue->seats == FENCE_NOBODY || fence_gate_is(resource, strlen(resource)))
        return queue->first;
    return fence_seat_read(resource, strlen(resource), &seat)
               ? core->seats.known[queue->seats].turn[seat]
               : FENCE_NOBODY;
}

struct core_wait_queue *core_queue_for(const struct fence_core *core, const char *resource)
{
    char name[FENCE_RESOURCE_MAX + 1];
    core_queue_name(resource, name);
    return core_wait_queues_find(&core->queues, name);
}

unsigned core_writers_waiting(const struct fence_core *core, const char *resource)
{
    char name[FENCE_RESOURCE_MAX + 1];
    core_copy_text(name, sizeof(name), resource);
    fence_gate_write(name);
    const struct core_wait_queue *queue = core_wait_queues_find(&core->queues, name);
    unsigned count = queue ? queue->length : 0;
    name[fence_seat_name_len(name, strlen(name))] = '\0';
    for (uint32_t k = 0; k < core->groups.used_count; k++) {
        const struct call *call = &core->calls[core->groups.calls[core->groups.used[k]].call];
        count += core_has_gate(call) && strcmp(call->resource, name) == 0;
    }
    return count;
}
