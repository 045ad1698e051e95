#include "fence/call/refuse_before_asking.h"

#include "fence/call/seating.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* ---- what a caller may not ask --------------------------------------------------------------- */

static void check_asked_group(const struct fence_group *group)
{
    assert(group->count >= FENCE_GROUP_MIN && group->count <= FENCE_GROUP_MAX);
    for (unsigned k = 0; k < group->count; k++) {
        const struct fence_group_lock *lock = &group->locks[k];
        size_t len = strlen(lock->resource);
        assert(fence_resource_valid(lock->resource, len));
        assert(lock->slot == fence_slot(lock->resource, len));
    }
}

/* No call takes a seat by its name. */
static void check_asked_name(const struct fence_call *call)
{
    const size_t len = strlen(call->resource);
    const bool takes = call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_COUNT;
    const bool has_seats = call->seats > 0 || call->mode != FENCE_MODE_PLAIN;
    assert(call->seats <= FENCE_SEATS_MAX);
    assert(call->seats == 0 || call->mode == FENCE_MODE_PLAIN);
    if (has_seats)
        assert((call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_INSPECT) &&
               !call->group && fence_seats_name_valid(call->resource, len));
    else
        assert(takes ? fence_resource_valid(call->resource, len)
                     : fence_lock_name_valid(call->resource, len));
}

void core_check_asked(const struct fence_call *call)
{
    bool reads =
        call->kind == FENCE_CALL_INSPECT || (call->kind == FENCE_CALL_COUNT && call->count == 0);
    assert(reads || call->origin == FENCE_ORIGIN_CLIENT);
    assert(call->count <= FENCE_COUNT_MAX);
    check_asked_name(call);
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND ||
        call->kind == FENCE_CALL_RELEASE)
        assert(fence_lock_id_valid(call->lock_id, strlen(call->lock_id)));
    if (call->kind == FENCE_CALL_WATCH)
        assert(call->wait_ms > 0 && call->token >= 0 && call->token <= FENCE_TOKEN_MAX);
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_BREAK)
        assert(fence_owner_valid(call->owner, strlen(call->owner)));
    if (call->kind == FENCE_CALL_BREAK)
        assert(call->token >= 1 && call->token <= FENCE_TOKEN_MAX);
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND)
        assert(call->ttl_ms >= FENCE_TTL_MIN_MS && call->ttl_ms <= FENCE_TTL_CEILING_MS);
    assert(call->keep_ms <= FENCE_TTL_CEILING_MS);
    assert(call->wait_ms <= FENCE_WAIT_MAX_MS && call->waited_ms <= FENCE_WAITED_MAX_MS);
    if (call->group)
        check_asked_group(call->group);
}

/* ---- what the core has no room for ----------------------------------------------------------- */

/* The knowledge of seats is kept for names alone that acquires stand in the queue of. */
static bool lacks_room_for_seats(const struct fence_core *core, const struct fence_call *call)
{
    char name[FENCE_RESOURCE_MAX + 1];
    if (call->kind != FENCE_CALL_ACQUIRE || (call->seats == 0 && call->mode != FENCE_MODE_READ) ||
        !core_seats_full(&core->seats))
        return false;
    core_copy_text(name, sizeof(name), call->resource);
    fence_seat_write(name, 0);
    return !core_queue_for(core, name);
}

int core_refusal(const struct fence_core *core, const struct fence_call *call)
{
    const bool is_group = call->group || call->mode == FENCE_MODE_WRITE;
    if (fence_pool_full(&core->pool) || (is_group && core_groups_full(&core->groups)))
        return FENCE_EBUSY;
    if (lacks_room_for_seats(core, call))
        return FENCE_EBUSY;
    if (core->fleet.fleet_id[0] == '\0')
        return FENCE_ENOTREADY;
    if (call->wait_ms > 0 && core->waiting >= core->config.waiters)
        return FENCE_EWAITERS;
    if (call->kind == FENCE_CALL_WATCH && core->watches >= (core->config.waiters + 1) / 2)
        return FENCE_EWAITERS;
    if (call->wait_ms > 0 && is_group && !core_groups_let_wait(&core->groups))
        return FENCE_EWAITERS;
    return call->ttl_ms + fence_owner_delay_ms(call->owner) > core->fleet.ttl_max_ms ? FENCE_ETTL
                                                                                     : 0;
}

void core_refuse(struct fence_core *core, const struct fence_call *call, int error)
{
    struct fence_answer *answer = &core_add_effect(core, FENCE_EFFECT_ANSWER)->answer;
    *answer = fence_answer_refusing(call, error);
    answer->lease.ttl_ms = call->ttl_ms;
    answer->lease.delay_ms = fence_owner_delay_ms(call->owner);
    answer->lease.ttl_max_ms = core->fleet.ttl_max_ms;
    answer->total = core->fleet.n;
}
