#include "tests/sim/masters/master.h"

#include "tests/sim/masters/marker.h"
#include "tests/sim/masters/requests.h"

#include <string.h>

uint32_t sim_master_slot(const struct sim_master *master, uint32_t resource)
{
    return resource % master->slots;
}

int64_t sim_master_counter(const struct sim_master *master, uint32_t slot)
{
    const struct sim_counters *counters = &master->memory.counters;
    return counters->slot[slot] > counters->floor ? counters->slot[slot] : counters->floor;
}

uint32_t sim_master_names(const struct sim_master *master)
{
    uint32_t names = 0;
    for (uint32_t r = 0; r < master->resources; r++)
        names += master->memory.named[r] > 0;
    return names;
}

bool sim_master_expire(struct sim_master *master, uint32_t resource)
{
    bool was_present = master->memory.locks[resource].present;
    master->memory.locks[resource].present = false;
    return was_present;
}

void sim_master_expire_due(struct sim_master *master, uint64_t local_us)
{
    for (uint32_t r = 0; r < master->resources; r++) {
        struct sim_lock *lock = &master->memory.locks[r];
        lock->present = lock->present && lock->expires_us > local_us;
    }
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void start(struct sim_master *master, uint32_t run, uint32_t lineage, bool was_replica)
{
    master->run = run;
    master->lineage = master->first = master->harmed = lineage;
    master->was_replica = was_replica;
    master->persistence = master->usual;
}

void sim_master_restart(struct sim_master *master, uint32_t run, uint32_t lineage, bool lost)
{
    if (lost || master->usual == SIM_NONE)
        sim_master_flush(master);
    else if (master->persistence != SIM_ALWAYS)
        master->memory = master->disk;
    start(master, run, lineage, false);
}

void sim_master_restore(struct sim_master *master, uint32_t run, uint32_t lineage, bool was_replica)
{
    master->memory = master->copy;
    master->memory.tainted = true;
    start(master, run, lineage, was_replica);
}

void sim_master_roll_back(struct sim_master *master, uint32_t lineage)
{
    master->memory = master->copy;
    master->was_replica = true;
    sim_master_change(master, lineage, true);
}

void sim_master_change(struct sim_master *master, uint32_t lineage, bool harmed)
{
    master->lineage = lineage;
    if (harmed)
        master->harmed = lineage;
    master->memory.tainted |= harmed;
}

void sim_master_configure(struct sim_master *master, enum sim_persistence persistence)
{
    if (master->persistence == SIM_ALWAYS)
        sim_master_save(master);
    master->persistence = persistence;
}

void sim_master_flush(struct sim_master *master)
{
    memset(&master->memory, 0, sizeof(master->memory));
    memset(&master->disk, 0, sizeof(master->disk));
}

void sim_master_save(struct sim_master *master)
{
    master->disk = master->memory;
}

void sim_master_copy(struct sim_master *master)
{
    master->copy = master->memory;
    master->copied = true;
}

/* ---- what it can tell of itself -------------------------------------------------------------- */

bool sim_master_undurable(const struct sim_master *master)
{
    const struct sim_marker *marker = &master->memory.marker;
    return marker->present && marker->durable && master->persistence != SIM_ALWAYS;
}

/* Reports whether a handshake sees that a write was lost since it was marked. An observed
 * change is known after a restart too. Settings that would not have kept it are not counted here:
 * they may be put right, and Redis is stricter. */
static bool seems_harmed(const struct sim_master *master)
{
    const struct sim_marker *marker = &master->memory.marker;
    if (marker->run != master->run)
        return master->was_replica || master->harmed != master->first;
    return marker->lineage < master->harmed;
}

static bool is_intact(const struct sim_master *master)
{
    const struct sim_marker *marker = &master->memory.marker;
    bool kept =
        marker->run == master->run || (marker->durable && master->persistence == SIM_ALWAYS);
    return (marker->active || marker->intact) && kept && !marker->doubt;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct sim_reply facts(struct sim_master *master, const struct sim_request *request)
{
    struct sim_marker *marker = &master->memory.marker;
    sim_marker_hear(marker, request);
    marker->doubt = marker->present && (marker->doubt || seems_harmed(master));
    return (struct sim_reply){
        .run = master->run,
        .lineage = master->lineage,
        .intact = marker->present && is_intact(master),
        .persistence = master->persistence,
        .marker = *marker,
    };
}

struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    bool copy, uint64_t now_us)
{
    uint64_t local_us = sim_clock_read(&master->clock, now_us);
    if (request->ask == SIM_ASK_FACTS || request->ask == SIM_ASK_PROBE)
        return facts(master, request);
    if (request->ask == SIM_ASK_RESTAMP)
        return sim_marker_restamp(master, request, local_us);
    struct sim_reply reply = request->ask == SIM_ASK_REJOIN
                                 ? sim_marker_rejoin(master, request, local_us)
                                 : sim_requests_execute(master, request, copy, local_us);
    reply.undurable = sim_master_undurable(master);
    return reply;
}
