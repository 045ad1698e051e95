#include "tests/sim/waiters.h"

#include "tests/sim/waking.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void sim_waiters_init(struct sim_waiters *waiters)
{
    memset(waiters, 0, sizeof(*waiters));
}

struct sim_call *sim_line_first(struct sim_world *world, const struct sim_line *line)
{
    return line->count > 0 ? &world->check.calls[line->calls[0]] : NULL;
}

static struct sim_line *line_of(struct sim_world *world, const struct sim_call *call)
{
    return &world->waiters.lines[call->server][call->resource];
}

/* ---- coming and going ------------------------------------------------------------------------ */

void sim_waiters_come(struct sim_world *world, struct sim_call *call)
{
    struct sim_line *line = line_of(world, call);
    assert(line->count < SIM_LINE_MAX);
    call->came_us = world->now_us;
    call->waited = line->count > 0;
    line->calls[line->count++] = (uint32_t)(call - world->check.calls);
    world->waiters.waiting[call->server] += call->wait_ms > 0;
    sim_stats_most(&world->stats.longest_line, line->count);
    if (line->count == 1)
        sim_waking_first(world, call->server, line, true);
}

static void leave(struct sim_world *world, const struct sim_call *call, uint32_t place)
{
    struct sim_line *line = line_of(world, call);
    world->waiters.waiting[call->server] -= call->wait_ms > 0;
    line->count--;
    memmove(&line->calls[place], &line->calls[place + 1],
            (line->count - place) * sizeof(line->calls[0]));
    if (place == 0)
        sim_waking_first(world, call->server, line, false);
}

static uint32_t place_of(struct sim_world *world, const struct sim_call *call)
{
    const struct sim_line *line = line_of(world, call);
    uint32_t place = 0;
    while (place < line->count && &world->check.calls[line->calls[place]] != call)
        place++;
    assert(place < line->count);
    return place;
}

static void check_waiters_bound(struct sim_world *world, const struct sim_call *call)
{
    if (!call->wait_ms)
        return;
    uint32_t others = world->waiters.waiting[call->server] - 1;
    bool is_full = others >= world->plan.waiters;
    if (call->error == 0 && is_full)
        sim_check_fail(&world->check, "lock %" PRIu32 " was let wait beside %" PRIu32 " others",
                       call->lock, others);
    if (call->error == FENCE_EWAITERS && !is_full)
        sim_check_fail(&world->check, "lock %" PRIu32 " was not let wait beside %" PRIu32 " others",
                       call->lock, others);
}

static void count(struct sim_stats *stats, const struct sim_call *call, const struct sim_line *line)
{
    bool waited = call->wait_ms > 0 && call->waited;
    stats->waits += waited;
    stats->hand_overs_by_word += waited && call->error == 0 && line->by_word;
    stats->hand_overs_by_timer += waited && call->error == 0 && !line->by_word;
}

void sim_waiters_answered(struct sim_world *world, struct sim_call *call)
{
    const struct sim_line *line = line_of(world, call);
    uint32_t place = place_of(world, call);
    if (call->error == 0 && place > 0)
        sim_check_fail(&world->check,
                       "W1: lock %" PRIu32 " is granted, though lock %" PRIu32 " came before it",
                       call->lock, sim_line_first(world, line)->lock);
    if (place == 0)
        sim_waking_check(world, call, line);
    sim_waking_check_end(world, call);
    check_waiters_bound(world, call);
    count(&world->stats, call, line);
    leave(world, call, place);
}

void sim_waiters_dropped(struct sim_world *world, struct sim_call *call)
{
    leave(world, call, place_of(world, call));
}

/* ---- W1 and W2: who asks --------------------------------------------------------------------- */

/* Whether it is @lock's turn to ask. */
static bool check_turn(struct sim_world *world, const struct sim_line *line, uint32_t lock)
{
    const struct sim_call *first = sim_line_first(world, line);
    if (!first)
        sim_check_fail(&world->check, "W1: lock %" PRIu32 " asks, and stands in no line", lock);
    else if (first->lock != lock)
        sim_check_fail(&world->check, "%s: lock %" PRIu32 " asks, though lock %" PRIu32 " %s",
                       line->asking ? "W2" : "W1", lock, first->lock,
                       line->asking ? "is asking" : "came before it");
    return first && first->lock == lock;
}

void sim_waiters_sent(struct sim_world *world, unsigned s, const struct fence_request *request)
{
    struct sim_line *line = &world->waiters.lines[s][sim_resource_number(request->resource)];
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        if (check_turn(world, line, sim_lock_number(request->lock_id))) {
            sim_waking_check(world, sim_line_first(world, line), line);
            sim_waking_begin(world, s, line, request->attempt);
        }
        break;
    case FENCE_REQUEST_CONFIRM:
        (void)check_turn(world, line, sim_lock_number(request->lock_id));
        break;
    case FENCE_REQUEST_UNDO: /* how an attempt that failed ends */
        line->asking &= request->attempt != line->attempt;
        break;
    default:
        break;
    }
}
