#include "tests/sim/promises/watched.h"

#include "fence/protocol/lease.h"
#include "tests/sim/promises/waiters.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

void sim_watched_init(struct sim_watched *watched)
{
    memset(watched, 0, sizeof(*watched));
}

/* ---- what machines had ----------------------------------------------------------------------- */

/* When @span ends, or ended, by the clock of its machine; now, if it goes on. */
static uint64_t end_us(const struct sim_world *world, unsigned machine, const struct sim_span *span)
{
    const uint64_t us = sim_clock_when(&world->machines[machine].clock, span->expires_us);
    return us < world->now_us ? us : world->now_us;
}

static bool is_held_now(const struct sim_world *world, unsigned machine,
                        const struct sim_span *span)
{
    return span->held &&
           span->expires_us > sim_clock_read(&world->machines[machine].clock, world->now_us);
}

static void keep_ended(struct sim_watched *watched, const struct sim_span *span)
{
    struct sim_span *kept = &watched->ended[watched->ended_count++ % SIM_SPANS_MAX];
    if (watched->ended_count > SIM_SPANS_MAX && watched->forgotten_us < kept->until_us)
        watched->forgotten_us = kept->until_us;
    *kept = *span;
}

/* ---- T3 -------------------------------------------------------------------------------------- */

/* Keeps the first @count of @sorted in order. */
static void insert(uint64_t *sorted, unsigned count, uint64_t us)
{
    unsigned k = count;
    for (; k > 0 && sorted[k - 1] > us; k--)
        sorted[k] = sorted[k - 1];
    sorted[k] = us;
}

/* Returns since when a majority of the masters has had the lock of @resource under @number. With
 * @number 0: since when a majority has had no lock. Only masters count that server @s may ask.
 * FENCE_NEVER: no majority has. */
static uint64_t since_us(const struct sim_world *world, unsigned s, uint32_t resource,
                         int64_t number)
{
    const uint32_t active = fence_fleet_active(fence_core_fleet(world->servers[s].core));
    const unsigned majority = fence_majority(world->plan.masters);
    uint64_t since[FENCE_MASTERS_MAX] = {0};
    unsigned count = 0;
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_link *link = &world->links[s][i];
        if (!(active >> i & 1) || link->state != SIM_LINK_OPEN)
            continue;
        const struct sim_span *span = &world->watched.now[link->machine][resource];
        const bool held = is_held_now(world, link->machine, span);
        if (held && number != 0 && span->number == number)
            insert(since, count++, span->from_us);
        else if (!held && number == 0)
            insert(since, count++, span->held ? end_us(world, link->machine, span) : span->from_us);
    }
    return count < majority ? FENCE_NEVER : since[majority - 1];
}

/* The state that a majority has now, if its client knows another one; since when. */
static uint64_t changed_us(const struct sim_world *world, const struct sim_call *call)
{
    const uint32_t resource = call->set.resource[0];
    if (call->set.token[0] != FENCE_WATCH_FREE)
        return since_us(world, call->server, resource, FENCE_WATCH_FREE);
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const unsigned machine = world->links[call->server][i].machine;
        const struct sim_span *span = &world->watched.now[machine][resource];
        const uint64_t us = is_held_now(world, machine, span)
                                ? since_us(world, call->server, resource, span->number)
                                : FENCE_NEVER;
        if (us != FENCE_NEVER)
            return us;
    }
    return FENCE_NEVER;
}

static void check_bound(struct sim_world *world, const struct sim_call *call)
{
    const struct sim_server *server = &world->servers[call->server];
    const uint64_t change_us = changed_us(world, call);
    if (!world->plan.clear || change_us == FENCE_NEVER)
        return;
    const uint64_t from_us = change_us > call->came_us ? change_us : call->came_us;
    const uint64_t late_us = world->now_us > from_us ? world->now_us - from_us : 0;
    sim_stats_most(&world->stats.longest_watch_us, late_us);
    if (late_us > sim_clock_span(&server->clock, SIM_WATCH_BOUND_US))
        sim_check_fail(&world->check,
                       "T3: a watch of r%" PRIu32 " that knows token %" PRId64
                       " is not told of a change that happened %" PRIu64 " us ago",
                       call->set.resource[0], call->set.token[0], late_us);
}

static bool is_parked(const struct sim_call *call, uint32_t resource)
{
    return call->kind == FENCE_CALL_WATCH && call->state == SIM_CALL_UNDER_WAY &&
           call->set.resource[0] == resource;
}

/* A state that has lasted until now is about to be otherwise. */
static void check_all(struct sim_world *world, uint32_t resource)
{
    for (uint32_t id = 0; world->plan.clear && id < world->check.calls_count; id++)
        if (is_parked(&world->check.calls[id], resource))
            check_bound(world, &world->check.calls[id]);
}

void sim_watched_note(struct sim_world *world, unsigned machine, uint32_t resource)
{
    if (!world->plan.watches)
        return;
    const struct sim_master *master = &world->machines[machine];
    const struct sim_lock *lock = &master->memory.locks[resource];
    struct sim_span *span = &world->watched.now[machine][resource];
    const bool same = span->held == lock->present &&
                      (!span->held || (span->lock == lock->lock && span->number == lock->number));
    if (same) {
        span->expires_us = lock->expires_us;
        return;
    }
    check_all(world, resource);
    const uint64_t ended_us = span->held ? end_us(world, machine, span) : world->now_us;
    span->until_us = world->now_us; /* its clock may have jumped: it may have had it until now */
    keep_ended(&world->watched, span);
    *span = (struct sim_span){
        .held = lock->present,
        .member = master->member,
        .resource = resource,
        .lock = lock->lock,
        .number = lock->number,
        .from_us = lock->present ? world->now_us : ended_us,
        .expires_us = lock->expires_us,
    };
}

/* ---- T1 -------------------------------------------------------------------------------------- */

static bool shows(const struct sim_span *span, const struct sim_call *call, int64_t number)
{
    return span->held && span->resource == call->set.resource[0] && span->number == number;
}

/* The members that had the lock under @number at some moment since @call came. */
static unsigned had_since(const struct sim_world *world, const struct sim_call *call,
                          int64_t number)
{
    const struct sim_watched *watched = &world->watched;
    uint32_t members = 0;
    for (unsigned m = 0; m < world->machines_count; m++) {
        const struct sim_span *span = &watched->now[m][call->set.resource[0]];
        if (shows(span, call, number))
            members |= UINT32_C(1) << span->member;
    }
    for (uint32_t k = 0; k < watched->ended_count && k < SIM_SPANS_MAX; k++) {
        const struct sim_span *span = &watched->ended[k];
        if (shows(span, call, number) && span->until_us >= call->came_us)
            members |= UINT32_C(1) << span->member;
    }
    return (unsigned)__builtin_popcount(members);
}

/* Reports whether a majority has had the lock under one lock id ever since @call came. */
static bool was_held_throughout(const struct sim_world *world, const struct sim_call *call)
{
    const uint32_t resource = call->set.resource[0];
    for (unsigned i = 0; i < world->plan.masters; i++) {
        unsigned votes = 0;
        const struct sim_span *one = &world->watched.now[world->address[i]][resource];
        for (unsigned j = 0; j < world->plan.masters; j++) {
            const unsigned machine = world->address[j];
            const struct sim_span *span = &world->watched.now[machine][resource];
            votes += is_held_now(world, machine, span) && span->from_us <= call->came_us &&
                     span->lock == one->lock;
        }
        if (votes >= fence_majority(world->plan.masters))
            return true;
    }
    return false;
}

/* If a machine was replaced, the server may have asked the old one. */
static void check_truth(struct sim_world *world, const struct sim_call *call,
                        const struct fence_answer *answer)
{
    const bool knows_all = world->watched.forgotten_us < call->came_us;
    const unsigned majority = fence_majority(world->plan.masters);
    const uint32_t resource = call->set.resource[0];
    if (answer->inspect.held && answer->token != 0) {
        world->stats.watched_held++;
        const unsigned had = had_since(world, call, answer->token);
        if (knows_all && (had == 0 || had + sim_check_unheard(answer) < majority))
            sim_check_fail(&world->check,
                           "T1: a watch of r%" PRIu32 " is told token %" PRId64
                           ", which no majority had since the watch began",
                           resource, answer->token);
    } else if (!answer->inspect.held) {
        world->stats.watched_free++;
        if (world->machines_count == world->plan.masters && was_held_throughout(world, call))
            sim_check_fail(&world->check,
                           "T1: a watch of r%" PRIu32 " is told that the lock is free, but it was "
                           "held since the watch began",
                           resource);
    }
}

/* ---- T2 -------------------------------------------------------------------------------------- */

static bool is_known(const struct sim_call *call, const struct fence_answer *answer)
{
    const int64_t known = call->set.token[0];
    if (!answer->inspect.held)
        return known == FENCE_WATCH_FREE;
    return answer->token == known || answer->token == 0;
}

static uint64_t local_us(const struct sim_world *world, const struct sim_call *call)
{
    return sim_clock_read(&world->servers[call->server].clock, world->now_us);
}

static void check_news(struct sim_world *world, const struct sim_call *call,
                       const struct fence_answer *answer)
{
    const uint64_t waited_us = local_us(world, call) - call->came_local_us;
    const bool over = waited_us >= call->wait_ms * UINT64_C(1000);
    world->stats.watched_over += over;
    if (!over && is_known(call, answer))
        sim_check_fail(&world->check,
                       "T2: a watch of r%" PRIu32 " is told token %" PRId64
                       ", which its client knows, before its wait is over",
                       call->set.resource[0], answer->token);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void sim_watched_come(struct sim_world *world, struct sim_call *call)
{
    call->came_us = world->now_us;
    call->came_local_us = local_us(world, call);
    sim_waiters_watch_comes(world, call);
}

void sim_watched_answered(struct sim_world *world, struct sim_call *call,
                          const struct fence_answer *answer)
{
    sim_waiters_watch_goes(world, call);
    if (answer->error)
        return;
    check_truth(world, call, answer);
    check_news(world, call, answer);
    check_bound(world, call);
}

void sim_watched_dropped(struct sim_world *world, struct sim_call *call)
{
    sim_waiters_watch_goes(world, call);
}
