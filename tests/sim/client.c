#include "tests/sim/client.h"

#include "tests/sim/world.h"

#include <inttypes.h>

enum {
    STREAM = 32, /* of the seed's random numbers: this and as many as there are clients */

    /* Per mille of what a client may choose to do. */
    INSPECTS = 100,
    NOTICED = 700, /* that a client left, by its server */
    EXTENDS = 350,
    RELEASES = 850,
    RELEASES_AGAIN = 500, /* where the first one's outcome is unknown */

    RESERVED = 64, /* calls that are left to the world, for after the healing */
};

static void next_turn(struct sim_world *world, unsigned c, uint64_t after_us)
{
    struct sim_event event = {
        .kind = SIM_EVENT_CLIENT,
        .client = (uint8_t)c,
        .id = ++world->clients[c].turn,
    };
    sim_world_schedule(world, after_us, &event);
}

/* Goes on in @state after a while, or after a long one. */
static void go_on(struct sim_world *world, unsigned c, enum sim_client_state state)
{
    world->clients[c].state = state;
    uint64_t after_us = 1 + sim_rng_below(&world->clients[c].rng, world->plan.think_us);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_CLIENT_PAUSE)) {
        after_us += sim_chaos_outage_us(&world->chaos, SIM_FAULT_CLIENT_PAUSE);
        SIM_SAY(world, "client %u sleeps until %" PRIu64 " us", c, world->now_us + after_us);
    }
    next_turn(world, c, after_us);
}

void sim_client_start(struct sim_world *world, unsigned c, uint64_t seed)
{
    world->clients[c] = (struct sim_client){.rounds = world->plan.rounds};
    sim_rng_init(&world->clients[c].rng, seed, STREAM + c);
    go_on(world, c, SIM_CLIENT_IDLE);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Sends a call of @kind for this round's lock to server @s. NULL: the world has had enough. */
static struct sim_call *send(struct sim_world *world, unsigned c, unsigned s,
                             enum fence_call_kind kind)
{
    struct sim_call *call = world->check.calls_count < SIM_CALLS_MAX - RESERVED
                                ? sim_check_new_call(&world->check)
                                : NULL;
    if (!call)
        return NULL;
    struct sim_client *client = &world->clients[c];
    uint32_t id = (uint32_t)(call - world->check.calls);
    call->kind = kind;
    call->client = c;
    call->server = s;
    call->resource = client->resource;
    call->lock = client->lock;
    call->ttl_ms = client->ttl_ms;
    call->token = client->token;
    struct sim_event event = {.kind = SIM_EVENT_CALL, .server = (uint8_t)s, .id = id};
    sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, &client->rng, 0), &event);
    return call;
}

static unsigned any_server(struct sim_world *world, unsigned c)
{
    return sim_rng_between(&world->clients[c].rng, world->plan.quiet, world->plan.servers - 1);
}

/* The same at any server, and waits for the answer in @state. */
static struct sim_call *ask(struct sim_world *world, unsigned c, enum fence_call_kind kind,
                            enum sim_client_state state)
{
    struct sim_client *client = &world->clients[c];
    struct sim_call *call = send(world, c, any_server(world, c), kind);
    client->state = call ? state : SIM_CLIENT_DONE;
    client->turn++;
    if (call)
        client->call = (uint32_t)(call - world->check.calls);
    return call;
}

static void acquire(struct sim_world *world, unsigned c)
{
    struct sim_call *call = ask(world, c, FENCE_CALL_ACQUIRE, SIM_CLIENT_ACQUIRING);
    if (!call)
        return;
    struct sim_client *client = &world->clients[c];
    client->lock = call->lock = client->call;
    if (sim_rng_chance(&world->clients[c].rng, world->plan.waits))
        call->wait_ms = sim_rng_between(&world->clients[c].rng, 1, world->plan.wait_high_ms);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_CLIENT_LEAVES))
        next_turn(world, c,
                  1 + sim_chaos_pick(&world->chaos, SIM_FAULT_CLIENT_LEAVES, world->plan.think_us));
    SIM_SAY(world,
            "client %u asks server %u for r%" PRIu32 ": lock %" PRIu32 ", %" PRIu32
            " ms, waits %" PRIu32 " ms",
            c, call->server, call->resource, call->lock, call->ttl_ms, call->wait_ms);
}

static void release(struct sim_world *world, unsigned c)
{
    const struct sim_client *client = &world->clients[c];
    sim_check_given_up(&world->check, client->resource, client->lock, world->now_us);
    (void)ask(world, c, FENCE_CALL_RELEASE, SIM_CLIENT_RELEASING);
}

/* Its server notices that sooner or later, or not at all. */
static void leave(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    struct sim_event left = {
        .kind = SIM_EVENT_LEFT,
        .server = (uint8_t)world->check.calls[client->call].server,
        .id = client->call,
    };
    world->stats.waits_abandoned++;
    SIM_SAY(world, "client %u is tired of waiting", c);
    if (sim_rng_chance(&client->rng, NOTICED))
        sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, &client->rng, 0), &left);
    client->call = UINT32_MAX;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void begin_round(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    if (client->rounds == 0 || world->chaos.healed) {
        client->state = SIM_CLIENT_DONE;
        return;
    }
    client->rounds--;
    client->resource = sim_rng_below(&world->clients[c].rng, world->plan.resources);
    client->ttl_ms =
        sim_rng_between(&world->clients[c].rng, world->plan.ttl_low_ms, world->plan.ttl_high_ms);
    client->token = 0;
    if (sim_rng_chance(&world->clients[c].rng, INSPECTS))
        (void)ask(world, c, FENCE_CALL_INSPECT, SIM_CLIENT_INSPECTING);
    else
        acquire(world, c);
}

static void extend_or_write(struct sim_world *world, unsigned c)
{
    if (sim_rng_chance(&world->clients[c].rng, EXTENDS))
        (void)ask(world, c, FENCE_CALL_EXTEND, SIM_CLIENT_EXTENDING);
    else
        go_on(world, c, SIM_CLIENT_WRITING);
}

static void claim(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    struct sim_account *account = &world->accounts[client->resource];
    if (sim_account_claim(account, client->token, &client->value)) {
        world->stats.claims_stale++;
        SIM_SAY(world, "client %u: claim with token %" PRId64 " refused", c, client->token);
        go_on(world, c, SIM_CLIENT_IDLE);
        return;
    }
    SIM_SAY(world, "client %u: claim with token %" PRId64 " reads %" PRId64, c, client->token,
            client->value);
    extend_or_write(world, c);
}

static void write(struct sim_world *world, unsigned c)
{
    const struct sim_client *client = &world->clients[c];
    struct sim_account *account = &world->accounts[client->resource];
    bool stale = sim_account_write(account, client->token, client->value + 1) != 0;
    world->stats.writes_stale += stale;
    world->stats.writes += !stale;
    SIM_SAY(world, "client %u: write of %" PRId64 " with token %" PRId64 "%s", c, client->value + 1,
            client->token, stale ? " refused" : "");
    sim_check_account(&world->check, account);
    if (sim_rng_chance(&world->clients[c].rng, RELEASES))
        release(world, c);
    else
        go_on(world, c, SIM_CLIENT_IDLE);
}

void sim_client_act(struct sim_world *world, unsigned c)
{
    switch (world->clients[c].state) {
    case SIM_CLIENT_IDLE:
        begin_round(world, c);
        break;
    case SIM_CLIENT_ACQUIRING:
        leave(world, c);
        go_on(world, c, SIM_CLIENT_IDLE);
        break;
    case SIM_CLIENT_CLAIMING:
        claim(world, c);
        break;
    case SIM_CLIENT_WRITING:
        write(world, c);
        break;
    default:
        break;
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

void sim_client_answered(struct sim_world *world, unsigned c, const struct sim_call *call)
{
    struct sim_client *client = &world->clients[c];
    if (client->call != (uint32_t)(call - world->check.calls))
        return; /* it did not wait */
    client->turn++;
    switch (client->state) {
    case SIM_CLIENT_ACQUIRING:
        client->token = call->token;
        go_on(world, c, call->error ? SIM_CLIENT_IDLE : SIM_CLIENT_CLAIMING);
        break;
    case SIM_CLIENT_EXTENDING:
        if (call->error == FENCE_ELOCKLOST)
            go_on(world, c, SIM_CLIENT_IDLE);
        else
            extend_or_write(world, c);
        break;
    case SIM_CLIENT_RELEASING:
        if (call->error && sim_rng_chance(&world->clients[c].rng, RELEASES_AGAIN))
            release(world, c);
        else
            go_on(world, c, SIM_CLIENT_IDLE);
        break;
    default:
        go_on(world, c, SIM_CLIENT_IDLE);
        break;
    }
}

void sim_client_expects_answer(struct sim_world *world, const struct sim_call *call)
{
    if (call->client == SIM_PROBE && call->error && call->kind == FENCE_CALL_ACQUIRE)
        sim_check_fail(&world->check, "P3: all is well again, but r%" PRIu32 " is not free: %s",
                       call->resource, fence_strerror(call->error));
    if (call->client >= world->plan.clients)
        return;
    struct sim_event event = {
        .kind = SIM_EVENT_ANSWER,
        .client = (uint8_t)call->client,
        .id = (uint32_t)(call - world->check.calls),
    };
    struct sim_rng *rng = &world->clients[call->client].rng;
    sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, rng, 0), &event);
}

/* ---- the world itself, after healing --------------------------------------------------------- */

static void ask_at_once(struct sim_world *world, unsigned s, enum fence_call_kind kind,
                        uint32_t resource)
{
    struct sim_call *call = sim_check_new_call(&world->check);
    if (!call)
        return;
    call->kind = kind;
    call->client = SIM_PROBE;
    call->server = s;
    call->resource = resource;
    call->lock = (uint32_t)(call - world->check.calls);
    call->ttl_ms = world->plan.ttl_high_ms;
    sim_server_call(world, s, call);
}

void sim_client_probe(struct sim_world *world, uint32_t resource, unsigned s)
{
    ask_at_once(world, s, FENCE_CALL_ACQUIRE, resource);
}

void sim_client_nudge(struct sim_world *world, unsigned s)
{
    ask_at_once(world, s, FENCE_CALL_INSPECT, 0);
}
