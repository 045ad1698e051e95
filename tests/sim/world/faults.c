#include "tests/sim/world/faults.h"

#include "fence/protocol/lease.h"
#include "tests/sim/promises/voters.h"
#include "tests/sim/world/backup.h"
#include "tests/sim/world/world.h"

#include <limits.h>

enum {
    RECONFIGURED = 200, /* per mille of restarts: with other settings than before */
    SWAPPED_BACK = 500, /* share of replacements: the old machine gets its address again, */
    COPIED = 500,       /* or the new one is a replica of it, where copies are promoted */
    ALL_UNDURABLE = 300,
    SWITCHED_OFF = 500, /* share of settings that are weakened: there is no append-only file */
    NUDGED_CALLS =
        256, /* part of a world: a quiet server looks at its masters as long as there are fewer */
    SILENCED = 400,          /* share of the others of a master whose disk is old, */
    SILENCED_BEFORE = 100,   /* also now and then before that, */
    SILENT_US = 2000 * 1000, /* for this long, to three times as long */
    READMITTED = 500,        /* share of masters that are not to be durable any more: empty */

    DUEL_AT_RECORD = 400, /* a source is wiped when it has recorded, not when it was read */

    /* HASTE, for each step at the member, and each page of a source. */
    HASTE_AT_MEMBER = 150,
    HASTE_AT_SOURCE = 60,
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
    sim_freedom_note_all(world, machine);
    sim_voters_check(world);
}

static void break_links(struct sim_world *world, unsigned machine)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++)
            if (sim_link_of(world, s, i)->machine == machine)
                sim_link_break(world, s, i, false);
}

static bool weakens(const struct sim_master *master)
{
    return master->usual == SIM_ALWAYS && master->persistence != SIM_ALWAYS;
}

/* The settings are those of the new process; what is lost was up to those of the old one. */
static void restart(struct sim_world *world, unsigned i, enum sim_fault fault, bool reconfigured)
{
    struct sim_master *master = master_at(world, i);
    bool lost = fault == SIM_FAULT_DISK_LOST;
    bool was_durable = master->persistence == SIM_ALWAYS && !lost;
    world->stats.undurable_restarts += weakens(master) && !lost;
    sim_master_restart(master, ++world->runs, ++world->lineages, lost);
    if (reconfigured)
        master->usual = master->persistence =
            (enum sim_persistence)sim_chaos_pick(&world->chaos, fault, 3);
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
    sim_master_restart(master_at(world, i), ++world->runs, ++world->lineages, true);
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

static void roll_back(struct sim_world *world, unsigned i)
{
    struct sim_master *master = master_at(world, i);
    if (!master->copied)
        return;
    SIM_SAY(world, "master %u: a replica of its older copy for a while, and promoted", i);
    world->stats.rollbacks++;
    sim_master_roll_back(master, ++world->lineages);
    forgot(world, world->address[i]);
}

/* A replica stands at its address, which knows that it was one. */
static void promote(struct sim_world *world, unsigned i)
{
    struct sim_master *master = master_at(world, i);
    if (!master->copied)
        return;
    SIM_SAY(world, "master %u is dead: its replica is promoted, and has its address", i);
    world->stats.promotions++;
    sim_master_restore(master, ++world->runs, ++world->lineages, true);
    sim_master_save(master);
    break_links(world, world->address[i]);
    forgot(world, world->address[i]);
}

static void evict(struct sim_world *world, unsigned i)
{
    uint32_t r = sim_chaos_pick(&world->chaos, SIM_FAULT_EVICT, world->plan.resources);
    if (!sim_master_expire(master_at(world, i), r))
        return;
    SIM_SAY(world, "master %u evicts the lock of r%u", i, r);
    world->stats.evictions++;
    sim_master_change(master_at(world, i), ++world->lineages, true);
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
            .majority = before->majority,
            .member = i,
            .run = ++world->runs,
            .lineage = ++world->lineages,
            .first = world->lineages,
            .harmed = world->lineages,
            .usual = before->usual,
            .persistence = before->usual,
        };
        bool copied = before->copied && world->plan.permille[SIM_FAULT_PROMOTE] > 0 &&
                      sim_chaos_pick(&world->chaos, SIM_FAULT_REPLACE, 1000) < COPIED;
        if (copied) {
            master->memory = before->copy;
            master->memory.tainted = master->was_replica = true;
            sim_master_save(master);
            forgot(world, machine);
        }
        world->address[i] = machine;
        SIM_SAY(world, "master %u is replaced by %s; the old one runs on", i,
                copied ? "its replica" : "an empty machine");
    }
    world->stats.replacements++;
}

static void change_lineage(struct sim_world *world, unsigned i)
{
    SIM_SAY(world, "master %u has another lineage, and lost nothing", i);
    world->stats.lineages_changed++;
    sim_master_change(master_at(world, i), ++world->lineages, false);
    sim_voters_check(world);
}

/* One that keeps all it knows may restart, or change its lineage, at any time. (Not where an old
 * machine lives on: it would help two masters half-way back that have no other master to end it
 * with, once that machine is found out. Not before a blackout: a disk is not trusted half-way
 * back.) */
static bool keeps_all(struct sim_world *world, unsigned i, enum sim_fault fault)
{
    const struct sim_master *master = master_at(world, i);
    bool trusted = master->memory.marker.durable || !master->memory.marker.active;
    bool restarts = fault == SIM_FAULT_MASTER_RESTART && master->persistence == SIM_ALWAYS;
    return ((restarts && trusted) || fault == SIM_FAULT_CHANGE) &&
           world->plan.kind != SIM_BLACKOUT && world->machines_count == world->plan.masters;
}

/* Reports whether a restart would hide that it forgot: then it may be trusted alone, for want of
 * others. That is no promise's to survive. */
static bool hides(const struct sim_master *master, enum sim_fault fault)
{
    const struct sim_memory *kept =
        master->persistence == SIM_ALWAYS ? &master->memory : &master->disk;
    return fault == SIM_FAULT_MASTER_RESTART && kept->tainted && kept->marker.durable;
}

static void forget(struct sim_world *world, unsigned i, enum sim_fault fault, bool reconfigured)
{
    switch (fault) {
    case SIM_FAULT_FLUSH:
        flush(world, i);
        break;
    case SIM_FAULT_REPLACE:
        replace(world, i);
        break;
    case SIM_FAULT_ROLLBACK:
        roll_back(world, i);
        break;
    case SIM_FAULT_PROMOTE:
        promote(world, i);
        break;
    case SIM_FAULT_EVICT:
        evict(world, i);
        break;
    case SIM_FAULT_CHANGE:
        change_lineage(world, i);
        break;
    default:
        restart(world, i, fault, reconfigured);
        break;
    }
}

static void schedule_mend(struct sim_world *world, unsigned i, enum sim_fault fault)
{
    struct sim_event mend = {.kind = SIM_EVENT_MEND, .id = world->address[i]};
    sim_world_schedule(world, sim_chaos_outage_us(&world->chaos, fault), &mend);
}

/* Unless the world is to end badly, a master may only forget while the fleet can spare it. */
static void perhaps_forget(struct sim_world *world, unsigned i, enum sim_fault fault)
{
    if (!sim_chaos_strikes(&world->chaos, fault) || hides(master_at(world, i), fault))
        return;
    bool spared = !sim_plan_recovers(&world->plan) || sim_voters_can_spare(world, i);
    bool reconfigured = spared && world->plan.kind != SIM_BLACKOUT &&
                        sim_chaos_pick(&world->chaos, fault, 1000) < RECONFIGURED;
    if (!spared && !keeps_all(world, i, fault))
        return;
    forget(world, i, fault, reconfigured);
    if (sim_master_undurable(master_at(world, i)))
        schedule_mend(world, i, fault);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void weaken(struct sim_world *world, unsigned i)
{
    struct sim_master *master = master_at(world, i);
    if (master->persistence != SIM_ALWAYS)
        return;
    bool off = sim_chaos_pick(&world->chaos, SIM_FAULT_UNDURABLE, 1000) < SWITCHED_OFF;
    SIM_SAY(world, "master %u: %s", i, off ? "appendonly no" : "appendfsync everysec");
    world->stats.undurable++;
    sim_master_configure(master, off ? SIM_NONE : SIM_EVERYSEC);
    schedule_mend(world, i, SIM_FAULT_UNDURABLE);
}

static void perhaps_weaken(struct sim_world *world, unsigned i)
{
    if (!sim_chaos_strikes(&world->chaos, SIM_FAULT_UNDURABLE))
        return;
    if (sim_chaos_pick(&world->chaos, SIM_FAULT_UNDURABLE, 1000) >= ALL_UNDURABLE) {
        weaken(world, i);
        return;
    }
    for (unsigned j = 0; j < world->plan.masters; j++)
        weaken(world, j);
}

static void restore_settings(struct sim_world *world, unsigned machine)
{
    struct sim_master *master = &world->machines[machine];
    if (sim_master_undurable(master))
        master->usual = SIM_ALWAYS;
    if (master->persistence == master->usual)
        return;
    SIM_SAY(world, "master %u: its settings are put right", master->member);
    world->stats.mended++;
    master->persistence = master->usual;
}

void sim_faults_mend(struct sim_world *world, unsigned machine)
{
    const struct sim_master *master = &world->machines[machine];
    unsigned i = master->member;
    bool to_be_forgetful = sim_master_undurable(master) && master->usual != SIM_ALWAYS;
    if (world->chaos.healed)
        return;
    if (to_be_forgetful && world->address[i] == machine && sim_voters_can_spare(world, i) &&
        sim_rng_chance(&world->rng, READMITTED))
        sim_faults_restart_empty(world, i);
    else
        restore_settings(world, machine);
}

void sim_faults_mend_all(struct sim_world *world)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        restore_settings(world, m);
}

/* ---- backups --------------------------------------------------------------------------------- */

/* Some of the others fall silent. */
static void silence_others(struct sim_world *world, unsigned i)
{
    for (unsigned j = 0; j < world->plan.masters; j++) {
        struct sim_master *other = master_at(world, j);
        if (j == i || !sim_rng_chance(&world->rng, SILENCED))
            continue;
        SIM_SAY(world, "master %u stops", j);
        uint64_t until_us = world->now_us + sim_rng_between(&world->rng, SILENT_US, 3 * SILENT_US);
        if (other->stopped_until_us < until_us)
            other->stopped_until_us = until_us;
    }
}

/* As it was when it was backed up last: its locks too, and its counters. */
static void perhaps_restore(struct sim_world *world, unsigned i)
{
    struct sim_master *master = master_at(world, i);
    if (world->plan.kind == SIM_OLD_DISK && sim_rng_chance(&world->rng, SILENCED_BEFORE))
        silence_others(world, i);
    if (!sim_chaos_strikes(&world->chaos, SIM_FAULT_RESTORE) || !sim_backup_may_return(world, i) ||
        !sim_voters_can_spare(world, i) || !master->copied)
        return;
    SIM_SAY(world, "master %u restarts from a backup, or a promoted copy of it does", i);
    world->stats.restores++;
    sim_master_restore(master, ++world->runs, ++world->lineages, false);
    break_links(world, world->address[i]);
    forgot(world, world->address[i]);
    if (world->plan.kind == SIM_OLD_DISK)
        silence_others(world, i);
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
    static const enum sim_fault forgetful[] = {
        SIM_FAULT_MASTER_RESTART, SIM_FAULT_DISK_LOST, SIM_FAULT_FLUSH, SIM_FAULT_REPLACE,
        SIM_FAULT_ROLLBACK,       SIM_FAULT_PROMOTE,   SIM_FAULT_EVICT, SIM_FAULT_CHANGE};
    if (chaos->healed)
        return;
    unsigned i = sim_rng_below(&world->rng, world->plan.masters);
    unsigned s = sim_rng_below(&world->rng, world->plan.servers);
    for (unsigned f = 0; f < sizeof(forgetful) / sizeof(forgetful[0]); f++)
        perhaps_forget(world, i, forgetful[f]);
    if (world->plan.partial && world->check.calls_count < NUDGED_CALLS)
        sim_probe_nudge(world, 0);
    perhaps_restore(world, i);
    perhaps_weaken(world, i);
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

void sim_faults_lose_majority(struct sim_world *world)
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

/* Machines that were replaced lose their power, too. */
static void black_out(struct sim_world *world)
{
    for (unsigned m = 0; m < world->machines_count; m++)
        if (world->address[world->machines[m].member] != m) {
            break_links(world, m);
            world->machines[m].run = ++world->runs;
        }
    for (unsigned i = 0; i < world->plan.masters; i++)
        restart(world, i, SIM_FAULT_MASTER_RESTART, false);
}

static void lose_and_call_operator(struct sim_world *world)
{
    sim_faults_lose_majority(world);
    if (world->plan.early && !world->chaos.healed)
        sim_operator_begin(world, true);
}

void sim_faults_disaster(struct sim_world *world)
{
    if (world->struck)
        return;
    world->struck = true;
    if (world->plan.kind == SIM_BLACKOUT)
        black_out(world);
    else if (world->plan.kind == SIM_LOST)
        lose_and_call_operator(world);
    else if (world->plan.kind == SIM_DUEL)
        replace_for_one(world, sim_rng_below(&world->rng, world->plan.masters));
}

static void restart_in_haste(struct sim_world *world, unsigned i)
{
    if (hides(master_at(world, i), SIM_FAULT_MASTER_RESTART))
        return;
    world->stats.restarts_in_haste++;
    restart(world, i, SIM_FAULT_MASTER_RESTART, false);
}

static void roll_back_in_haste(struct sim_world *world, unsigned i)
{
    world->stats.rollbacks_in_haste++;
    roll_back(world, i);
}

static bool hastens(struct sim_world *world, uint32_t permille)
{
    return world->plan.kind == SIM_HASTE && !world->chaos.healed &&
           sim_rng_chance(&world->rng, permille);
}

static void strike_again(struct sim_world *world, unsigned s, unsigned i)
{
    if (world->plan.kind != SIM_DUEL || s >= world->plan.quiet || world->struck_again)
        return;
    world->struck_again = true;
    flush(world, i);
}

void sim_faults_recorded(struct sim_world *world, unsigned s, unsigned i)
{
    if (world->plan.kind == SIM_DUEL && sim_rng_chance(&world->rng, DUEL_AT_RECORD))
        strike_again(world, s, i);
}

void sim_faults_read(struct sim_world *world, unsigned s, unsigned i, bool last)
{
    if (hastens(world, HASTE_AT_SOURCE)) {
        if (sim_rng_chance(&world->rng, 500))
            restart_in_haste(world, i);
        else
            roll_back_in_haste(world, i);
    }
    if (last)
        strike_again(world, s, i);
}

void sim_faults_importing(struct sim_world *world, unsigned i)
{
    if (!hastens(world, HASTE_AT_MEMBER))
        return;
    switch (sim_rng_below(&world->rng, 3)) {
    case 0:
        world->stats.wipes_in_haste++;
        flush(world, i);
        break;
    case 1:
        restart_in_haste(world, i);
        break;
    default:
        roll_back_in_haste(world, i);
        break;
    }
}

void sim_faults_start(struct sim_world *world)
{
    struct sim_event chance = {.kind = SIM_EVENT_FAULT};
    sim_world_schedule(world, world->plan.fault_us, &chance);
    struct sim_event disaster = {.kind = SIM_EVENT_DISASTER};
    if (world->plan.disaster_us > 0)
        sim_world_schedule(world, world->plan.disaster_us, &disaster);
}
