#include "tests/sim/promises/places.h"

#include "fence/protocol/limits.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <string.h>

static struct sim_places *places_of(struct sim_world *world, const struct sim_call *call)
{
    return &world->waiters.places[call->server];
}

static uint64_t local_us(const struct sim_world *world, const struct sim_call *call)
{
    return sim_clock_read(&world->servers[call->server].clock, world->now_us);
}

static bool has_place(const struct sim_call *call)
{
    return call->wait_ms > 0 && call->idempotent && call->set.count == 1 && call->seats == 0;
}

static void drop(struct sim_places *places, uint32_t at)
{
    places->count--;
    memmove(&places->places[at], &places->places[at + 1],
            (places->count - at) * sizeof(places->places[0]));
}

/* Those that are away are in the order in which they left. */
static void drop_oldest(struct sim_places *places, uint32_t away_max)
{
    uint32_t away = 0;
    for (uint32_t at = 0; at < places->count; at++)
        away += places->places[at].present == 0;
    for (uint32_t at = 0; away > away_max;) {
        if (places->places[at].present > 0) {
            at++;
            continue;
        }
        drop(places, at);
        away--;
    }
}

static void drop_expired(struct sim_places *places, uint64_t now_us)
{
    for (uint32_t at = 0; at < places->count;) {
        const struct sim_place *place = &places->places[at];
        if (place->present == 0 && now_us - place->left_us >= FENCE_PLACE_KEPT_US)
            drop(places, at);
        else
            at++;
    }
}

static struct sim_place *find(struct sim_places *places, const struct sim_call *call)
{
    for (uint32_t at = 0; at < places->count; at++)
        if (places->places[at].lock == call->lock &&
            places->places[at].resource == call->set.resource[0])
            return &places->places[at];
    return NULL;
}

static struct sim_place *add(struct sim_places *places, const struct sim_call *call)
{
    assert(places->count < SIM_PLACES_MAX);
    struct sim_place *place = &places->places[places->count++];
    *place =
        (struct sim_place){.lock = call->lock, .resource = call->set.resource[0], .present = 1};
    return place;
}

static uint32_t away_max(const struct sim_world *world, uint32_t waiting)
{
    const struct sim_plan *plan = &world->plan;
    return (plan->waiters < plan->calls ? plan->waiters : plan->calls) - waiting;
}

static uint64_t next_rank(struct sim_places *places, uint64_t now_us)
{
    const uint64_t by_time = now_us + FENCE_WAITED_MAX_MS * UINT64_C(1000);
    places->ranks = places->ranks < by_time ? by_time : places->ranks + 1;
    return places->ranks;
}

/* The wait that it tells counts at a server that is new. */
static uint64_t claim_us(struct sim_places *places, const struct sim_call *call, uint64_t now_us)
{
    if (places->claims_until_us == 0)
        places->claims_until_us = now_us + FENCE_CLAIMS_US;
    return now_us < places->claims_until_us ? call->waited_ms * UINT64_C(1000) : 0;
}

/* The place that is kept for @call, which is there now; NULL: none. A grant has ended it, unless
 * another waiter of it is still there: then that one keeps its place, and @call has a new one. */
static struct sim_place *find_kept(struct sim_world *world, const struct sim_call *call)
{
    struct sim_places *places = places_of(world, call);
    struct sim_place *place = find(places, call);
    if (place && place->granted && place->present == 0) {
        drop(places, (uint32_t)(place - places->places));
        return NULL;
    }
    if (place && place->present == 0)
        world->stats.places_kept++;
    if (place)
        place->present++;
    return place;
}

uint64_t sim_places_come(struct sim_world *world, const struct sim_call *call, uint32_t waiting)
{
    struct sim_places *places = places_of(world, call);
    const uint64_t now_us = local_us(world, call);
    uint64_t rank = next_rank(places, now_us);
    drop_expired(places, now_us);
    if (!has_place(call)) {
        if (call->wait_ms > 0)
            drop_oldest(places, away_max(world, waiting));
        return rank;
    }
    const uint64_t claimed_us = claim_us(places, call, now_us);
    world->stats.waits_claimed += claimed_us > 0;
    rank -= claimed_us;
    const bool is_kept = find_kept(world, call) != NULL;
    drop_oldest(places, away_max(world, waiting));
    struct sim_place *place = is_kept ? find(places, call) : add(places, call);
    if (!is_kept || place->granted)
        place->rank = rank;
    place->granted = false;
    return place->rank;
}

void sim_places_leave(struct sim_world *world, const struct sim_call *call)
{
    struct sim_places *places = places_of(world, call);
    if (!has_place(call))
        return;
    struct sim_place *place = find(places, call);
    assert(place && place->present > 0);
    place->granted = call->error == 0 ? !call->declined : place->granted;
    if (--place->present > 0)
        return;
    struct sim_place left = *place;
    left.left_us = local_us(world, call);
    drop(places, (uint32_t)(place - places->places));
    places->places[places->count++] = left;
}
