#include "tests/sim/master.h"

#include "tests/sim/marker.h"
#include "tests/sim/mutant.h"

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

void sim_master_flush(struct sim_master *master)
{
    memset(&master->memory, 0, sizeof(master->memory));
    memset(&master->disk, 0, sizeof(master->disk));
}

void sim_master_save(struct sim_master *master)
{
    master->disk = master->memory;
}

/* ---- the script for locks -------------------------------------------------------------------- */

static struct sim_reply yes_or_no(bool yes)
{
    return (struct sim_reply){.kind = yes ? FENCE_REPLY_YES : FENCE_REPLY_NO};
}

static struct sim_reply held(const struct sim_lock *lock, uint64_t local_us)
{
    return (struct sim_reply){
        .kind = FENCE_REPLY_HELD,
        .lock = lock->lock,
        .number = lock->number,
        .remaining_ms = (lock->expires_us - local_us) / 1000,
    };
}

static struct sim_reply take(struct sim_master *master, struct sim_lock *lock, uint32_t slot,
                             const struct sim_lock_request *request, bool again, uint64_t local_us)
{
    bool repeated = lock->present && lock->attempt == request->attempt;
    if (lock->present && !repeated) {
        lock->waited_for |= request->waits && !SIM_MUTANT(WAITS_UNNOTED);
        return held(lock, local_us);
    }
    if (!repeated) {
        *lock = (struct sim_lock){
            .present = true,
            .again = again,
            .lock = request->lock,
            .attempt = request->attempt,
            .number = sim_master_counter(master, slot) + 1,
            .expires_us = local_us + request->ttl_ms * UINT64_C(1000),
        };
        master->memory.counters.slot[slot] = lock->number;
    }
    return (struct sim_reply){.kind = FENCE_REPLY_NUMBER, .number = lock->number};
}

/* The number too: a repeated TAKE may have locked again, after somebody else's turn. */
static bool may_confirm(const struct sim_lock *lock, const struct sim_lock_request *request)
{
    if (!lock->present || lock->attempt != request->attempt)
        return false;
    if (SIM_MUTANT(CONFIRM_BY_ID))
        return true;
    return SIM_MUTANT(CONFIRM_EXACTLY) ? !lock->again : lock->number <= request->token;
}

static struct sim_reply confirm(struct sim_master *master, struct sim_lock *lock, uint32_t slot,
                                const struct sim_lock_request *request)
{
    if (!may_confirm(lock, request))
        return yes_or_no(false);
    if (sim_master_counter(master, slot) < request->token)
        master->memory.counters.slot[slot] = request->token;
    lock->number = request->token;
    return yes_or_no(true);
}

static struct sim_reply extend(struct sim_lock *lock, uint32_t cap,
                               const struct sim_lock_request *request, uint64_t local_us)
{
    if (!lock->present || lock->lock != request->lock || lock->number > request->token)
        return yes_or_no(false);
    if (lock->extensions >= cap)
        return (struct sim_reply){.kind = FENCE_REPLY_EXHAUSTED};
    lock->extensions++;
    lock->attempt = 0; /* no attempt's: the holder's */
    uint64_t expires_us = local_us + request->ttl_ms * UINT64_C(1000);
    if (lock->expires_us < expires_us)
        lock->expires_us = expires_us;
    return yes_or_no(true);
}

static struct sim_reply drop(struct sim_lock *lock, bool ours)
{
    struct sim_reply reply = yes_or_no(ours);
    reply.freed = ours && lock->waited_for;
    if (ours)
        lock->present = false;
    return reply;
}

static struct sim_reply release(struct sim_lock *lock, const struct sim_lock_request *request)
{
    bool ours = lock->present && lock->lock == request->lock &&
                (request->token == 0 || lock->number <= request->token);
    return drop(lock, ours);
}

static struct sim_reply undo(struct sim_lock *lock, const struct sim_lock_request *request)
{
    bool ours = lock->present && lock->lock == request->lock &&
                (lock->attempt == request->attempt || SIM_MUTANT(UNDO_BY_LOCK_ID));
    return drop(lock, ours);
}

static struct sim_reply execute_lock(struct sim_master *master,
                                     const struct sim_lock_request *request, bool again,
                                     uint64_t local_us)
{
    struct sim_lock *lock = &master->memory.locks[request->resource];
    uint32_t slot = sim_master_slot(master, request->resource);
    if (lock->present && lock->expires_us <= local_us)
        lock->present = false;

    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        return take(master, lock, slot, request, again, local_us);
    case FENCE_REQUEST_CONFIRM:
        return confirm(master, lock, slot, request);
    case FENCE_REQUEST_EXTEND:
        return extend(lock, master->extensions, request, local_us);
    case FENCE_REQUEST_RELEASE:
        return release(lock, request);
    case FENCE_REQUEST_UNDO:
        return undo(lock, request);
    case FENCE_REQUEST_INSPECT:
        return lock->present ? held(lock, local_us) : yes_or_no(false);
    }
    return (struct sim_reply){.kind = FENCE_REPLY_REFUSED};
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
                                    bool again, uint64_t now_us)
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
    return execute_lock(master, &request->lock, again, sim_clock_read(&master->clock, now_us));
}
