#include "tests/sim/healing.h"

#include "fence/protocol/lease.h"
#include "tests/sim/faults.h"
#include "tests/sim/voters.h"
#include "tests/sim/world.h"

enum {
    /* From healing on: leaders of rejoins that died are given up, and others lead. Where nothing
     * will ever be well again, only the calls come to their end. */
    CALM_US = 20 * 1000 * 1000,
    CALM_IN_VAIN_US = 1000 * 1000,
    CALM_DELAY_US = 500,
    LOOK_US = 8 * 1000 * 1000, /* from healing on until the operator looks what is still wrong */

    OPERATOR_MARKS = 0, /* the id of an OPERATOR event */
    OPERATOR_SPEAKS = 1,
    OPERATOR_LOOKS = 2,

    MAINTENANCE_BEGINS = 1, /* the id of a MAINTAIN event */
};

/* Above any token that was given out, and not seen; and the same for incarnations. As
 * storage/redis/init_floor.c does it. */
#define FLOOR_MARGIN        (INT64_C(1) << 32)
#define INCARNATIONS_MISSED (INT64_C(1) << (12 + FENCE_INCARNATION_RANDOM_BITS))

static void schedule(struct sim_world *world, uint64_t after_us, enum sim_event_kind kind,
                     unsigned s, uint32_t id)
{
    struct sim_event event = {.kind = (uint8_t)kind, .server = (uint8_t)s, .id = id};
    sim_world_schedule(world, after_us, &event);
}

/* Questions that make servers look at their masters: an idle one does not see that it was wiped. */
static void schedule_nudges(struct sim_world *world, uint64_t from_us)
{
    static const uint32_t after_ms[] = {0, 500, 1500, 3000, 6000, 10000, 15000};
    for (unsigned k = 0; k < sizeof(after_ms) / sizeof(after_ms[0]); k++)
        for (unsigned s = 0; s < world->plan.servers; s++)
            schedule(world, from_us + after_ms[k] * UINT64_C(1000), SIM_EVENT_NUDGE, s, 0);
}

void sim_healing_begin(struct sim_world *world)
{
    world->liar.lies = false;
    if (world->chaos.healed)
        return;
    sim_faults_disaster(world);
    SIM_SAY(world, "all is well from now on");
    sim_chaos_heal(&world->chaos);
    world->plan.delay_high_us = CALM_DELAY_US;
    sim_links_heal(world);
    sim_faults_mend_all(world);
    uint64_t after_us = world->plan.slow_us + 2 * world->plan.outage_us;
    if (world->plan.kind == SIM_LOST) {
        schedule(world, after_us, SIM_EVENT_OPERATOR, 0, OPERATOR_MARKS);
        after_us += fence_quarantine_us(world->plan.ttl_high_ms) * 2;
    }
    if (sim_plan_recovers(&world->plan)) {
        schedule_nudges(world, after_us);
        schedule(world, after_us + LOOK_US, SIM_EVENT_OPERATOR, 0, OPERATOR_LOOKS);
    }
    after_us += sim_plan_recovers(&world->plan) ? CALM_US : CALM_IN_VAIN_US;
    for (unsigned r = 0; r < world->plan.resources; r++, after_us += SIM_PROBE_US)
        schedule(world, after_us, SIM_EVENT_PROBE, 0, r);
    if (world->plan.resources > 1 && sim_plan_recovers(&world->plan)) {
        schedule(world, after_us, SIM_EVENT_PROBE_GROUPS, 0, 0);
        after_us += SIM_PROBE_GROUPS_US;
    }
    if (world->plan.maintains) {
        schedule(world, after_us, SIM_EVENT_MAINTAIN, 0, MAINTENANCE_BEGINS);
        after_us += SIM_MAINTAIN_US;
    }
    schedule(world, after_us, SIM_EVENT_FINISH, 0, 0);
}

/* ---- the operator: pawld init --token-floor ---------------------------------------------------
 */

static void operator_marks(struct sim_world *world)
{
    SIM_SAY(world, "the operator marks all masters as joining, and removes their locks");
    for (unsigned i = 0; i < world->plan.masters; i++) {
        struct sim_master *master = &world->machines[world->address[i]];
        struct sim_marker *marker = &master->memory.marker;
        *marker = (struct sim_marker){
            .present = true,
            .member = i,
            .run = master->run,
            .ttl_max_ms = world->plan.ttl_high_ms,
            .durable = master->persistence == SIM_ALWAYS,
            .lineage = master->lineage,
            .view = marker->view,
        };
        for (uint32_t r = 0; r < world->plan.resources; r++)
            master->memory.locks[r].present = false;
    }
    schedule(world, fence_quarantine_us(world->plan.ttl_high_ms) * 11 / 10, SIM_EVENT_OPERATOR, 0,
             OPERATOR_SPEAKS);
}

static void operator_speaks(struct sim_world *world)
{
    int64_t floor = 0;
    struct fence_view view = {{0}};
    for (uint32_t r = 0; r < world->plan.resources; r++)
        if (floor < world->check.grants[r].highest)
            floor = world->check.grants[r].highest;
    floor += FLOOR_MARGIN;
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_master *master = &world->machines[world->address[i]];
        (void)fence_view_merge(&view, &master->memory.marker.view, world->plan.masters);
    }
    for (unsigned i = 0; i < world->plan.masters; i++)
        view.incarnation[i] = fence_incarnation_next(view.incarnation[i] + INCARNATIONS_MISSED,
                                                     sim_rng_next(&world->rng));
    for (unsigned i = 0; i < world->plan.masters; i++) {
        struct sim_memory *memory = &world->machines[world->address[i]].memory;
        memory->counters.floor = floor; /* below it stands what survived */
        memory->marker.view = view;
        memory->marker.active = true;
    }
    SIM_SAY(world, "the operator sets all counters to the floor: the masters are active");
    sim_check_mended(&world->check);
}

/* ---- the operator: the status says what to do --------------------------------------------------
 */

static bool is_superseded(const struct sim_world *world, unsigned i)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_fleet(world->servers[s].core)->master[i].reason == FENCE_REASON_SUPERSEDED)
            return true;
    return false;
}

/* An old machine that was given its address again is taken for what it was, until it is restarted.
 */
static void operator_looks(struct sim_world *world)
{
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (is_superseded(world, i))
            sim_faults_restart_empty(world, i);
}

/* ---- is all well? ---------------------------------------------------------------------------- */

static void check_all_active(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++) {
        const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
        for (unsigned i = 0; i < world->plan.masters; i++)
            if (fleet->master[i].state != FENCE_MASTER_ACTIVE)
                sim_check_fail(&world->check,
                               "P3: all is well again, but to server %u master %u is %s: %s", s, i,
                               fence_master_state_name(fleet->master[i].state),
                               fence_reason_words(fleet->master[i].reason, NULL)->name);
    }
}

static void probe(struct sim_world *world, uint32_t resource)
{
    sim_check_all_answered(&world->check);
    if (!sim_plan_recovers(&world->plan) || !sim_check_ok(&world->check))
        return;
    check_all_active(world);
    if (sim_check_ok(&world->check))
        sim_probe_one(world, resource);
}

static void probe_groups(struct sim_world *world)
{
    sim_check_all_answered(&world->check);
    if (sim_check_ok(&world->check))
        sim_probe_groups(world);
}

static void finish(struct sim_world *world)
{
    sim_check_all_answered(&world->check);
    sim_maintain_check(world);
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_calls(world->servers[s].core) > 0)
            sim_check_fail(&world->check, "server %u is still busy after its last answer", s);
    sim_voters_check(world);
    world->over = true;
}

void sim_healing_act(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_OPERATOR && event->id == OPERATOR_MARKS)
        operator_marks(world);
    else if (event->kind == SIM_EVENT_OPERATOR && event->id == OPERATOR_SPEAKS)
        operator_speaks(world);
    else if (event->kind == SIM_EVENT_OPERATOR)
        operator_looks(world);
    else if (event->kind == SIM_EVENT_NUDGE)
        sim_probe_nudge(world, event->server);
    else if (event->kind == SIM_EVENT_PROBE)
        probe(world, event->id);
    else if (event->kind == SIM_EVENT_PROBE_AGAIN)
        sim_probe_again(world, event->id);
    else if (event->kind == SIM_EVENT_MAINTAIN && event->id == MAINTENANCE_BEGINS)
        sim_maintain_begin(world);
    else if (event->kind == SIM_EVENT_MAINTAIN)
        sim_maintain_go_on(world);
    else if (event->kind == SIM_EVENT_PROBE_GROUPS)
        probe_groups(world);
    else
        finish(world);
}
