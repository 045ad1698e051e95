#include "tests/sim/faults.h"

#include "fence/lease.h"
#include "tests/sim/voters.h"
#include "tests/sim/world.h"

#include <limits.h>

enum {
    RECONFIGURED = 200, /* per mille of restarts: with other settings than before */
    WIPED_IN_HASTE = 300,
    SWAPPED_BACK = 500, /* of replacements: the old machine gets its address again */
};

static struct sim_master *master_at(struct sim_world *world, unsigned i)
{
    return &world->machines[world->address[i]];
}

/* ---- masters --------------------------------------------------------------------------------- */

/* Whatever was remembered, counters may start lower from here. */
static void forgot(struct sim_world *world, unsigned machine)
{
    for (uint32_t slot = 0; slot < world->plan.slots; slot++)
        sim_check_forgot(&world->check, machine, slot,
                         sim_master_counter(&world->machines[machine], slot));
    sim_voters_check(world);
}

static void break_links(struct sim_world *world, unsigned machine)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++)
            if (sim_link_of(world, s, i)->machine == machine)
                sim_link_break(world, s, i, false);
}

/* The settings are those of the new process; what is lost was up to those of the old one. */
static void restart(struct sim_world *world, unsigned i, enum sim_fault fault, bool reconfigured)
{
    struct sim_master *master = master_at(world, i);
    bool lost = fault == SIM_FAULT_DISK_LOST;
    bool was_durable = master->persistence == SIM_ALWAYS && !lost;
    sim_master_restart(master, ++world->runs, lost);
    if (reconfigured)
        master->persistence = (enum sim_persistence)sim_chaos_pick(&world->chaos, fault, 3);
    sim_master_save(master);
    world->stats.restarts_intact += was_durable;
    world->stats.restarts_forgetful += !was_durable;
    SIM_SAY(world, "master %u restarts%s", i,
            was_durable                     ? ""
            : master->memory.marker.present ? ", having lost its last writes"
                                            : ", empty");
    break_links(world, world->address[i]);
    forgot(world, world->address[i]);
}

void sim_faults_restart_empty(struct sim_world *world, unsigned i)
{
    SIM_SAY(world, "the operator restarts master %u, empty", i);
    sim_master_restart(master_at(world, i), ++world->runs, true);
    sim_master_save(master_at(world, i));
    break_links(world, world->address[i]);
    forgot(world, world->address[i]);
}

static void flush(struct sim_world *world, unsigned i)
{
    SIM_SAY(world, "master %u: FLUSHALL", i);
    world->stats.flushes++;
    sim_master_flush(master_at(world, i));
    forgot(world, world->address[i]);
}

/* A machine of member @i that is not at its address. UINT_MAX: there is none. */
static unsigned old_machine(const struct sim_world *world, unsigned i)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        if (world->machines[m].member == i && world->address[i] != m)
            return m;
    return UINT_MAX;
}

/* Another machine gets the address: a blank one, or one that had it before. Connections stay. */
static void replace(struct sim_world *world, unsigned i)
{
    unsigned old = old_machine(world, i);
    bool back =
        old != UINT_MAX && sim_chaos_pick(&world->chaos, SIM_FAULT_REPLACE, 1000) < SWAPPED_BACK;
    if (!back && world->machines_count == SIM_MACHINES_MAX)
        return;
    if (back) {
        world->address[i] = old;
        SIM_SAY(world, "master %u: an old machine has its address again", i);
    } else {
        unsigned machine = world->machines_count++;
        const struct sim_master *before = master_at(world, i);
        struct sim_master *master = &world->machines[machine];
        *master = (struct sim_master){
            .clock = before->clock,
            .slots = before->slots,
            .resources = before->resources,
            .extensions = before->extensions,
            .member = i,
            .run = ++world->runs,
            .persistence = before->persistence,
        };
        world->address[i] = machine;
        SIM_SAY(world, "master %u is replaced by an empty machine; the old one runs on", i);
    }
    world->stats.replacements++;
}

/* One that keeps all it knows may restart at any time. (Not where an old machine lives on: it would
 * help two masters half-way back that have nobody to end it with, once that machine is found out.)
 */
static bool keeps_all(struct sim_world *world, unsigned i, enum sim_fault fault)
{
    return fault == SIM_FAULT_MASTER_RESTART && master_at(world, i)->persistence == SIM_ALWAYS &&
           world->machines_count == world->plan.masters;
}

/* Unless the world is to end badly, a master may only forget while the fleet can spare it. */
static void perhaps_forget(struct sim_world *world, unsigned i, enum sim_fault fault)
{
    if (!sim_chaos_strikes(&world->chaos, fault))
        return;
    bool spared = !sim_plan_recovers(&world->plan) || sim_voters_can_spare(world, i);
    bool reconfigured = spared && world->plan.kind != SIM_BLACKOUT &&
                        sim_chaos_pick(&world->chaos, fault, 1000) < RECONFIGURED;
    if (!spared && !keeps_all(world, i, fault))
        return;
    if (fault == SIM_FAULT_FLUSH)
        flush(world, i);
    else if (fault == SIM_FAULT_REPLACE)
        replace(world, i);
    else
        restart(world, i, fault, reconfigured);
}

/* Whether each server counts on all masters now. Whoever does not could trust the disk of one that
 * comes back, where it should ask the others: for want of them, as far as it knows. */
static bool all_are_active(const struct sim_world *world)
{
    uint32_t all = (UINT32_C(1) << world->plan.masters) - 1;
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_fleet_active(fence_core_fleet(world->servers[s].core)) != all)
            return false;
    return true;
}

/* As it was when it was backed up last: its locks too, and its counters. */
static void perhaps_restore(struct sim_world *world, unsigned i)
{
    if (!sim_chaos_strikes(&world->chaos, SIM_FAULT_RESTORE) || !all_are_active(world) ||
        !sim_voters_can_spare(world, i))
        return;
    SIM_SAY(world, "master %u restarts from a backup", i);
    world->stats.restores++;
    sim_master_restore(master_at(world, i), ++world->runs);
    break_links(world, world->address[i]);
    forgot(world, world->address[i]);
}

static void clock_jump(struct sim_world *world, unsigned i, unsigned s)
{
    uint32_t most_us = 2000 * world->plan.ttl_high_ms;
    uint32_t jump_us = sim_chaos_pick(&world->chaos, SIM_FAULT_CLOCK_JUMP, most_us);
    if (sim_chaos_pick(&world->chaos, SIM_FAULT_CLOCK_JUMP, 2) == 0) {
        SIM_SAY(world, "the clock of server %u jumps forward", s);
        world->servers[s].clock.offset_us += jump_us;
        return;
    }
    SIM_SAY(world, "the clock of master %u jumps", i);
    master_at(world, i)->clock.offset_us = jump_us; /* it began below a second: either way */
}

/* ---- servers and connections ----------------------------------------------------------------- */

static void cut_off(struct sim_world *world, unsigned s)
{
    uint64_t until_us = world->now_us + sim_chaos_outage_us(&world->chaos, SIM_FAULT_CUT);
    uint32_t set = sim_chaos_pick(&world->chaos, SIM_FAULT_CUT, UINT32_C(1) << world->plan.masters);
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (set >> i & 1)
            sim_link_cut(world, s, i, until_us);
}

void sim_faults_act(struct sim_world *world)
{
    struct sim_chaos *chaos = &world->chaos;
    static const enum sim_fault forgetful[] = {SIM_FAULT_MASTER_RESTART, SIM_FAULT_DISK_LOST,
                                               SIM_FAULT_FLUSH, SIM_FAULT_REPLACE};
    if (chaos->healed)
        return;
    unsigned i = sim_rng_below(&world->rng, world->plan.masters);
    unsigned s = sim_rng_below(&world->rng, world->plan.servers);
    for (unsigned f = 0; f < sizeof(forgetful) / sizeof(forgetful[0]); f++)
        perhaps_forget(world, i, forgetful[f]);
    perhaps_restore(world, i);
    if (sim_chaos_strikes(chaos, SIM_FAULT_SERVER_CRASH))
        sim_server_crash(world, s);
    if (sim_chaos_strikes(chaos, SIM_FAULT_CLOCK_JUMP))
        clock_jump(world, i, s);
    if (sim_chaos_strikes(chaos, SIM_FAULT_CUT))
        cut_off(world, s);
    struct sim_event event = {.kind = SIM_EVENT_FAULT};
    sim_world_schedule(world, world->plan.fault_us, &event);
}

/* ---- disasters ------------------------------------------------------------------------------- */

static void lose_majority(struct sim_world *world)
{
    unsigned n = world->plan.masters;
    unsigned first = sim_rng_below(&world->rng, n);
    for (unsigned k = 0; k < fence_majority(n); k++) {
        unsigned i = (first + k) % n;
        if (sim_rng_chance(&world->rng, 500))
            flush(world, i);
        else
            restart(world, i, SIM_FAULT_DISK_LOST, false);
    }
    sim_check_lost(&world->check);
}

/* The quiet servers find the new machine, the others stay with the old one. */
static void replace_for_one(struct sim_world *world, unsigned i)
{
    replace(world, i);
    for (unsigned s = 0; s < world->plan.quiet; s++)
        sim_link_break(world, s, i, false);
}

void sim_faults_disaster(struct sim_world *world)
{
    if (world->struck)
        return;
    world->struck = true;
    if (world->plan.kind == SIM_BLACKOUT)
        for (unsigned i = 0; i < world->plan.masters; i++)
            restart(world, i, SIM_FAULT_MASTER_RESTART, false);
    else if (world->plan.kind == SIM_LOST)
        lose_majority(world);
    else if (world->plan.kind == SIM_DUEL)
        replace_for_one(world, sim_rng_below(&world->rng, world->plan.masters));
}

void sim_faults_recorded(struct sim_world *world, unsigned s, unsigned i)
{
    if (world->plan.kind != SIM_DUEL || s >= world->plan.quiet || world->struck_again)
        return;
    world->struck_again = true;
    flush(world, i);
}

void sim_faults_claimed(struct sim_world *world, unsigned i)
{
    if (world->plan.kind == SIM_HASTE && !world->chaos.healed &&
        sim_rng_chance(&world->rng, WIPED_IN_HASTE))
        flush(world, i);
}

void sim_faults_start(struct sim_world *world)
{
    struct sim_event chance = {.kind = SIM_EVENT_FAULT};
    sim_world_schedule(world, world->plan.fault_us, &chance);
    struct sim_event disaster = {.kind = SIM_EVENT_DISASTER};
    if (world->plan.disaster_us > 0)
        sim_world_schedule(world, world->plan.disaster_us, &disaster);
}
