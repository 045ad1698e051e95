#include "tests/sim/masters/scan.h"

#include "fence/protocol/lock_id.h"
#include "fence/protocol/name.h"
#include "tests/sim/masters/master.h"

static bool stands(const struct sim_master *master, uint32_t resource, uint64_t now_us)
{
    const struct sim_lock *lock = &master->memory.locks[resource];
    return lock->present && lock->expires_us > sim_clock_read(&master->clock, now_us);
}

static uint64_t bucket_of(const struct sim_master *master, uint32_t resource, uint64_t mask)
{
    return fence_hash(&resource, sizeof(resource), master->run) & mask;
}

static uint64_t reversed(uint64_t bits)
{
    uint64_t result = 0;
    for (unsigned k = 0; k < SIM_TABLE_BITS_MAX; k++)
        result |= (bits >> k & 1) << (SIM_TABLE_BITS_MAX - 1 - k);
    return result;
}

/* The bucket that follows; 0: there is none. */
static uint64_t next_bucket(uint64_t cursor, uint64_t mask)
{
    const uint64_t all = (UINT64_C(1) << SIM_TABLE_BITS_MAX) - 1;
    return reversed((reversed((cursor | ~mask) & all) + 1) & all);
}

struct sim_scan_reply sim_scan_step(const struct sim_master *master, unsigned bits,
                                    const struct sim_scan_request *request, uint64_t now_us)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    struct sim_scan_reply reply = {.next = request->cursor};
    do {
        for (uint32_t r = 0; r < master->resources; r++)
            if (stands(master, r, now_us) && bucket_of(master, r, mask) == (reply.next & mask))
                reply.found[reply.count++] = r;
        reply.next = next_bucket(reply.next, mask);
    } while (reply.next != 0 && reply.count < request->keys);
    return reply;
}

struct sim_scan_reply sim_scan_holders(const struct sim_master *master,
                                       const struct sim_scan_request *request, uint64_t now_us)
{
    struct sim_scan_reply reply = {.count = request->count};
    for (unsigned k = 0; k < request->count; k++) {
        uint32_t resource = request->resource[k];
        if (stands(master, resource, now_us))
            reply.holder[k] =
                fence_lock_id_hash(sim_lock_text(master->memory.locks[resource].lock));
    }
    return reply;
}
