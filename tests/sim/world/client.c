#include "tests/sim/world/client.h"

#include "tests/sim/world/asking.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    STREAM = 32, /* part of the seed's random numbers: this and as many as there are clients */

    /* Per mille of what a client may choose to do. */
    INSPECTS = 100,
    RELEASES = 850,
    READS_COUNTER = 300,  /* share of the clients that count */
    RELEASES_AGAIN = 500, /* if the first one's outcome is unknown */
    ASKS_LATER =
        300, /* share of the clients that ask again: perhaps long after their lease has ended */
    DOUBTS = 150,       /* asks again for what it has */
    WRITES = 250,       /* in a world of readers and writers; */
    READS = 600,        /* others want a seat as of a semaphore */
    KEEPS_ID = 150,     /* the lock id of the round before is good for this one */
    BREAKS_AGAIN = 500, /* where the first one's outcome is unknown */

    VALUES_MAX = 3, /* for one call that counts */
    AGAINS_MAX = 3, /* times that it asks with one lock id, beyond the first */
    KNOWS_A_TOKEN = 600,
    WATCHED_OF = 2, /* the latest tokens of a resource, of which one is known */
    BROKEN_OF = 3,  /* the latest grants of a resource, of which one is broken */
};

/* Goes on in @state after @after_us, or after a long while. */
static void go_on_after(struct sim_world *world, unsigned c, enum sim_client_state state,
                        uint64_t after_us)
{
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_CLIENT_PAUSE)) {
        after_us += sim_chaos_outage_us(&world->chaos, SIM_FAULT_CLIENT_PAUSE);
        SIM_SAY(world, "client %u sleeps until %" PRIu64 " us", c, world->now_us + after_us);
    }
    sim_asking_pause(world, c, state, after_us);
}

static void go_on(struct sim_world *world, unsigned c, enum sim_client_state state)
{
    go_on_after(world, c, state, 1 + sim_rng_below(&world->clients[c].rng, world->plan.think_us));
}

void sim_client_start(struct sim_world *world, unsigned c, uint64_t seed)
{
    world->clients[c] = (struct sim_client){
        .rounds = world->plan.rounds,
        .awaited = {SIM_NO_CALL, SIM_NO_CALL},
        .lock = SIM_NO_LOCK,
    };
    sim_rng_init(&world->clients[c].rng, seed, STREAM + c);
    go_on(world, c, SIM_CLIENT_IDLE);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* One of all resources, or several, in any order. */
static struct sim_set draw_set(struct sim_rng *rng, const struct sim_plan *plan)
{
    struct sim_set set = {.count = 1};
    if (plan->resources > 1 && sim_rng_chance(rng, plan->groups))
        set.count = sim_rng_between(rng, 2, plan->resources);
    for (uint32_t r = 0; r < plan->resources; r++)
        set.resource[r] = r;
    for (unsigned k = 0; k < set.count; k++) {
        uint32_t other = sim_rng_between(rng, k, plan->resources - 1);
        uint32_t drawn = set.resource[other];
        set.resource[other] = set.resource[k];
        set.resource[k] = drawn;
    }
    return set;
}

static void draw_lock_id(struct sim_client *client, const struct sim_plan *plan)
{
    bool had_own = client->own_id && client->lock != SIM_NO_LOCK;
    client->own_id = sim_rng_chance(&client->rng, plan->own_ids);
    if (!client->own_id || !had_own || !sim_rng_chance(&client->rng, KEEPS_ID))
        client->lock = SIM_NO_LOCK;
    client->agains = client->own_id ? sim_rng_between(&client->rng, 0, AGAINS_MAX) : 0;
}

/* A lock id that it keeps is asked for again in the same way. */
static void draw_mode(struct sim_client *client)
{
    const uint32_t drawn = sim_rng_below(&client->rng, 1000);
    if (client->lock == SIM_NO_LOCK)
        client->mode = drawn < WRITES           ? FENCE_MODE_WRITE
                       : drawn < WRITES + READS ? FENCE_MODE_READ
                                                : FENCE_MODE_PLAIN;
}

/* Takes values of a counter, or reads it. */
static void count(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    bool reads = sim_rng_chance(&client->rng, READS_COUNTER);
    client->values = reads ? 0 : sim_rng_between(&client->rng, 1, VALUES_MAX);
    sim_asking_send(world, c, FENCE_CALL_COUNT, SIM_CLIENT_INSPECTING);
}

/* One of the latest grants, if there was one. False: no holder has been granted anything yet. */
static bool break_one(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    uint32_t resource = client->set.resource[0];
    const struct sim_grants *grants = &world->check.grants[resource];
    uint32_t latest = grants->count < BROKEN_OF ? grants->count : BROKEN_OF;
    if (latest == 0)
        return false;
    const struct sim_grant *grant =
        &grants->grants[grants->count - 1 - sim_rng_below(&client->rng, latest)];
    sim_asking_break(world, c, resource, grant->lock, grant->token);
    return true;
}

/* Watches a lock that it knows to be free, or held under one of the latest tokens. */
static void watch(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    const struct sim_grants *grants = &world->check.grants[client->set.resource[0]];
    uint32_t latest = grants->count < WATCHED_OF ? grants->count : WATCHED_OF;
    int64_t known = FENCE_WATCH_FREE;
    if (latest > 0 && sim_rng_chance(&client->rng, KNOWS_A_TOKEN))
        known = grants->grants[grants->count - 1 - sim_rng_below(&client->rng, latest)].token;
    sim_asking_watch(world, c, known);
}

static void begin_round(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    if (client->rounds == 0 || world->chaos.healed) {
        client->state = SIM_CLIENT_DONE;
        return;
    }
    client->rounds--;
    client->set = draw_set(&client->rng, &world->plan);
    client->at = 0;
    client->ttl_ms = sim_rng_between(&client->rng, world->plan.ttl_low_ms, world->plan.ttl_high_ms);
    if (world->plan.closes)
        client->ttl_ms =
            client->ttl_ms / 2 > FENCE_TTL_MIN_MS ? client->ttl_ms / 2 : FENCE_TTL_MIN_MS;
    draw_lock_id(client, &world->plan);
    if (world->plan.shared)
        draw_mode(client);
    if (world->plan.breaks && sim_rng_chance(&client->rng, world->plan.breaks) &&
        break_one(world, c))
        return;
    if (world->plan.counts && sim_rng_chance(&client->rng, world->plan.counts))
        count(world, c);
    else if (world->plan.watches && sim_rng_chance(&client->rng, world->plan.watches))
        watch(world, c);
    else if (sim_rng_chance(&client->rng, INSPECTS))
        sim_asking_send(world, c, FENCE_CALL_INSPECT, SIM_CLIENT_INSPECTING);
    else
        sim_asking_acquire(world, c);
}

/* Has to do without the locks of this round, or asks for them again instead of beginning another.
 */
static void end_or_ask_again(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    if (client->agains == 0 || client->rounds == 0) {
        go_on(world, c, SIM_CLIENT_IDLE);
        return;
    }
    client->agains--;
    client->rounds--;
    uint32_t within_us = sim_rng_chance(&client->rng, ASKS_LATER) ? 2000 * world->plan.ttl_high_ms
                                                                  : world->plan.think_us;
    go_on_after(world, c, SIM_CLIENT_TO_ASK_AGAIN, 1 + sim_rng_below(&client->rng, within_us));
}

/* ---- work ------------------------------------------------------------------------------------ */

/* The next of the locks that it has, or the next round. */
static void go_to_next(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    bool more = ++client->at < client->set.count;
    go_on(world, c, more ? SIM_CLIENT_CLAIMING : SIM_CLIENT_IDLE);
}

static void extend_or_write(struct sim_world *world, unsigned c)
{
    if (sim_rng_chance(&world->clients[c].rng, world->plan.extends))
        sim_asking_send(world, c, FENCE_CALL_EXTEND, SIM_CLIENT_EXTENDING);
    else
        go_on(world, c, SIM_CLIENT_WRITING);
}

static void claim(struct sim_world *world, unsigned c)
{
    struct sim_client *client = &world->clients[c];
    uint32_t resource = client->set.resource[client->at];
    int64_t token = client->set.token[client->at];
    const bool stale = sim_account_claim(&world->accounts[resource], token, &client->value) != 0;
    const struct sim_visit visit = {
        .is_stale = stale,
        .token = token,
        .value = stale ? world->accounts[resource].highest : client->value,
    };
    sim_scene_account(world, c, resource, &visit);
    if (stale) {
        world->stats.claims_stale++;
        SIM_SAY(world, "client %u: claim of r%" PRIu32 " with token %" PRId64 " refused", c,
                resource, token);
        go_to_next(world, c);
        return;
    }
    SIM_SAY(world, "client %u: claim of r%" PRIu32 " with token %" PRId64 " reads %" PRId64, c,
            resource, token, client->value);
    bool doubts = client->at == 0 && client->agains > 0 && sim_rng_chance(&client->rng, DOUBTS);
    if (doubts)
        end_or_ask_again(world, c);
    else
        extend_or_write(world, c);
}

static void write(struct sim_world *world, unsigned c)
{
    const struct sim_client *client = &world->clients[c];
    uint32_t resource = client->set.resource[client->at];
    int64_t token = client->set.token[client->at];
    struct sim_account *account = &world->accounts[resource];
    bool stale = sim_account_write(account, token, client->value + 1) != 0;
    const struct sim_visit visit = {
        .writes = true,
        .is_stale = stale,
        .token = token,
        .value = stale ? account->highest : account->value,
    };
    sim_scene_account(world, c, resource, &visit);
    world->stats.writes_stale += stale;
    world->stats.writes += !stale;
    SIM_SAY(world, "client %u: write of %" PRId64 " to r%" PRIu32 " with token %" PRId64 "%s", c,
            client->value + 1, resource, token, stale ? " refused" : "");
    sim_check_account(&world->check, account);
    if (sim_rng_chance(&world->clients[c].rng, RELEASES))
        sim_asking_release(world, c);
    else
        go_to_next(world, c);
}

void sim_client_act(struct sim_world *world, unsigned c)
{
    switch (world->clients[c].state) {
    case SIM_CLIENT_IDLE:
        begin_round(world, c);
        break;
    case SIM_CLIENT_ACQUIRING:
        sim_asking_leave(world, c);
        end_or_ask_again(world, c);
        break;
    case SIM_CLIENT_WATCHING:
        sim_asking_leave(world, c);
        go_on(world, c, SIM_CLIENT_IDLE);
        break;
    case SIM_CLIENT_TO_ASK_AGAIN:
        sim_asking_acquire(world, c);
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

/* Reports whether @client waits for @call; from here on it does so no more. */
static bool awaits(struct sim_client *client, uint32_t call)
{
    for (unsigned k = 0; k < SIM_AWAITED_MAX; k++)
        if (client->awaited[k] == call) {
            client->awaited[k] = SIM_NO_CALL;
            return true;
        }
    return false;
}

static bool awaits_any(const struct sim_client *client)
{
    for (unsigned k = 0; k < SIM_AWAITED_MAX; k++)
        if (client->awaited[k] != SIM_NO_CALL)
            return true;
    return false;
}

/* The first grant is good enough, and as long as one may come it waits. */
static void acquired(struct sim_world *world, unsigned c, const struct sim_call *call)
{
    struct sim_client *client = &world->clients[c];
    if (!call->error && !call->unheard) {
        client->set = call->set;
        client->at = 0;
        client->awaited[0] = client->awaited[1] = SIM_NO_CALL;
        go_on(world, c, SIM_CLIENT_CLAIMING);
    } else if (!awaits_any(client)) {
        end_or_ask_again(world, c);
    }
}

/* Nothing proves that no other caller wrote meanwhile. */
static void claim_anew(struct sim_world *world, unsigned c, const struct sim_call *call)
{
    struct sim_client *client = &world->clients[c];
    client->set.token[client->at] = call->set.token[0];
    go_on(world, c, SIM_CLIENT_CLAIMING);
}

void sim_client_answered(struct sim_world *world, unsigned c, const struct sim_call *call)
{
    struct sim_client *client = &world->clients[c];
    bool unknown = call->error || call->unheard;
    if (!awaits(client, (uint32_t)(call - world->check.calls)))
        return;
    switch (client->state) {
    case SIM_CLIENT_ACQUIRING:
        acquired(world, c, call);
        break;
    case SIM_CLIENT_EXTENDING:
        if ((call->error == FENCE_ELOCKLOST || call->error == FENCE_EBROKEN) && !call->unheard)
            go_to_next(world, c);
        else if (call->anew && !unknown)
            claim_anew(world, c, call);
        else
            extend_or_write(world, c);
        break;
    case SIM_CLIENT_RELEASING:
        if (unknown && sim_rng_chance(&client->rng, RELEASES_AGAIN))
            sim_asking_release(world, c);
        else
            go_to_next(world, c);
        break;
    default:
        if (call->kind == FENCE_CALL_BREAK && unknown && call->error != FENCE_EMISMATCH &&
            sim_rng_chance(&client->rng, BREAKS_AGAIN))
            sim_asking_break(world, c, call->set.resource[0], call->lock, call->set.token[0]);
        else
            go_on(world, c, SIM_CLIENT_IDLE);
        break;
    }
}
