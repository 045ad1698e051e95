#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Streams of the seed's random numbers; chaos and servers have theirs. */
    STREAM_PLAN = 0,
    STREAM_CLIENTS = 1,

    HEAL_LATEST_US = 60 * 1000 * 1000, /* a history is longer only if somebody waits in vain */
    EVENTS_MAX = 200 * 1000,
    CALM_US = 8 * 1000 * 1000, /* from healing on, for what was under way to come to its end */
    PROBE_US = 1000 * 1000,    /* and for one acquire when all is well */
    CALM_DELAY_US = 500,
    TIMERS_LATE_US = 100,
};

struct sim_world *sim_world_new(void)
{
    return calloc(1, sizeof(struct sim_world));
}

void sim_world_free(struct sim_world *world)
{
    free(world);
}

void sim_world_schedule(struct sim_world *world, uint64_t after_us, const struct sim_event *event)
{
    struct sim_event at = *event;
    at.at_us = world->now_us + after_us;
    sim_heap_push(&world->heap, &at);
}

static void schedule_plain(struct sim_world *world, uint64_t after_us, enum sim_event_kind kind)
{
    struct sim_event event = {.kind = (uint8_t)kind};
    sim_world_schedule(world, after_us, &event);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void start_masters(struct sim_world *world, struct sim_rng *rng)
{
    for (unsigned i = 0; i < world->plan.masters; i++) {
        struct sim_clock clock = {
            .offset_us = sim_rng_below(rng, 1000 * 1000),
            .rate_ppm = sim_plan_draw_rate(&world->plan, rng),
        };
        sim_master_init(&world->masters[i], &clock, world->plan.slots, world->plan.extensions);
    }
}

static void say_plan(const struct sim_world *world, uint64_t seed)
{
    const struct sim_plan *plan = &world->plan;
    if (!world->trace.out)
        return;
    fprintf(world->trace.out,
            "seed %" PRIu64
            ": %u masters, %u servers, %u clients, %u resources, %s clocks\nfaults:",
            seed, plan->masters, plan->servers, plan->clients, plan->resources,
            plan->sane ? "sane" : "wild");
    for (unsigned i = 0; i < SIM_FAULTS; i++)
        if (plan->permille[i] > 0)
            fprintf(world->trace.out, " %s", sim_fault_name((enum sim_fault)i));
    fputc('\n', world->trace.out);
}

static void start(struct sim_world *world, uint64_t seed, unsigned masters, FILE *out)
{
    world->now_us = 0;
    world->over = false;
    world->trace = (struct sim_trace){.out = out};
    struct sim_rng rng;
    sim_rng_init(&rng, seed, STREAM_PLAN);
    sim_plan_draw(&world->plan, &rng, masters);
    say_plan(world, seed);
    sim_chaos_init(&world->chaos, &world->plan, seed);
    sim_rng_init(&world->rng, seed, STREAM_CLIENTS);
    sim_heap_init(&world->heap);
    sim_check_init(&world->check, world->plan.sane);
    memset(world->accounts, 0, sizeof(world->accounts));
    start_masters(world, &rng);
    for (unsigned s = 0; s < world->plan.servers; s++)
        sim_server_start(world, s, seed);
    sim_network_init(&world->network);
    sim_links_start(world);
    for (unsigned c = 0; c < world->plan.clients; c++)
        sim_client_start(world, c);
    schedule_plain(world, world->plan.fault_us, SIM_EVENT_FAULT);
    schedule_plain(world, HEAL_LATEST_US, SIM_EVENT_HEAL);
}

/* ---- what goes wrong now and then ------------------------------------------------------------ */

static void restart_master(struct sim_world *world, unsigned i)
{
    struct sim_master *master = &world->masters[i];
    master->run_id++;
    SIM_SAY(world, "master %u restarts", i);
    for (unsigned s = 0; s < world->plan.servers; s++)
        sim_link_break(world, s, i, false);
}

static void cut_off(struct sim_world *world, unsigned s)
{
    uint64_t until_us = world->now_us + sim_chaos_outage_us(&world->chaos);
    uint32_t set = sim_chaos_pick(&world->chaos, UINT32_C(1) << world->plan.masters);
    for (unsigned i = 0; i < world->plan.masters; i++)
        if (set >> i & 1)
            sim_link_cut(world, s, i, until_us);
}

static void fault(struct sim_world *world)
{
    struct sim_chaos *chaos = &world->chaos;
    unsigned i = sim_chaos_pick(chaos, world->plan.masters);
    unsigned s = sim_chaos_pick(chaos, world->plan.servers);
    if (sim_chaos_strikes(chaos, SIM_FAULT_MASTER_RESTART))
        restart_master(world, i);
    if (sim_chaos_strikes(chaos, SIM_FAULT_CUT))
        cut_off(world, s);
    if (!chaos->healed)
        schedule_plain(world, world->plan.fault_us, SIM_EVENT_FAULT);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void heal(struct sim_world *world)
{
    if (world->chaos.healed)
        return;
    SIM_SAY(world, "all is well from now on");
    sim_chaos_heal(&world->chaos);
    world->plan.delay_high_us = CALM_DELAY_US;
    sim_links_heal(world);
    uint64_t after_us = CALM_US + world->plan.slow_us + 2 * world->plan.outage_us;
    for (unsigned r = 0; r < world->plan.resources; r++, after_us += PROBE_US) {
        struct sim_event event = {.kind = SIM_EVENT_PROBE, .id = r};
        sim_world_schedule(world, after_us, &event);
    }
    schedule_plain(world, after_us, SIM_EVENT_FINISH);
}

static void heal_if_clients_are_done(struct sim_world *world)
{
    for (unsigned c = 0; c < world->plan.clients; c++)
        if (world->clients[c].state != SIM_CLIENT_DONE)
            return;
    heal(world);
}

static void probe(struct sim_world *world, uint32_t resource)
{
    sim_check_all_answered(&world->check);
    if (sim_check_ok(&world->check))
        sim_client_probe(world, resource, resource % world->plan.servers);
}

static void finish(struct sim_world *world)
{
    sim_check_all_answered(&world->check);
    for (unsigned s = 0; s < world->plan.servers; s++)
        if (fence_core_calls(world->servers[s].core) > 0)
            sim_check_fail(&world->check, "server %u is still busy after its last answer", s);
    world->over = true;
}

/* ---- in between ------------------------------------------------------------------------------ */

static void act(struct sim_world *world, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CALL:
        sim_server_call(world, event->server, &world->check.calls[event->id]);
        break;
    case SIM_EVENT_TICK:
        sim_server_tick(world, event->server);
        break;
    case SIM_EVENT_ANSWER:
        sim_client_answered(world, event->client, &world->check.calls[event->id]);
        break;
    case SIM_EVENT_CLIENT:
        if (event->id == world->clients[event->client].turn)
            sim_client_act(world, event->client);
        heal_if_clients_are_done(world);
        break;
    case SIM_EVENT_FAULT:
        fault(world);
        break;
    case SIM_EVENT_HEAL:
        heal(world);
        break;
    case SIM_EVENT_PROBE:
        probe(world, event->id);
        break;
    case SIM_EVENT_FINISH:
        finish(world);
        break;
    case SIM_EVENT_REQUEST:
    case SIM_EVENT_REPLY:
        sim_network_act(world, event);
        break;
    default:
        sim_link_act(world, event);
        break;
    }
}

/* Until when the process that @event happens to is stopped; a past time: it runs. */
static uint64_t stopped_until_us(const struct sim_world *world, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CALL:
    case SIM_EVENT_REPLY:
    case SIM_EVENT_TICK:
    case SIM_EVENT_CONNECT:
    case SIM_EVENT_FACTS:
    case SIM_EVENT_DOWN:
    case SIM_EVENT_CLOSED:
        return world->servers[event->server].paused_until_us;
    case SIM_EVENT_REQUEST:
    case SIM_EVENT_HANDSHAKE:
    case SIM_EVENT_RESTAMP:
        return world->masters[event->master].stopped_until_us;
    default:
        return 0;
    }
}

/* Never shortens an outage: what was put off until its end would be overtaken. */
static void stop_for_a_while(struct sim_world *world, uint64_t *until_us)
{
    uint64_t new_us = world->now_us + sim_chaos_outage_us(&world->chaos);
    if (*until_us < new_us)
        *until_us = new_us;
}

/* A process may stop just where a message reaches it. */
static void perhaps_stop(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_REQUEST &&
        sim_chaos_strikes(&world->chaos, SIM_FAULT_MASTER_STOP)) {
        stop_for_a_while(world, &world->masters[event->master].stopped_until_us);
        SIM_SAY(world, "master %u stops", event->master);
    }
    if (event->kind == SIM_EVENT_REPLY &&
        sim_chaos_strikes(&world->chaos, SIM_FAULT_SERVER_PAUSE)) {
        stop_for_a_while(world, &world->servers[event->server].paused_until_us);
        SIM_SAY(world, "server %u stops", event->server);
    }
}

/* A process that goes on may look at its timers first, or at what has arrived. */
static void put_off(struct sim_world *world, const struct sim_event *event, uint64_t until_us)
{
    if (event->kind == SIM_EVENT_TICK)
        until_us += sim_chaos_pick(&world->chaos, TIMERS_LATE_US);
    sim_heap_put_off(&world->heap, event, until_us);
}

static void play(struct sim_world *world)
{
    struct sim_event event;
    for (uint32_t events = 0; !world->over && sim_check_ok(&world->check); events++) {
        if (events == EVENTS_MAX) {
            sim_check_fail(&world->check, "no end after %u events", (unsigned)EVENTS_MAX);
            return;
        }
        bool any = sim_heap_pop(&world->heap, &event);
        assert(any);
        world->now_us = event.at_us;
        perhaps_stop(world, &event);
        uint64_t until_us = stopped_until_us(world, &event);
        if (until_us > world->now_us) {
            put_off(world, &event, until_us);
            continue;
        }
        sim_trace_mix(&world->trace, event.at_us << 8 | event.kind);
        world->stats.events++;
        act(world, &event);
    }
}

uint64_t sim_world_run(struct sim_world *world, uint64_t seed, unsigned masters, FILE *out)
{
    start(world, seed, masters, out);
    play(world);
    if (out && !sim_check_ok(&world->check))
        sim_trace_say(&world->trace, world->now_us, "VIOLATION: %s", world->check.violation);
    for (unsigned s = 0; s < world->plan.servers; s++)
        sim_server_stop(world, s);
    return world->trace.hash;
}
