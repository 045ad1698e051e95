#include "fence/rejoin/rejoin_steps.h"

#include "fence/base/minmax.h"
#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/rejoin/masters.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

struct fence_rejoin_request *core_rejoin_send(struct fence_core *core, unsigned member,
                                              enum fence_rejoin_step step, uint32_t masters)
{
    assert(member < core->fleet.n);
    const struct core_rejoin *rejoin = &core->rejoins[member];
    struct fence_effect *effect = core_add_effect(core, FENCE_EFFECT_REJOIN);
    effect->masters = masters;
    effect->rejoin = (struct fence_rejoin_request){
        .step = step,
        .tag = rejoin->serial << REJOIN_SERIAL_SHIFT | member,
        .member = member,
        .incarnation = core->fleet.master[member].meant,
        .fleet_id = core->fleet.fleet_id,
        .ttl_max_ms = core->fleet.ttl_max_ms,
        .readers = core->fleet.readers_named,
        .extensions_max = core->fleet.extensions_max,
        .predecessors = &core->fleet.predecessors,
        .seen = &core->fleet.master[member].facts,
        .steps = rejoin->steps,
        .view = &core->fleet.view,
    };
    return &effect->rejoin;
}

void core_rejoin_break_off(struct fence_core *core, unsigned member, enum fence_reason reason)
{
    core_give_up(core, fence_set_of(member), reason);
}

/* The member cannot rejoin now. A fault of the member stays visible until the next handshake. */
static void put_rejoin_off(struct fence_core *core, unsigned member)
{
    fence_master_move(core_master(core, member), FENCE_MASTER_REFUSED);
    core_master(core, member)->eligible_at_us = 0;
    core_rejoin_break_off(core, member, FENCE_REASON_CONNECTING);
}

void core_rejoin_yield(struct fence_core *core, unsigned member)
{
    core->rejoins[member].beaten = true;
    put_rejoin_off(core, member);
}

/* ---- who is asked ---------------------------------------------------------------------------- */

/* Returns the size of a majority without the member. */
static unsigned quorum_of_others(const struct fence_core *core)
{
    return fence_majority(core->fleet.n);
}

bool core_rejoin_is_enough(const struct fence_core *core, uint32_t set)
{
    return fence_set_count(set) >= quorum_of_others(core);
}

uint32_t core_rejoin_others(const struct fence_core *core, unsigned member)
{
    assert(member < core->fleet.n);
    return fence_fleet_active(&core->fleet) & ~fence_set_of(member);
}

/* Has each of @others record under the view that it is sent (fence_fleet). @incarnation of @member
 * goes into the view; 0: the view is not changed. Most masters are sent the same view, @common. */
static void have_recorded(struct fence_core *core, unsigned member, uint32_t others,
                          const struct fence_view *common, int64_t incarnation)
{
    assert(!fence_set_has(others, member));
    struct core_rejoin *rejoin = &core->rejoins[member];
    uint32_t alike = 0;
    for (unsigned i = 0; i < core->fleet.n; i++) {
        if (!fence_set_has(others, i))
            continue;
        rejoin->named[i] = core->fleet.master[i].named;
        if (incarnation != 0)
            rejoin->named[i].incarnation[member] = incarnation;
        if (memcmp(&rejoin->named[i], common, sizeof(*common)) == 0)
            alike |= fence_set_of(i);
        else
            core_rejoin_send(core, member, FENCE_REJOIN_RECORD, fence_set_of(i))->view =
                &rejoin->named[i];
    }
    if (alike != 0)
        core_rejoin_send(core, member, FENCE_REJOIN_RECORD, alike)->view = common;
}

void core_rejoin_ask(struct fence_core *core, unsigned member)
{
    uint32_t others = core_rejoin_others(core, member);
    if (!core_rejoin_is_enough(core, others) ||
        core->rejoins[member].rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_rejoin_off(core, member);
        return;
    }
    core_rejoin_state_ask(&core->rejoins[member], CORE_REJOIN_ASKING, others,
                          core_rejoin_timeout_us(core));
    have_recorded(core, member, others, &core->fleet.view, 0);
}

void core_rejoin_record(struct fence_core *core, unsigned member)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    const struct fence_fleet *fleet = &core->fleet;
    uint32_t others = core_rejoin_others(core, member);
    if (fleet->view.incarnation[member] > fleet->master[member].meant) {
        core_rejoin_yield(core, member);
        return;
    }
    if (!core_rejoin_is_enough(core, others) || rejoin->rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_rejoin_off(core, member);
        return;
    }
    rejoin->view = fleet->view;
    rejoin->view.incarnation[member] = fleet->master[member].meant;
    rejoin->asked_us = core->now_us;
    core_rejoin_state_ask(rejoin, CORE_REJOIN_RECORDING, others, core_rejoin_timeout_us(core));
    have_recorded(core, member, others, &rejoin->view, fleet->master[member].meant);
}

/* ---- the member itself ----------------------------------------------------------------------- */

/* Returns the highest incarnation of @member that is known, or that it was only meant to get. That
 * includes a try of this server that the member lost since: a record of it may still be on its
 * way. */
static int64_t highest_incarnation(const struct fence_core *core, unsigned member)
{
    const struct fence_master *master = &core->fleet.master[member];
    int64_t highest = fence_max_signed(fence_fleet_claimed(&core->fleet, member), master->meant);
    if (!master->facts.marked)
        return highest;
    return fence_max_signed(
        highest, fence_max_signed(master->facts.view.incarnation[member], master->facts.next));
}

/* Reports whether to mark the member as one that seems to have kept all its data, and draws the
 * incarnation for it. If a higher memory is known or meant, the member is marked as one that lost
 * data: it lacks the votes of that memory. */
static bool draw_incarnation(struct fence_core *core, unsigned member, int64_t *ret_next)
{
    const struct fence_facts *facts = &core->fleet.master[member].facts;
    const int64_t highest = highest_incarnation(core, member);
    const uint64_t random = core_random(core);
    *ret_next = highest;
    if (highest > FENCE_INCARNATION_MAX)
        return false;
    const bool keeps = fence_fleet_keeps(&core->fleet, member);
    const int64_t of_its_memory =
        keeps ? fence_incarnation_next_try(facts->view.incarnation[member], highest, random) : 0;
    *ret_next = of_its_memory != 0 ? of_its_memory : fence_incarnation_next(highest, random);
    return of_its_memory != 0;
}

void core_rejoin_mark(struct fence_core *core, unsigned member)
{
    assert(core->fleet.master[member].state == FENCE_MASTER_REJOIN);
    struct core_rejoin *rejoin = &core->rejoins[member];
    struct fence_master *master = core_master(core, member);
    int64_t next;
    const bool keeps = draw_incarnation(core, member, &next);
    if (next > FENCE_INCARNATION_MAX) { /* no server could read a marker that records it */
        put_rejoin_off(core, member);
        return;
    }
    rejoin->meant_before = master->meant;
    master->meant = next;
    rejoin->steps = 0;
    core_rejoin_state_enter(rejoin, CORE_REJOIN_MARKING, core_rejoin_timeout_us(core));
    core_rejoin_send(core, member, FENCE_REJOIN_MARK, fence_set_of(member))->keeps = keeps;
}

void core_rejoin_unmark(struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    assert(rejoin->state == CORE_REJOIN_MARKING);
    core_master(core, member)->meant = rejoin->meant_before;
}

void core_rejoin_clear(struct fence_core *core, unsigned member, uint64_t cursor)
{
    assert(core->fleet.master[member].state == FENCE_MASTER_REJOIN);
    core_rejoin_state_enter(&core->rejoins[member], CORE_REJOIN_CLEARING,
                            core_rejoin_timeout_us(core));
    core_rejoin_send(core, member, FENCE_REJOIN_CLEAR, fence_set_of(member))->cursor = cursor;
    core->rejoins[member].steps++;
}

void core_rejoin_admit(struct fence_core *core, unsigned member)
{
    assert(core->fleet.master[member].state == FENCE_MASTER_REJOIN);
    struct core_rejoin *rejoin = &core->rejoins[member];
    if (core->fleet.view.incarnation[member] != core_master(core, member)->meant) {
        core_rejoin_yield(core, member);
        return;
    }
    core_rejoin_state_enter(rejoin, CORE_REJOIN_ADMITTING, core_rejoin_timeout_us(core));
    core_rejoin_send(core, member, FENCE_REJOIN_ADMIT, fence_set_of(member));
}
