#include "tests/sim/promises/next.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

static struct sim_told *told_at(struct sim_world *world, unsigned machine, uint32_t resource)
{
    return &world->machines[machine].memory.locks[resource].told;
}

static uint64_t local_us(const struct sim_world *world, unsigned machine)
{
    return sim_clock_read(&world->machines[machine].clock, world->now_us);
}

/* The instant in so many milliseconds, as a master counts them. */
static uint64_t after_ms(const struct sim_world *world, unsigned machine, uint64_t ms)
{
    return (local_us(world, machine) / 1000 + ms) * 1000;
}

bool sim_next_is_free(const struct sim_world *world, unsigned machine,
                      const struct sim_lock_request *request)
{
    const struct sim_lock *lock = &world->machines[machine].memory.locks[request->set.resource[0]];
    return request->set.count == 1 &&
           !(lock->present && lock->expires_us > local_us(world, machine));
}

/* The ticket that a free lock is kept for; 0: none. */
static int64_t kept_for(struct sim_world *world, unsigned machine, uint32_t resource)
{
    const struct sim_told *told = told_at(world, machine, resource);
    return told->kept_until_us / 1000 > local_us(world, machine) / 1000 ? told->kept : 0;
}

static void check(struct sim_world *world, unsigned machine, const struct sim_lock_request *request,
                  bool held_back)
{
    const uint32_t resource = request->set.resource[0];
    const int64_t kept = kept_for(world, machine, resource);
    const bool is_another = kept != 0 && request->ticket != FENCE_TICKET_NONE &&
                            (request->ticket == 0 || request->ticket > kept);
    world->stats.held_back += held_back;
    if (held_back != is_another)
        sim_check_fail(&world->check,
                       "W5: lock %" PRIu32 " with ticket %" PRId64 " %s r%" PRIu32
                       ", which is reserved for ticket %" PRId64,
                       request->lock, request->ticket, held_back ? "is held back from" : "takes",
                       resource, kept);
}

static void note_waiter(struct sim_world *world, unsigned machine,
                        const struct sim_lock_request *request, const struct sim_reply *reply)
{
    const bool several = request->set.count > 1;
    const bool ordered = !several && request->ticket != FENCE_TICKET_NONE;
    struct sim_told *told =
        told_at(world, machine, request->set.resource[several ? reply->member : 0]);
    const int64_t ticket = request->ticket > 0 ? request->ticket : reply->number[0];
    if (told->until_us <= local_us(world, machine))
        told->lowest = 0;
    if (ordered && ticket > 0 && (told->lowest == 0 || ticket < told->lowest))
        told->lowest = ticket;
    told->until_us = after_ms(world, machine, reply->remaining_ms);
}

static void note_freed(struct sim_world *world, unsigned machine, uint32_t resource)
{
    struct sim_told *told = told_at(world, machine, resource);
    const bool is_free = !world->machines[machine].memory.locks[resource].present;
    if (told->lowest > 0 && is_free) { /* a release may keep the name closed */
        told->kept = told->lowest;
        told->kept_until_us = after_ms(world, machine, FENCE_NEXT_MS);
    }
    told->lowest = 0;
    told->until_us = 0;
}

void sim_next_executed(struct sim_world *world, unsigned machine,
                       const struct sim_lock_request *request, const struct sim_reply *reply,
                       bool was_free)
{
    if (world->plan.permille[SIM_FAULT_CLOCK_JUMP] > 0)
        return;
    const bool waits = request->kind == FENCE_REQUEST_TAKE && request->waits;
    const bool held = reply->kind == FENCE_REPLY_HELD;
    if (waits && was_free && (held || reply->kind == FENCE_REPLY_NUMBER))
        check(world, machine, request, held);
    if (waits && held)
        note_waiter(world, machine, request, reply);
    else if (waits && was_free && request->ticket != FENCE_TICKET_NONE &&
             reply->kind == FENCE_REPLY_NUMBER)
        told_at(world, machine, request->set.resource[0])->kept = 0;
    for (uint32_t r = 0; reply->freed >> r != 0; r++)
        if (reply->freed >> r & 1)
            note_freed(world, machine, r);
}
