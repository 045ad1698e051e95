#include "tests/sim/master.h"

#include <string.h>

void sim_master_init(struct sim_master *master, const struct sim_clock *clock, uint32_t slots,
                     uint32_t extensions)
{
    memset(master, 0, sizeof(*master));
    master->clock = *clock;
    master->slots = slots;
    master->extensions = extensions;
}

uint32_t sim_master_slot(const struct sim_master *master, uint32_t resource)
{
    return resource % master->slots;
}

bool sim_master_expire(struct sim_master *master, uint32_t resource)
{
    bool was_present = master->locks[resource].present;
    master->locks[resource].present = false;
    return was_present;
}

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

static struct sim_reply take(struct sim_lock *lock, int64_t *counter,
                             const struct sim_request *request, uint64_t local_us)
{
    bool repeated = lock->present && lock->attempt == request->attempt;
    if (lock->present && !repeated)
        return held(lock, local_us);
    if (!repeated)
        *lock = (struct sim_lock){
            .present = true,
            .lock = request->lock,
            .attempt = request->attempt,
            .number = ++*counter,
            .expires_us = local_us + request->ttl_ms * UINT64_C(1000),
        };
    return (struct sim_reply){.kind = FENCE_REPLY_NUMBER, .number = lock->number};
}

static struct sim_reply confirm(struct sim_lock *lock, int64_t *counter,
                                const struct sim_request *request)
{
    /* The number too: a repeated TAKE may have locked again, after somebody else's turn. */
    if (!lock->present || lock->attempt != request->attempt || lock->number > request->token)
        return yes_or_no(false);
    if (*counter < request->token)
        *counter = request->token;
    lock->number = request->token;
    return yes_or_no(true);
}

static struct sim_reply extend(struct sim_lock *lock, uint32_t cap,
                               const struct sim_request *request, uint64_t local_us)
{
    if (!lock->present || lock->lock != request->lock || lock->number > request->token)
        return yes_or_no(false);
    if (lock->extensions >= cap)
        return (struct sim_reply){.kind = FENCE_REPLY_EXHAUSTED};
    lock->extensions++;
    uint64_t expires_us = local_us + request->ttl_ms * UINT64_C(1000);
    if (lock->expires_us < expires_us)
        lock->expires_us = expires_us;
    return yes_or_no(true);
}

static struct sim_reply release(struct sim_lock *lock, const struct sim_request *request)
{
    bool ours = lock->present && lock->lock == request->lock &&
                (request->token == 0 || lock->number <= request->token);
    if (ours)
        lock->present = false;
    return yes_or_no(ours);
}

static struct sim_reply undo(struct sim_lock *lock, const struct sim_request *request)
{
    bool ours = lock->present && lock->lock == request->lock && lock->attempt == request->attempt;
    if (ours)
        lock->present = false;
    return yes_or_no(ours);
}

struct sim_reply sim_master_execute(struct sim_master *master, const struct sim_request *request,
                                    uint64_t now_us)
{
    uint64_t local_us = sim_clock_read(&master->clock, now_us);
    struct sim_lock *lock = &master->locks[request->resource];
    int64_t *counter = &master->counters[sim_master_slot(master, request->resource)];
    if (lock->present && lock->expires_us <= local_us)
        lock->present = false;

    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        return take(lock, counter, request, local_us);
    case FENCE_REQUEST_CONFIRM:
        return confirm(lock, counter, request);
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
