/* The invariants of the whole core, between two steps. Each invariant has a name, which its
 * assertion ends with. */
#include "fence/call/seating.h"
#include "fence/call/waiting.h"
#include "fence/core.h"
#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

#include <assert.h>
#include <string.h>

static bool is_timed(const struct fence_core *core, const struct call *call)
{
    return fence_timers_is_set(&core->timers, core_index(core, call));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void check_free(const struct fence_core *core, const struct call *call)
{
    assert(!is_timed(core, call) && "a free slot has no timer");
}

static void check_quorum_call(const struct fence_core *core, const struct call *call)
{
    assert(call->kind != FENCE_CALL_ACQUIRE && "only extend, release, inspect and break vote");
    assert(call->group == FENCE_NOBODY && "only acquires are of several");
    assert(is_timed(core, call) && "each round ends in time");
}

static void check_count(const struct fence_core *core, const struct call *call)
{
    const uint32_t me = core_index(core, call);
    const struct core_wait_queue *queue = core_wait_queues_of(&core->counting, me);
    if (call->state == CALL_COUNTED) {
        assert(!queue && is_timed(core, call) && "what was counted is answered at once");
        return;
    }
    assert(queue && strcmp(queue->resource, call->resource) == 0 &&
           "a call that counts stands in the queue of its counter");
    const struct call *first = &core->calls[queue->first];
    if (call == first)
        assert(is_timed(core, call) && "each round ends in time");
    else if (call->state == CALL_COUNTING)
        assert(!is_timed(core, call) && call->round.serial == 0 &&
               "the first of a queue asks for it");
    else
        assert(call->state == CALL_QUEUED && is_timed(core, call) && "a wait ends in time");
}

static void check_turns(const struct fence_core *core, const struct call *call)
{
    const uint32_t me = core_index(core, call);
    const uint32_t known = core_wait_queues_of(&core->queues, me)->seats;
    const struct core_wait_place *places = core->queues.places;
    for (unsigned k = 0; k < call->seats; k++) {
        const uint32_t turn = core->seats.known[known].turn[k];
        assert(turn != FENCE_NOBODY && places[turn].queue == places[me].queue &&
               core->calls[turn].seats > k && "the turn of a seat is of a call that knows it");
        assert(places[turn].rank <= places[me].rank && "the first call that knows a seat has it");
    }
}

static void check_queue(const struct fence_core *core, const struct call *call)
{
    const uint32_t me = core_index(core, call);
    const struct core_wait_queue *queue = core_wait_queues_of(&core->queues, me);
    char name[FENCE_RESOURCE_MAX + 1];
    core_queue_name(call->resource, name);
    assert(queue && strcmp(queue->resource, name) == 0 &&
           "an acquire of one stands in the queue of its resource");
    assert((queue->seats != FENCE_NOBODY) == core_wants_seat(call) &&
           "a queue for seats is for nothing else");
    if (core_wants_seat(call))
        check_turns(core, call);
    if (call->state == CALL_QUEUED)
        assert(core_stands_behind(core, call) && "the first of a queue is never left behind");
    const uint32_t before = core_wait_queues_before(&core->queues, me);
    if (before != FENCE_NOBODY)
        assert(core->queues.places[before].rank <= core->queues.places[me].rank &&
               "a queue is in the order of ranks");
    if (call->acquire.place != FENCE_NOBODY)
        assert(core->kept.places[call->acquire.place].present > 0 &&
               "the place of a waiter is kept");
    if (call->state == CALL_QUEUED && call->wait_until_us)
        assert(is_timed(core, call) && "a wait ends in time");
}

static void check_group(const struct fence_core *core, const struct call *call)
{
    assert(call->group < core->groups.pool.capacity &&
           fence_pool_is_taken(&core->groups.pool, call->group));
    const struct core_group_call *group = &core->groups.calls[call->group];
    assert(group->call == core_index(core, call) && "a group is of one call");
    assert(core->groups.used[group->place] == call->group && "a group under way is in use");
    assert(call->state != CALL_QUEUED && "several stand in no queue");
}

static void check_acquire(const struct fence_core *core, const struct call *call)
{
    assert(core_clients_find(&core->clients, call->client) == core_index(core, call) &&
           "an acquire is found by its client");
    if (call->state == CALL_TRYING) {
        const enum fence_attempt_state state = call->taking.attempt.state;
        assert((state == FENCE_ATTEMPT_TAKING || state == FENCE_ATTEMPT_CONFIRMING) &&
               "an attempt that is over is acted on in its step");
        assert(call->round.generation <= core->fleet.generation && call->tries > 0);
    }
    if (call->state != CALL_QUEUED)
        assert(is_timed(core, call) && "each attempt and pause ends in time");
    if (call->group != FENCE_NOBODY)
        check_group(core, call);
    else
        check_queue(core, call);
}

static void check_watch(const struct fence_core *core, const struct call *call)
{
    const uint32_t me = core_index(core, call);
    const struct core_wait_queue *queue = core_wait_queues_of(&core->watching, me);
    if (call->state == CALL_WATCHED) {
        assert(!queue && is_timed(core, call) && "a watch that is over is answered at once");
        return;
    }
    assert(core_clients_find(&core->clients, call->client) == me &&
           "a watch is found by its client");
    assert(queue && strcmp(queue->resource, call->resource) == 0 &&
           "a watch stands in the queue of its resource");
    assert(is_timed(core, call) && "each look ends in time, and so does each watch");
    if (queue->first != me)
        assert(call->state == CALL_WATCHING && "the first of a queue looks for all");
}

static void check_call(const struct fence_core *core, const struct call *call)
{
    assert(call->round.serial <= core->rounds);
    if (call->state == CALL_FREE)
        check_free(core, call);
    else if (call->kind == FENCE_CALL_ACQUIRE)
        check_acquire(core, call);
    else if (call->kind == FENCE_CALL_COUNT)
        check_count(core, call);
    else if (call->kind == FENCE_CALL_WATCH)
        check_watch(core, call);
    else
        check_quorum_call(core, call);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t count_free(const struct fence_core *core)
{
    uint32_t count = 0;
    uint32_t at = core->pool.free;
    for (; at != FENCE_POOL_NONE; at = fence_pool_behind(&core->pool, at)) {
        assert(count < core->config.calls && "the free slots are no circle");
        assert(core->calls[at].state == CALL_FREE && "a free slot has no call");
        count++;
    }
    return count;
}

static uint32_t count_admitting(const struct fence_core *core)
{
    uint32_t count = 0;
    for (unsigned class = 0; class < CORE_CLASSES; class ++) {
        uint32_t at = core_admission_first(&core->admission, class);
        for (; at != FENCE_NOBODY; at = core->admission.places[at].behind) {
            assert(count < core->config.calls && "the queue for admission is no circle");
            assert(core->calls[at].state == CALL_ADMITTING &&
                   "who waits for admission is named so");
            count++;
        }
    }
    return count;
}

static bool stands_in_watch(const struct fence_core *core, uint32_t i)
{
    const struct call *call = &core->calls[i];
    return call->kind == FENCE_CALL_WATCH && call->state != CALL_FREE &&
           call->state != CALL_WATCHED;
}

static void check_tables(const struct fence_core *core)
{
    uint32_t busy = 0;
    uint32_t waiting = 0;
    uint32_t groups = 0;
    uint32_t admitting = 0;
    for (uint32_t i = 0; i < core->config.calls; i++) {
        const struct call *call = &core->calls[i];
        const bool is_acquire = call->state != CALL_FREE && call->kind == FENCE_CALL_ACQUIRE;
        check_call(core, call);
        busy += call->state != CALL_FREE;
        admitting += call->state == CALL_ADMITTING;
        waiting += (is_acquire && call->wait_until_us != 0) || stands_in_watch(core, i);
        groups += is_acquire && call->group != FENCE_NOBODY;
    }
    assert(busy == core->pool.used && busy + count_free(core) == core->config.calls &&
           "each slot is free or busy");
    assert(waiting == core->waiting && "waiters are counted");
    assert(groups == core->groups.used_count && "groups are counted");
    assert(waiting + core->kept.away <= core_waiters_max(core) && "kept places are bounded");
    assert(admitting == count_admitting(core) && "who waits for admission is in its queue");
    assert(core->cleanups.pool.used <= core->cleanups.pool.capacity && "clean-ups are bounded");
}

/* ---- masters --------------------------------------------------------------------------------- */

static void check_fleet_master(const struct fence_core *core, unsigned i)
{
    const struct fence_master *master = &core->fleet.master[i];
    const struct core_rejoin *rejoin = &core->rejoins[i];
    if (master->state == FENCE_MASTER_ACTIVE)
        assert(master->connected && master->reason == FENCE_REASON_NONE &&
               "only a master that nothing is wrong with votes");
    else
        assert(master->reason != FENCE_REASON_NONE && "a master that does not vote has a reason");
    if (!master->connected)
        assert(master->in_flight == 0 && "who is not connected owes nothing");
    if (rejoin->state != CORE_REJOIN_IDLE)
        assert(master->state == FENCE_MASTER_REJOIN && "only a master that forgot is taken back");
    assert((rejoin->state == CORE_REJOIN_IDLE) == (rejoin->due_us == FENCE_NEVER) &&
           "each step of a rejoin ends in time");
}

void fence_core_check(const struct fence_core *core)
{
    fence_timers_check(&core->timers);
    check_tables(core);
    for (unsigned i = 0; i < core->fleet.n; i++)
        check_fleet_master(core, i);
}
