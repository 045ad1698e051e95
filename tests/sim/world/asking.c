#include "tests/sim/world/asking.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    /* Per mille. */
    NOTICED = 700,        /* that a client left, by its server */
    KNOWS_ALL = 850,      /* share of the seats; others know the first one only */
    RESERVED_CALLS = 128, /* not per mille: left to the world, for after the healing */
};

void sim_asking_pause(struct sim_world *world, unsigned c, enum sim_client_state state,
                      uint64_t after_us)
{
    struct sim_event event = {
        .kind = SIM_EVENT_CLIENT,
        .client = (uint8_t)c,
        .id = ++world->clients[c].turn,
    };
    world->clients[c].state = state;
    sim_world_schedule(world, after_us, &event);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The objects of a call of @kind: all that it wants, or the one that it works at. */
static struct sim_set set_for(const struct sim_client *client, enum fence_call_kind kind)
{
    if (kind == FENCE_CALL_ACQUIRE)
        return client->set;
    return (struct sim_set){.count = 1,
                            .resource = {client->set.resource[client->at]},
                            .token = {client->set.token[client->at]}};
}

/* A call of readers, of a writer, or of a semaphore of the same name. */
static void share(const struct sim_world *world, const struct sim_client *client,
                  struct sim_call *call)
{
    if (call->kind == FENCE_CALL_INSPECT && call->seats > 0)
        call->mode = FENCE_MODE_READ;
    if (call->kind != FENCE_CALL_ACQUIRE)
        return;
    call->mode = client->mode;
    if (call->mode == FENCE_MODE_READ)
        call->seats = world->plan.resources;
    if (call->mode != FENCE_MODE_WRITE)
        return;
    call->seats = 0;
    call->set.count = world->plan.resources;
    for (uint32_t r = 0; r < call->set.count; r++)
        call->set.resource[r] = r;
}

/* A client that asks again, under the lock id that it has, names as many seats as before. */
static unsigned seats_for(const struct sim_world *world, struct sim_client *client)
{
    const unsigned drawn = sim_rng_chance(&client->rng, KNOWS_ALL) ? world->plan.resources : 1;
    if (client->lock == SIM_NO_LOCK)
        client->seats = drawn;
    return client->seats;
}

/* NULL: the world has had enough. */
static struct sim_call *send(struct sim_world *world, unsigned c, enum fence_call_kind kind)
{
    struct sim_call *call = world->check.calls_count < SIM_CALLS_MAX - RESERVED_CALLS
                                ? sim_check_new_call(&world->check)
                                : NULL;
    if (!call)
        return NULL;
    struct sim_client *client = &world->clients[c];
    uint32_t id = (uint32_t)(call - world->check.calls);
    call->kind = kind;
    call->client = c;
    call->server = sim_rng_between(&client->rng, world->plan.quiet, world->plan.servers - 1);
    call->set = set_for(client, kind);
    call->lock = client->lock != SIM_NO_LOCK ? client->lock : id;
    call->ttl_ms = client->ttl_ms;
    call->delay_ms = kind == FENCE_CALL_ACQUIRE || kind == FENCE_CALL_EXTEND
                         ? sim_closed_delay_ms(world, call->lock)
                         : 0;
    call->keep_ms = kind == FENCE_CALL_RELEASE ? sim_closed_keep_ms(world, call->lock) : 0;
    call->count = kind == FENCE_CALL_COUNT ? client->values : 0;
    if (kind == FENCE_CALL_ACQUIRE && world->plan.seats)
        call->seats = seats_for(world, client);
    if (kind == FENCE_CALL_INSPECT && world->plan.seats && c % 2 == 0)
        call->seats = world->plan.resources;
    if (world->plan.shared)
        share(world, client, call);
    struct sim_event event = {.kind = SIM_EVENT_CALL, .server = (uint8_t)call->server, .id = id};
    sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, &client->rng, 0), &event);
    return call;
}

static struct sim_call *ask(struct sim_world *world, unsigned c, enum fence_call_kind kind,
                            enum sim_client_state state)
{
    struct sim_client *client = &world->clients[c];
    struct sim_call *call = send(world, c, kind);
    client->state = call ? state : SIM_CLIENT_DONE;
    client->turn++;
    client->awaited[0] = call ? (uint32_t)(call - world->check.calls) : SIM_NO_CALL;
    client->awaited[1] = SIM_NO_CALL;
    return call;
}

void sim_asking_send(struct sim_world *world, unsigned c, enum fence_call_kind kind,
                     enum sim_client_state state)
{
    (void)ask(world, c, kind, state);
}

static void complete_acquire(struct sim_world *world, unsigned c, struct sim_call *call)
{
    struct sim_client *client = &world->clients[c];
    char set[SIM_SET_TEXT_MAX];
    bool again = client->lock != SIM_NO_LOCK;
    client->since_us = again ? client->since_us : world->now_us;
    client->lock = call->lock;
    call->idempotent = client->own_id;
    call->waited_ms = (uint32_t)((world->now_us - client->since_us) / 1000);
    if (sim_rng_chance(&client->rng, world->plan.waits))
        call->wait_ms = sim_rng_between(&client->rng, 1, world->plan.wait_high_ms);
    world->stats.asked_again += again;
    sim_set_text(&call->set, set);
    SIM_SAY(world,
            "client %u asks server %u%s for %s: lock %" PRIu32 "%s, %" PRIu32 " ms, waits %" PRIu32
            " ms",
            c, call->server, again ? " again" : "", set, call->lock,
            call->idempotent ? ", its own" : "", call->ttl_ms, call->wait_ms);
}

static void perhaps_leave(struct sim_world *world, unsigned c, enum sim_client_state state)
{
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_CLIENT_LEAVES))
        sim_asking_pause(
            world, c, state,
            1 + sim_chaos_pick(&world->chaos, SIM_FAULT_CLIENT_LEAVES, world->plan.think_us));
}

void sim_asking_acquire(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    struct sim_call *call = ask(world, c, FENCE_CALL_ACQUIRE, SIM_CLIENT_ACQUIRING);
    if (!call)
        return;
    complete_acquire(world, c, call);
    if (client->own_id && sim_rng_chance(&client->rng, world->plan.twice)) {
        struct sim_call *other = send(world, c, FENCE_CALL_ACQUIRE);
        if (other) {
            complete_acquire(world, c, other);
            client->awaited[1] = (uint32_t)(other - world->check.calls);
        }
    }
    perhaps_leave(world, c, SIM_CLIENT_ACQUIRING);
}

void sim_asking_watch(struct sim_world *world, unsigned c, int64_t known)
{
    struct sim_client *client = &world->clients[c];
    struct sim_call *call = ask(world, c, FENCE_CALL_WATCH, SIM_CLIENT_WATCHING);
    if (!call)
        return;
    call->set.token[0] = known;
    call->wait_ms = sim_rng_between(&client->rng, 1, world->plan.watch_high_ms);
    SIM_SAY(world,
            "client %u asks server %u to watch r%" PRIu32 ", knows token %" PRId64
            ", waits %" PRIu32 " ms",
            c, call->server, call->set.resource[0], known, call->wait_ms);
    perhaps_leave(world, c, SIM_CLIENT_WATCHING);
}

void sim_asking_release(struct sim_world *world, unsigned c)
{
    const struct sim_client *client = &world->clients[c];
    struct sim_call *call = ask(world, c, FENCE_CALL_RELEASE, SIM_CLIENT_RELEASING);
    if (call)
        sim_closed_leaves(&world->check, call, world->now_us);
    sim_grants_given_up(&world->check, client->set.resource[client->at], client->lock,
                        world->now_us);
}

void sim_asking_break(struct sim_world *world, unsigned c, uint32_t resource, uint32_t lock,
                      int64_t token)
{
    sim_broken_begins(&world->check, resource, lock, token, world->now_us);
    struct sim_call *call = ask(world, c, FENCE_CALL_BREAK, SIM_CLIENT_INSPECTING);
    if (!call)
        return;
    call->set = (struct sim_set){.count = 1, .resource = {resource}, .token = {token}};
    call->lock = lock;
    SIM_SAY(world, "client %u breaks lock %" PRIu32 " of r%" PRIu32 " with token %" PRId64, c, lock,
            resource, token);
}

void sim_asking_leave(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    world->stats.waits_abandoned++;
    SIM_SAY(world, "client %u is tired of waiting", c);
    for (unsigned k = 0; k < SIM_AWAITED_MAX; k++) {
        if (client->awaited[k] == SIM_NO_CALL)
            continue;
        struct sim_event left = {
            .kind = SIM_EVENT_LEFT,
            .server = (uint8_t)world->check.calls[client->awaited[k]].server,
            .id = client->awaited[k],
        };
        if (sim_rng_chance(&client->rng, NOTICED))
            sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, &client->rng, 0), &left);
        client->awaited[k] = SIM_NO_CALL;
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool awaits(const struct sim_client *client, uint32_t call)
{
    return client->awaited[0] == call || client->awaited[1] == call;
}

bool sim_asking_hears(struct sim_world *world, const struct sim_call *call)
{
    if (call->client >= world->plan.clients)
        return true;
    bool lost = sim_chaos_strikes(&world->chaos, SIM_FAULT_ANSWER_LOST);
    world->stats.answers_lost += lost;
    return !lost && awaits(&world->clients[call->client], (uint32_t)(call - world->check.calls));
}

void sim_asking_answer_leaves(struct sim_world *world, const struct sim_call *call)
{
    struct sim_event event = {
        .kind = SIM_EVENT_ANSWER,
        .client = (uint8_t)call->client,
        .id = (uint32_t)(call - world->check.calls),
    };
    struct sim_rng *rng = &world->clients[call->client].rng;
    sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, rng, 0), &event);
}
