#include "tests/sim/master.h"

#include "tests/sim/locks.h"
#include "tests/sim/marker.h"

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

bool sim_master_expire(struct sim_master *master, uint32_t resource)
{
    bool was_present = master->memory.locks[resource].present;
    master->memory.locks[resource].present = false;
    return was_present;
}

/* ---- crashes --------------------------------------------------------------------------------- */

void sim_master_restart(struct sim_master *master, uint32_t run, bool lost)
{
    master->run = run;
    if (lost || master->persistence == SIM_NONE)
        sim_master_flush(master);
    else if (master->persistence == SIM_EVERYSEC)
        master->memory = master->disk;
}

void sim_master_restore(struct sim_master *master, uint32_t run)
{
    master->run = run;
    master->memory = master->disk;
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

/* ---- all of them ----------------------------------------------------------------------------- */

static struct sim_reply facts(const struct sim_master *master)
{
    return (struct sim_reply){
        .run = master->run,
        .persistence = master->persistence,
        .marker = master->memory.marker,
    };
}

struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    bool copy, uint64_t now_us)
{
    if (request->ask == SIM_ASK_FACTS)
        return facts(master);
    if (request->ask == SIM_ASK_RESTAMP)
        return sim_marker_restamp(master, request);
    if (request->ask == SIM_ASK_REJOIN)
        return sim_marker_rejoin(master, request);
    int refusal = sim_marker_check_view(master, request);
    if (refusal)
        return (struct sim_reply){.kind = (enum fence_reply_kind)refusal,
                                  .marker = master->memory.marker};
    return sim_locks_execute(master, &request->lock, copy, sim_clock_read(&master->clock, now_us));
}
