#include "tests/sim/promises/waiters.h"

#include "fence/protocol/limits.h"
#include "tests/sim/promises/attempts.h"
#include "tests/sim/promises/waking.h"
#include "tests/sim/world/world.h"

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
    return &world->waiters.lines[call->server][call->set.resource[0]];
}

/* One of several stands in none. One for a seat stands in a line that is not looked at. */
static bool stands_in_line(const struct sim_call *call)
{
    return call->set.count == 1 && call->seats == 0;
}

/* ---- how many may wait ----------------------------------------------------------------------- */

/* A writer is a group once it has the gate. */
static bool is_group(const struct sim_call *call)
{
    return call->set.count > 1 && call->mode == FENCE_MODE_PLAIN;
}

/* Of @waiting calls, those that wait on. A watch that has ended is answered in a step of its own.
 */
static uint32_t still_waiting(const struct sim_world *world, const struct sim_server *server,
                              uint32_t waiting)
{
    const uint64_t local_us = sim_clock_read(&server->clock, world->now_us);
    const bool some_end_now = fence_core_deadline(server->core) <= local_us;
    const uint32_t known = fence_core_waiting(server->core);
    return some_end_now && known < waiting ? known : waiting;
}

/* Reports whether @call, which comes, must not wait: of those that want several, some of the room
 * is kept for those that do not. Watches are half of the waiters, at the most. */
static bool has_no_room(const struct sim_world *world, const struct sim_call *call)
{
    uint32_t waiting =
        still_waiting(world, &world->servers[call->server], world->waiters.waiting[call->server]);
    uint32_t groups = world->waiters.groups[call->server];
    uint32_t groups_max = world->plan.calls - world->plan.calls / FENCE_GROUPS_KEPT_PART;
    const bool watches_too_many =
        call->kind == FENCE_CALL_WATCH &&
        world->waiters.watches[call->server] >= (world->plan.waiters + 1) / 2;
    return waiting >= world->plan.waiters || watches_too_many ||
           (is_group(call) && groups >= groups_max);
}

static void is_here(struct sim_world *world, const struct sim_call *call)
{
    world->waiters.waiting[call->server] += call->wait_ms > 0;
    world->waiters.groups[call->server] += is_group(call);
    world->waiters.watches[call->server] += call->kind == FENCE_CALL_WATCH;
}

static void is_gone(struct sim_world *world, const struct sim_call *call)
{
    world->waiters.waiting[call->server] -= call->wait_ms > 0;
    world->waiters.groups[call->server] -= is_group(call);
    world->waiters.watches[call->server] -= call->kind == FENCE_CALL_WATCH;
}

/* @call has come. */
static void check_let_wait(struct sim_world *world, const struct sim_call *call)
{
    if (call->state == SIM_CALL_UNDER_WAY && call->wait_ms > 0 && call->no_room)
        sim_check_fail(&world->check, "lock %" PRIu32 " was let wait, where there was no room",
                       call->lock);
}

/* @call is answered. */
static void check_turned_away(struct sim_world *world, const struct sim_call *call)
{
    const bool writes =
        call->mode == FENCE_MODE_WRITE; /* one of the others that are groups by now */
    if (call->error == FENCE_EWAITERS && !writes && !(call->wait_ms > 0 && call->no_room))
        sim_check_fail(&world->check, "lock %" PRIu32 " was not let wait, where there was room",
                       call->lock);
}

/* ---- coming and going ------------------------------------------------------------------------ */

/* Reports whether the server of @call, which comes, takes it not: then it keeps no place, either.
 */
static bool is_turned_away(const struct sim_world *world, const struct sim_call *call)
{
    const struct fence_core *core = world->servers[call->server].core;
    const struct fence_fleet *fleet = fence_core_fleet(core);
    return fence_core_calls(core) >= world->plan.calls || fleet->fleet_id[0] == '\0' ||
           call->ttl_ms + call->delay_ms > fleet->ttl_max_ms ||
           (call->wait_ms > 0 && call->no_room);
}

/* @call goes behind the last of @line that has no higher rank. True: it is the first now. */
static bool join(struct sim_world *world, struct sim_line *line, struct sim_call *call)
{
    assert(line->count < SIM_LINE_MAX);
    uint32_t place = line->count++;
    for (; place > 0 && world->check.calls[line->calls[place - 1]].rank > call->rank; place--)
        line->calls[place] = line->calls[place - 1];
    line->calls[place] = (uint32_t)(call - world->check.calls);
    return place == 0;
}

void sim_waiters_come(struct sim_world *world, struct sim_call *call)
{
    struct sim_line *line = line_of(world, call);
    call->came_us = call->asked_us = world->now_us;
    call->no_room = has_no_room(world, call);
    call->turned_away = is_turned_away(world, call);
    is_here(world, call);
    call->rank = call->turned_away
                     ? UINT64_MAX
                     : sim_places_come(world, call, world->waiters.waiting[call->server]);
    if (!stands_in_line(call))
        return;
    call->waited = line->count > 0;
    const bool is_first = join(world, line, call);
    sim_stats_most(&world->stats.longest_line, line->count);
    if (line->count == 1)
        line->granted = SIM_NO_LOCK;
    if (is_first)
        sim_waking_first(world, call->server, line, true);
}

/* W4. If masters may owe little, all wait. */
static void check_asks_at_once(struct sim_world *world, const struct sim_call *call)
{
    const struct sim_line *line = line_of(world, call);
    uint64_t local_us = sim_clock_read(&world->servers[call->server].clock, world->now_us);
    bool has_it = world->plan.owed == 0 && call->idempotent && stands_in_line(call) &&
                  line->granted == call->lock && line->granted_until_us > local_us &&
                  !sim_grants_is_given_up(&world->check, call->set.resource[0], call->lock) &&
                  !sim_broken_is_begun(&world->check, call->set.resource[0], call->lock, 1);
    if (has_it && call->state == SIM_CALL_UNDER_WAY && !call->asked)
        sim_check_fail(&world->check,
                       "W4: lock %" PRIu32 " has r%" PRIu32
                       ", but waits behind others for its answer",
                       call->lock, call->set.resource[0]);
}

void sim_waiters_came(struct sim_world *world, const struct sim_call *call)
{
    check_let_wait(world, call);
    check_asks_at_once(world, call);
}

static void leave(struct sim_world *world, const struct sim_call *call, uint32_t place)
{
    struct sim_line *line = line_of(world, call);
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

static void count(struct sim_stats *stats, const struct sim_call *call, const struct sim_line *line)
{
    bool waited = call->wait_ms > 0 && call->waited;
    stats->waits += waited;
    stats->hand_overs_by_word += waited && call->error == 0 && line->by_word;
    stats->hand_overs_by_timer += waited && call->error == 0 && !line->by_word;
}

/* Reports whether it need not wait for those before it: its attempt began when it was the first, or
 * its lock id may have the lock, as far as its server can know. */
static bool may_overtake(const struct sim_world *world, const struct sim_line *line,
                         const struct sim_call *call)
{
    return call->attempt != 0 ||
           (call->idempotent && line->held_until_us[call->lock] >= world->now_us);
}

static void leave_line(struct sim_world *world, struct sim_call *call)
{
    struct sim_line *line = line_of(world, call);
    uint32_t place = place_of(world, call);
    if (call->error == 0 && place > 0 && !may_overtake(world, line, call))
        sim_check_fail(&world->check,
                       "W1: lock %" PRIu32 " is granted, though lock %" PRIu32 " came before it",
                       call->lock, sim_line_first(world, line)->lock);
    if (place == 0)
        sim_waking_check(world, call, line);
    if (call->error == 0)
        sim_waking_granted(world, call, line);
    count(&world->stats, call, line);
    leave(world, call, place);
}

void sim_waiters_answered(struct sim_world *world, struct sim_call *call)
{
    sim_waking_check_end(world, call);
    check_turned_away(world, call);
    is_gone(world, call);
    if (!call->turned_away)
        sim_places_leave(world, call);
    if (stands_in_line(call))
        leave_line(world, call);
    else if (call->seats > 0)
        sim_waking_check_seats(world, call);
    else if (is_group(call))
        sim_waking_check_group(world, call);
}

void sim_waiters_dropped(struct sim_world *world, struct sim_call *call)
{
    is_gone(world, call);
    if (stands_in_line(call))
        leave(world, call, place_of(world, call));
}

void sim_waiters_crashed(struct sim_world *world, unsigned s)
{
    world->waiters.places[s] = (struct sim_places){.count = 0};
}

void sim_waiters_watch_comes(struct sim_world *world, struct sim_call *call)
{
    call->no_room = has_no_room(world, call);
    call->turned_away = is_turned_away(world, call);
    is_here(world, call);
    if (!call->turned_away)
        (void)sim_places_come(world, call, world->waiters.waiting[call->server]);
}

void sim_waiters_watch_goes(struct sim_world *world, const struct sim_call *call)
{
    check_turned_away(world, call);
    is_gone(world, call);
}

/* ---- W1 and W2: who asks --------------------------------------------------------------------- */

/* Reports whether it is the turn of @call to ask. */
static bool check_turn(struct sim_world *world, const struct sim_line *line,
                       const struct sim_call *call)
{
    const struct sim_call *first = sim_line_first(world, line);
    if (!first)
        sim_check_fail(&world->check, "W1: lock %" PRIu32 " asks, and stands in no line",
                       call->lock);
    else if (first != call && !may_overtake(world, line, call))
        sim_check_fail(&world->check, "%s: lock %" PRIu32 " asks, though lock %" PRIu32 " %s",
                       line->asking ? "W2" : "W1", call->lock, first->lock,
                       line->asking ? "is asking" : "came before it");
    return first == call;
}

/* Reports whether @call stands before @later, and knows the seat @resource. */
static bool has_turn_before(const struct sim_call *call, const struct sim_call *later,
                            uint32_t resource)
{
    return call != later && call->kind == FENCE_CALL_ACQUIRE && call->state == SIM_CALL_UNDER_WAY &&
           call->server == later->server && !call->turned_away && call->rank < later->rank &&
           resource < call->seats;
}

/* A call with its own lock id may have a place that was kept, or the seat itself. */
static void check_turn_of_seat(struct sim_world *world, const struct sim_call *call,
                               uint32_t resource)
{
    const bool reads = call->mode == FENCE_MODE_READ; /* readers ask side by side */
    for (uint32_t k = 0; k < world->check.calls_count && !call->idempotent && !reads; k++)
        if (has_turn_before(&world->check.calls[k], call, resource))
            sim_check_fail(&world->check,
                           "W1: lock %" PRIu32 " asks for the seat r%" PRIu32
                           ", though lock %" PRIu32 ", which knows it, came before it",
                           call->lock, resource, world->check.calls[k].lock);
}

static void takes(struct sim_world *world, unsigned s, const struct fence_request *request)
{
    struct sim_call *call = sim_attempts_call(world, request);
    struct sim_line *line = line_of(world, call);
    if (call->attempt == request->attempt)
        return; /* a hedge */
    if (call->seats > 0) {
        check_turn_of_seat(world, call, sim_resource_number(request->resource));
        sim_waking_check_seats(world, call);
    } else if (!stands_in_line(call)) {
        if (is_group(call))
            sim_waking_check_group(world, call);
    } else if (check_turn(world, line, call)) {
        sim_waking_check(world, call, line);
        sim_waking_begin(world, s, line, request->attempt);
    }
    call->asked = true;
    call->asked_us = world->now_us;
}

void sim_waiters_sent(struct sim_world *world, unsigned s, const struct fence_request *request)
{
    struct sim_line *line = &world->waiters.lines[s][sim_resource_number(request->resource)];
    bool acquires = sim_attempts_is_of_acquire(request);
    if (request->kind == FENCE_REQUEST_TAKE && acquires)
        takes(world, s, request);
    else if (request->kind == FENCE_REQUEST_CONFIRM && acquires && !request->group &&
             stands_in_line(sim_attempts_call(world, request)))
        (void)check_turn(world, line, sim_attempts_call(world, request));
    else if (request->kind == FENCE_REQUEST_UNDO) /* how an attempt that failed ends */
        line->asking &= request->attempt != line->attempt;
}
