#include "tests/sim/world/server.h"

#include "fence/state/trace.h"
#include "tests/sim/promises/attempts.h"
#include "tests/sim/promises/lease.h"
#include "tests/sim/promises/voters.h"
#include "tests/sim/promises/waking.h"
#include "tests/sim/world/asking.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    STREAM = 16, /* of the seed's random numbers: this and as many as there are servers */

    DECLINES = 600, /* per mille of grants that their clients do not hear of: it notices */
};

/* What the core calls what @call is about. */
static const char *text_of(const struct sim_world *world, const struct sim_call *call)
{
    if (!world->plan.seats || call->kind == FENCE_CALL_COUNT)
        return sim_resource_text(call->set.resource[0]);
    return call->seats > 0 || call->mode == FENCE_MODE_WRITE ? SIM_SEATS_NAME
                                                             : sim_seat_text(call->set.resource[0]);
}

static void say_decision(void *context, const struct fence_trace *trace)
{
    const struct sim_server *server = context;
    char text[FENCE_TRACE_TEXT_MAX];
    sim_actions_decided(server->world, trace);
    if (!server->world->trace.out)
        return;
    fence_trace_text(trace, text);
    SIM_SAY(server->world, "  core of server %u: %s", (unsigned)(server - server->world->servers),
            text);
}

static void new_core(struct sim_world *world, struct sim_server *server)
{
    struct fence_config config = {
        .masters = world->plan.masters,
        .calls = world->plan.calls,
        .waiters = world->plan.waiters,
        .extensions = world->plan.extensions,
        .owed = world->plan.owed,
        .ask = world->plan.ask,
        .seed = sim_rng_next(&server->rng),
    };
    if (fence_core_new(&config, &server->core))
        abort(); /* no memory */
    server->world = world;
    if (world->trace.out || world->actions)
        fence_core_trace(server->core,
                         (struct fence_tracer){.line = say_decision, .context = server});
}

void sim_server_start(struct sim_world *world, unsigned s, uint64_t seed)
{
    struct sim_server *server = &world->servers[s];
    sim_rng_init(&server->rng, seed, STREAM + s);
    server->clock.rate_ppm = sim_plan_draw_rate(&world->plan, &server->rng);
    server->clock.offset_us = sim_rng_below(&server->rng, 1000 * 1000);
    server->tick_at_us = FENCE_NEVER;
    server->paused_until_us = 0;
    server->declines = false;
    new_core(world, server);
}

void sim_server_stop(struct sim_world *world, unsigned s)
{
    fence_core_free(world->servers[s].core);
    world->servers[s].core = NULL;
}

static void answer_leaves(struct sim_world *world, struct sim_call *call)
{
    if (call->client < world->plan.clients)
        sim_asking_answer_leaves(world, call);
    else if (call->client == SIM_MAINTAIN)
        sim_maintain_answered(world, call);
    else
        sim_probe_answered(world, call);
}

/* Its clients learn that the answer will never come. */
static void drop_calls(struct sim_world *world, unsigned s)
{
    for (uint32_t id = 0; id < world->check.calls_count; id++) {
        struct sim_call *call = &world->check.calls[id];
        if (call->server != s || call->state != SIM_CALL_UNDER_WAY)
            continue;
        sim_check_dropped(&world->check, call);
        if (call->kind == FENCE_CALL_ACQUIRE)
            sim_waiters_dropped(world, call);
        else if (call->kind == FENCE_CALL_WATCH)
            sim_watched_dropped(world, call);
        answer_leaves(world, call);
    }
}

void sim_server_crash(struct sim_world *world, unsigned s)
{
    struct sim_server *server = &world->servers[s];
    SIM_SAY(world, "server %u crashes, and starts anew", s);
    world->stats.server_crashes++;
    sim_actions_crashed(world, s);
    drop_calls(world, s);
    sim_waiters_crashed(world, s);
    fence_core_free(server->core);
    new_core(world, server);
    server->tick_at_us = FENCE_NEVER;
    server->declines = false;
    sim_listing_crashed(world, s);
    sim_links_forget(world, s);
}

/* ---- effects --------------------------------------------------------------------------------- */

/* A grant whose client is known to be gone is taken back in the next step. */
static void perhaps_decline(struct sim_world *world, unsigned s, struct sim_call *call,
                            const struct fence_answer *answer)
{
    struct sim_server *server = &world->servers[s];
    call->declined = !answer->error && call->kind == FENCE_CALL_ACQUIRE && call->unheard &&
                     sim_rng_chance(&server->rng, DECLINES);
    if (!call->declined)
        return;
    server->declines = true;
    if (answer->acquire.group)
        sim_set_group(&call->set, &world->group);
    server->declined = (struct fence_taken){
        .resource = call->mode == FENCE_MODE_WRITE ? SIM_SEATS_NAME
                    : call->seats > 0              ? sim_seat_text(call->set.resource[0])
                                                   : sim_resource_text(call->set.resource[0]),
        .group = answer->acquire.group ? &world->group : NULL,
        .lock_id = sim_lock_text(call->lock),
        .attempt = answer->acquire.attempt,
        .ttl_ms = call->ttl_ms,
        .masters = answer->acquire.sent,
    };
    world->stats.declined++;
    SIM_SAY(world, "server %u finds the client of call %" PRIu64 " gone", s, answer->client);
}

static void decline(struct sim_world *world, unsigned s)
{
    struct sim_server *server = &world->servers[s];
    struct fence_event event = {.kind = FENCE_EVENT_DECLINED, .declined = server->declined};
    server->declines = false;
    sim_server_step(world, s, &event);
}

static void answer(struct sim_world *world, unsigned s, const struct fence_answer *answer)
{
    if (answer->origin == FENCE_ORIGIN_LISTING) {
        sim_listing_inspected(world, s, answer);
        return;
    }
    assert(answer->client < world->check.calls_count);
    const struct sim_server *server = &world->servers[s];
    struct sim_call *call = &world->check.calls[answer->client];
    uint64_t valid_us = sim_clock_span(&server->clock, answer->lease.validity_ms * 1000);
    call->unheard = !sim_asking_hears(world, call);
    if (call->kind == FENCE_CALL_ACQUIRE && call->seats > 0 && answer->error == 0) {
        const uint32_t seat = sim_resource_number(answer->resource);
        sim_grants_seated(&world->check, call, seat, world->now_us);
        sim_broken_seated(call, seat);
    }
    sim_actions_answered(world, s, call, answer);
    perhaps_decline(world, s, call, answer);
    sim_check_answered(&world->check, call, answer, world->now_us, world->now_us + valid_us);
    if (call->kind == FENCE_CALL_ACQUIRE && sim_check_ok(&world->check)) {
        sim_waiters_answered(world, call);
        sim_attempts_answered(world, call);
    }
    if (call->kind == FENCE_CALL_WATCH && sim_check_ok(&world->check))
        sim_watched_answered(world, call, answer);
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND)
        sim_lease_check(world, call, world->now_us + valid_us);
    sim_stats_answer(&world->stats, answer, call->set.count > 1, call->confirming,
                     call->count == 0);
    const int64_t value = answer->kind == FENCE_CALL_COUNT ? answer->count.value : 0;
    sim_trace_mix(&world->trace,
                  (uint64_t)(answer->token ^ value) ^ (uint64_t)(int64_t)answer->error);
    SIM_SAY(world,
            "server %u answers call %" PRIu64 " (lock %" PRIu32 "): %s, token %" PRId64
            ", valid %" PRIu64 " ms",
            s, answer->client, call->lock, fence_strerror(answer->error), answer->token,
            answer->lease.validity_ms);
    sim_voters_check(world);
    answer_leaves(world, call);
}

static void send(struct sim_world *world, unsigned s, unsigned m,
                 const struct fence_request *request)
{
    struct sim_request made = sim_lock_request(request);
    made.member = m;
    made.view = fence_core_fleet(world->servers[s].core)->master[m].named;
    sim_actions_sent(world, s, &made);
    sim_network_send(world, s, m, &made);
}

static void send_rejoin(struct sim_world *world, unsigned s, unsigned m,
                        const struct fence_rejoin_request *request)
{
    struct sim_request made = sim_rejoin_request(request);
    made.member = m;
    sim_network_send(world, s, m, &made);
}

static void note_round(struct sim_world *world, const struct fence_request *request)
{
    bool takes = request->kind == FENCE_REQUEST_TAKE || request->kind == FENCE_REQUEST_CONFIRM;
    if (takes && sim_attempts_is_of_acquire(request))
        sim_attempts_call(world, request)->confirming = request->kind == FENCE_REQUEST_CONFIRM;
}

static void act_on_master(struct sim_world *world, unsigned s, unsigned m,
                          const struct fence_effect *effect)
{
    switch (effect->kind) {
    case FENCE_EFFECT_SEND:
        send(world, s, m, &effect->request);
        break;
    case FENCE_EFFECT_REJOIN:
        send_rejoin(world, s, m, &effect->rejoin);
        break;
    case FENCE_EFFECT_RESTAMP:
        sim_link_restamp(world, s, m);
        break;
    case FENCE_EFFECT_HANDSHAKE:
        sim_link_shake(world, s, m);
        break;
    case FENCE_EFFECT_RESET:
        world->stats.connections_reset++;
        sim_link_reset(world, s, m);
        break;
    case FENCE_EFFECT_PLACE: /* order alone, and it may be lost */
    case FENCE_EFFECT_ANSWER:
        break;
    }
}

static void act(struct sim_world *world, unsigned s, const struct fence_effect *effect)
{
    sim_trace_mix(&world->trace, (uint64_t)effect->kind << 16 | effect->masters);
    if (effect->kind == FENCE_EFFECT_ANSWER) {
        answer(world, s, &effect->answer);
        return;
    }
    if (effect->kind == FENCE_EFFECT_SEND) {
        note_round(world, &effect->request);
        sim_waiters_sent(world, s, &effect->request);
        sim_attempts_sent(world, s, &effect->request, effect->masters);
    }
    for (unsigned m = 0; m < world->plan.masters; m++)
        if (effect->masters >> m & 1)
            act_on_master(world, s, m, effect);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Sees to it that a tick comes no later than the core's deadline. One that comes too early is no
 * harm: it looks again. */
static void schedule_tick(struct sim_world *world, unsigned s)
{
    struct sim_server *server = &world->servers[s];
    uint64_t deadline_us = fence_core_deadline(server->core);
    if (deadline_us == FENCE_NEVER)
        return;
    uint64_t at_us = sim_clock_when(&server->clock, deadline_us);
    if (at_us < world->now_us)
        at_us = world->now_us;
    if (at_us >= server->tick_at_us)
        return;
    server->tick_at_us = at_us;
    struct sim_event event = {.kind = SIM_EVENT_TICK, .server = (uint8_t)s};
    sim_world_schedule(world, at_us - world->now_us, &event);
}

void sim_server_step(struct sim_world *world, unsigned s, struct fence_event *event)
{
    struct sim_server *server = &world->servers[s];
    struct fence_effects *effects = &server->effects;
    event->now_us = sim_clock_read(&server->clock, world->now_us);
    event->random = sim_rng_next(&server->rng);
    fence_step(server->core, event, effects);
    fence_core_check(server->core);
    world->stats.steps++;
    if (effects->count > FENCE_EFFECTS_MAX)
        sim_check_fail(&world->check, "%u effects from one step", effects->count);
    for (unsigned i = 0; i < effects->count && sim_check_ok(&world->check); i++)
        act(world, s, &effects->items[i]);
    if (server->declines && sim_check_ok(&world->check))
        decline(world, s);
    schedule_tick(world, s);
}

void sim_server_call(struct sim_world *world, unsigned s, struct sim_call *call)
{
    bool has_lock = call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND ||
                    call->kind == FENCE_CALL_RELEASE;
    bool has_token = call->kind == FENCE_CALL_EXTEND || call->kind == FENCE_CALL_BREAK ||
                     call->kind == FENCE_CALL_WATCH;
    bool has_ttl = has_lock || call->kind == FENCE_CALL_INSPECT;
    bool several = call->set.count > 1 && call->mode == FENCE_MODE_PLAIN;
    uint32_t id = (uint32_t)(call - world->check.calls);
    if (several)
        sim_set_group(&call->set, &world->group);
    struct fence_event event = {
        .kind = FENCE_EVENT_CALL,
        .call =
            {
                .kind = call->kind,
                .client = id,
                .resource = text_of(world, call),
                .seats = call->mode == FENCE_MODE_PLAIN ? call->seats : 0,
                .mode = call->mode,
                .lock_id = has_lock ? sim_lock_text(call->lock) : NULL,
                .owner = call->kind == FENCE_CALL_ACQUIRE ? sim_owner_with_delay(id, call->delay_ms)
                         : call->kind == FENCE_CALL_BREAK ? SIM_BREAKER
                                                          : "",
                .group = several ? &world->group : NULL,
                .idempotent = call->idempotent,
                .token = has_token ? call->set.token[0] : 0,
                .ttl_ms = has_ttl ? call->ttl_ms : 0,
                .keep_ms = call->keep_ms,
                .count = call->count,
                .wait_ms = call->wait_ms,
                .waited_ms = call->waited_ms,
            },
    };
    sim_check_begun(&world->check, call);
    if (call->kind == FENCE_CALL_ACQUIRE)
        sim_waiters_come(world, call);
    else if (call->kind == FENCE_CALL_WATCH)
        sim_watched_come(world, call);
    sim_server_step(world, s, &event);
    if (call->kind == FENCE_CALL_ACQUIRE && sim_check_ok(&world->check))
        sim_waiters_came(world, call);
}

void sim_server_freed(struct sim_world *world, unsigned s, uint32_t resource, uint32_t lock)
{
    struct fence_event event = {
        .kind = FENCE_EVENT_RELEASED,
        .released = {.resource =
                         world->plan.seats ? sim_seat_text(resource) : sim_resource_text(resource),
                     .lock_id = sim_lock_text(lock)},
    };
    world->stats.words_heard++;
    sim_waking_heard(world, s, resource, lock);
    SIM_SAY(world, "server %u hears that lock %" PRIu32 " of r%" PRIu32 " was given up", s, lock,
            resource);
    sim_server_step(world, s, &event);
}

void sim_server_left(struct sim_world *world, unsigned s, struct sim_call *call)
{
    if (call->state != SIM_CALL_UNDER_WAY)
        return; /* it was answered before, or the server crashed */
    struct fence_event event = {
        .kind = FENCE_EVENT_LEFT,
        .client = (uint64_t)(call - world->check.calls),
    };
    call->left = true;
    sim_server_step(world, s, &event);
    const bool ends_now =
        fence_core_deadline(world->servers[s].core) <= event.now_us; /* a watch may */
    if (call->state == SIM_CALL_UNDER_WAY && !ends_now)
        sim_check_fail(&world->check, "call %" PRIu64 " goes on, though its client has gone",
                       event.client);
}

void sim_server_tick(struct sim_world *world, unsigned s)
{
    struct sim_server *server = &world->servers[s];
    if (server->tick_at_us > world->now_us)
        return; /* scheduled before an earlier one, which has looked already */
    server->tick_at_us = FENCE_NEVER;
    uint64_t local_us = sim_clock_read(&server->clock, world->now_us);
    if (fence_core_deadline(server->core) <= local_us) {
        struct fence_event event = {.kind = FENCE_EVENT_TICK};
        sim_server_step(world, s, &event);
    } else {
        schedule_tick(world, s);
    }
}
