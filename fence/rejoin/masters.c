#include "fence/rejoin/masters.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/state/output.h"

#include <assert.h>
#include <string.h>

/* A rejoin ends with the connection to its master; a new handshake may begin another rejoin. */
static void lose_master(struct fence_core *core, unsigned i, enum fence_reason reason)
{
    assert(i < core->fleet.n);
    core_rejoin_state_end(&core->rejoins[i]);
    for (unsigned member = 0; member < core->fleet.n; member++)
        core_rejoin_state_source_lost(&core->rejoins[member], i, core->now_us);
    fence_fleet_lose(&core->fleet, i, reason);
}

static void reset_masters(struct fence_core *core, uint32_t set, enum fence_reason reason)
{
    if (set == 0)
        return;
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(set, i))
            lose_master(core, i, reason);
    core_add_effect(core, FENCE_EFFECT_RESET)->masters = set;
}

static void begin_rejoin(struct fence_core *core, unsigned member)
{
    assert(core->fleet.master[member].state == FENCE_MASTER_REJOIN);
    struct core_rejoin *rejoin = &core->rejoins[member];
    uint64_t spread_us = rejoin->beaten ? FENCE_REJOIN_BEATEN_US : FENCE_REJOIN_DELAY_US;
    core_rejoin_state_begin(rejoin, core->now_us + core_random(core) % spread_us);
    core->fleet.master[member].eligible_at_us = 0;
}

/* Judges all masters after the fleet learnt or lost something, and acts on the result. */
static void reconsider(struct fence_core *core, uint32_t active_before)
{
    struct fence_fleet *fleet = &core->fleet;
    uint32_t changed = fence_fleet_judge_all(fleet, core->now_us);
    bool some_are_back = fence_fleet_active(fleet) & ~active_before;
    bool renamed = fence_fleet_name_views(fleet); /* masters may refuse earlier calls */
    if (some_are_back || renamed)
        core_cleanups_tell_again(&core->cleanups);

    uint32_t restarted = changed & fence_fleet_in_state(fleet, FENCE_MASTER_RESTAMP);
    if (restarted)
        core_add_effect(core, FENCE_EFFECT_RESTAMP)->masters = restarted;
    uint32_t forgot = changed & fence_fleet_in_state(fleet, FENCE_MASTER_REJOIN);
    for (unsigned i = 0; i < fleet->n; i++)
        if (fence_set_has(forgot, i))
            begin_rejoin(core, i);
    /* A refused master is probed again on a new connection: the operator may have repaired it. */
    reset_masters(core, changed & fence_fleet_in_state(fleet, FENCE_MASTER_REFUSED),
                  FENCE_REASON_CONNECTING);
    core->some_are_back |= some_are_back;
}

void core_learn(struct fence_core *core, unsigned i, const struct fence_facts *facts)
{
    assert(i < core->fleet.n);
    uint32_t active = fence_fleet_active(&core->fleet) & ~fence_set_of(i);
    core_rejoin_state_end(&core->rejoins[i]);
    if (strcmp(core->fleet.master[i].facts.server_id, facts->server_id) != 0)
        for (unsigned member = 0; member < core->fleet.n; member++)
            core_rejoin_state_source_restarted(&core->rejoins[member], i, core->now_us);
    fence_fleet_learn(&core->fleet, i, facts, core->now_us);
    reconsider(core, active);
}

void core_hear_positions(struct fence_core *core, unsigned i, const struct fence_positions *heard,
                         int64_t writes)
{
    assert(i < core->fleet.n);
    uint32_t active = fence_fleet_active(&core->fleet);
    fence_fleet_hear(&core->fleet, i, heard, writes);
    reconsider(core, active);
}

void core_look_again(struct fence_core *core)
{
    reconsider(core, fence_fleet_active(&core->fleet));
}

void core_learn_view(struct fence_core *core, unsigned i, const struct fence_view *view)
{
    assert(i < core->fleet.n);
    uint32_t active = fence_fleet_active(&core->fleet);
    (void)fence_fleet_learn_view(&core->fleet, i, view);
    reconsider(core, active);
    /* The master was admitted again, or given a token floor. An answer that is still on its way may
     * be older: only a handshake tells how many writes belong to which incarnation. */
    const struct fence_master *master = &core->fleet.master[i];
    if (view->incarnation[i] > master->facts.view.incarnation[i] && master->connected)
        core_give_up(core, fence_set_of(i), FENCE_REASON_CHANGED);
}

void core_lose(struct fence_core *core, unsigned i, enum fence_reason reason)
{
    assert(i < core->fleet.n);
    uint32_t active = fence_fleet_active(&core->fleet);
    lose_master(core, i, reason);
    reconsider(core, active);
}

void core_give_up(struct fence_core *core, uint32_t set, enum fence_reason reason)
{
    assert(set < fence_set_of(core->fleet.n));
    if (set == 0)
        return;
    uint32_t active = fence_fleet_active(&core->fleet);
    reset_masters(core, set, reason);
    reconsider(core, active);
}

void core_note_imports(struct fence_core *core)
{
    const struct fence_fleet *fleet = &core->fleet;
    if (fleet->generation == core->seen_generation)
        return;
    core->seen_generation = fleet->generation;
    for (unsigned i = 0; i < fleet->n; i++)
        if (!fence_incarnation_is_first(fleet->view.incarnation[i]))
            core->copied_until_us = core->now_us + fence_quarantine_us(fleet->ttl_max_ms);
}
