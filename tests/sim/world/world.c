#include "tests/sim/world/world.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/faults.h"
#include "tests/sim/world/healing.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM = 1, /* of the seed's random numbers */

    HEAL_LATEST_US = 60 * 1000 * 1000, /* a history is longer only if somebody waits in vain */
    EVENTS_MAX = 200 * 1000,
};

/* The cores of each world are large and soon gone: their memory is used again, not asked for anew.
 */
struct sim_world *sim_world_new(void)
{
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
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
    sim_scene_scheduled(world, &at);
}

void sim_world_machine_text(const struct sim_world *world, unsigned machine,
                            char ret_text[static SIM_MACHINE_TEXT_MAX])
{
    unsigned i = world->machines[machine].member;
    (void)snprintf(ret_text, SIM_MACHINE_TEXT_MAX, "master %u%s", i,
                   world->address[i] == machine ? "" : " (the old machine)");
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void start_masters(struct sim_world *world, struct sim_rng *rng)
{
    const struct sim_plan *plan = &world->plan;
    world->machines_count = plan->masters;
    for (unsigned i = 0; i < plan->masters; i++) {
        world->address[i] = i;
        struct sim_master *master = &world->machines[i];
        *master = (struct sim_master){
            .clock = {.offset_us = sim_rng_below(rng, 1000 * 1000),
                      .rate_ppm = sim_plan_draw_rate(plan, rng)},
            .slots = plan->slots,
            .resources = plan->shared ? SIM_RESOURCES_MAX : plan->resources,
            .extensions = plan->extensions,
            .majority = fence_majority(plan->masters),
            .member = i,
            .run = ++world->runs,
            .lineage = ++world->lineages,
            .first = world->lineages,
            .harmed = world->lineages,
            .usual = sim_plan_draw_persistence(plan, rng),
        };
        master->persistence = master->usual;
        master->memory.marker = (struct sim_marker){
            .present = !plan->blank,
            .active = true,
            .durable = master->persistence == SIM_ALWAYS,
            .member = i,
            .run = master->run,
            .lineage = master->lineage,
            .ttl_max_ms = plan->ttl_high_ms,
            .readers = plan->resources,
        };
        for (unsigned j = 0; !plan->blank && j < plan->masters; j++)
            master->memory.marker.view.incarnation[j] = INT64_C(1)
                                                        << FENCE_INCARNATION_MEMORY_SHIFT;
        sim_master_save(master);
    }
}

static void say_plan(const struct sim_world *world, uint64_t seed)
{
    static const char *const persistence[] = {
        [SIM_ALWAYS] = "always", [SIM_EVERYSEC] = "everysec", [SIM_NONE] = "none"};
    const struct sim_plan *plan = &world->plan;
    FILE *out = world->trace.out;
    if (!out)
        return;
    fprintf(out,
            "seed %" PRIu64 ": %s, %u servers, %u clients, %u resources, %s clocks\nmasters:", seed,
            sim_world_kind_name(plan->kind), plan->servers, plan->clients, plan->resources,
            plan->sane ? "sane" : "wild");
    for (unsigned i = 0; i < plan->masters; i++)
        fprintf(out, " %s", persistence[world->machines[i].persistence]);
    fprintf(out, "\nfaults:");
    for (unsigned i = 0; i < SIM_FAULTS; i++)
        if (plan->permille[i] > 0)
            fprintf(out, " %s", sim_fault_name((enum sim_fault)i));
    fputc('\n', out);
}

static void start(struct sim_world *world, uint64_t seed, FILE *out)
{
    world->now_us = 0;
    world->events = 0;
    world->over = world->struck = world->struck_again = false;
    world->runs = world->lineages = 0;
    world->trace = (struct sim_trace){.out = out};
    sim_rng_init(&world->rng, seed, STREAM);
    sim_chaos_init(&world->chaos, &world->plan, seed);
    sim_heap_init(&world->heap);
    sim_check_init(&world->check, &world->plan);
    sim_waiters_init(&world->waiters);
    sim_watched_init(&world->watched);
    memset(&world->freedom, 0, sizeof(world->freedom));
    memset(world->accounts, 0, sizeof(world->accounts));
    memset(world->admitted, 0, sizeof(world->admitted));
    start_masters(world, &world->rng);
    sim_actions_start(world, seed);
    sim_scene_begin(world);
    say_plan(world, seed);
    sim_network_init(&world->network);
    sim_network_lie(world, seed);
    for (unsigned s = 0; s < world->plan.servers; s++) {
        sim_server_start(world, s, seed);
        sim_links_start(world, s, seed);
    }
    for (unsigned c = 0; c < world->plan.clients; c++)
        sim_client_start(world, c, seed);
    sim_listing_start(world, seed);
    sim_faults_start(world);
    sim_operators_init(world, seed);
    world->lost_again = false;
    if (world->plan.blank) {
        sim_check_lost(&world->check); /* nothing can be granted yet */
        sim_operator_begin(world, false);
    }
    struct sim_event heal = {.kind = SIM_EVENT_HEAL};
    sim_world_schedule(world, HEAL_LATEST_US, &heal);
}

static void heal_if_clients_are_done(struct sim_world *world)
{
    for (unsigned c = 0; c < world->plan.clients; c++)
        if (world->clients[c].state != SIM_CLIENT_DONE)
            return;
    sim_healing_begin(world);
}

/* ---- in between ------------------------------------------------------------------------------ */

static void act(struct sim_world *world, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CALL:
        sim_server_call(world, event->server, &world->check.calls[event->id]);
        break;
    case SIM_EVENT_LEFT:
        sim_server_left(world, event->server, &world->check.calls[event->id]);
        break;
    case SIM_EVENT_FREED:
        sim_server_freed(world, event->server, event->id, event->generation);
        break;
    case SIM_EVENT_TICK:
        sim_server_tick(world, event->server);
        break;
    case SIM_EVENT_LISTING_TICK:
        sim_listing_tick(world, event->server);
        break;
    case SIM_EVENT_LIST:
        sim_listing_act(world);
        break;
    case SIM_EVENT_ANSWER:
        sim_client_answered(world, event->client, &world->check.calls[event->id]);
        heal_if_clients_are_done(world); /* the last may have asked as often as it may */
        break;
    case SIM_EVENT_CLIENT:
        if (event->id == world->clients[event->client].turn)
            sim_client_act(world, event->client);
        heal_if_clients_are_done(world);
        break;
    case SIM_EVENT_REQUEST:
    case SIM_EVENT_REPLY:
        sim_network_act(world, event);
        break;
    case SIM_EVENT_CONNECT:
    case SIM_EVENT_DOWN:
    case SIM_EVENT_CLOSED:
    case SIM_EVENT_LOOK:
        sim_link_act(world, event);
        break;
    case SIM_EVENT_FAULT:
        sim_faults_act(world);
        break;
    case SIM_EVENT_MEND:
        sim_faults_mend(world, event->id);
        break;
    case SIM_EVENT_DISASTER:
        sim_faults_disaster(world);
        break;
    case SIM_EVENT_HEAL:
        sim_healing_begin(world);
        break;
    case SIM_EVENT_BOOTSTRAP:
        sim_operator_act(world, event);
        break;
    default:
        sim_healing_act(world, event);
        break;
    }
}

/* Until when the process that @event happens to is stopped; a past time: it runs. */
static uint64_t stopped_until_us(const struct sim_world *world, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CALL:
    case SIM_EVENT_LEFT:
    case SIM_EVENT_FREED:
    case SIM_EVENT_REPLY:
    case SIM_EVENT_TICK:
    case SIM_EVENT_LISTING_TICK:
    case SIM_EVENT_CONNECT:
    case SIM_EVENT_DOWN:
    case SIM_EVENT_CLOSED:
    case SIM_EVENT_LOOK:
        return world->servers[event->server].paused_until_us;
    case SIM_EVENT_REQUEST:
        return world->machines[sim_network_machine(&world->network, event)].stopped_until_us;
    default:
        return 0;
    }
}

/* Never shortens an outage: what was put off until its end would be overtaken. */
static void stop_for_a_while(struct sim_world *world, enum sim_fault fault, uint64_t *until_us)
{
    uint64_t new_us = world->now_us + sim_chaos_outage_us(&world->chaos, fault);
    if (*until_us < new_us)
        *until_us = new_us;
}

/* A process may stop just where a message reaches it. */
static void perhaps_stop(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_REQUEST &&
        sim_chaos_strikes(&world->chaos, SIM_FAULT_MASTER_STOP)) {
        unsigned machine = sim_network_machine(&world->network, event);
        stop_for_a_while(world, SIM_FAULT_MASTER_STOP, &world->machines[machine].stopped_until_us);
        SIM_SAY(world, "master %u stops", event->master);
    }
    if (event->kind == SIM_EVENT_REPLY &&
        sim_chaos_strikes(&world->chaos, SIM_FAULT_SERVER_PAUSE)) {
        stop_for_a_while(world, SIM_FAULT_SERVER_PAUSE,
                         &world->servers[event->server].paused_until_us);
        SIM_SAY(world, "server %u stops", event->server);
    }
}

/* A process that goes on may look at its timers first, or at what has arrived. */
static void put_off(struct sim_world *world, const struct sim_event *event, uint64_t until_us)
{
    if (event->kind == SIM_EVENT_TICK || event->kind == SIM_EVENT_LISTING_TICK)
        until_us += sim_rng_below(&world->rng, SIM_TIMERS_LATE_US);
    sim_heap_put_off(&world->heap, event, until_us);
    sim_scene_put_off(world, event, until_us);
}

static void play(struct sim_world *world)
{
    struct sim_event event;
    for (; !world->over && sim_check_ok(&world->check); world->events++) {
        if (world->events == EVENTS_MAX) {
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
        sim_scene_before(world, &event);
        act(world, &event);
        sim_scene_after(world);
    }
}

uint64_t sim_world_play(struct sim_world *world, const struct sim_plan *plan, uint64_t seed,
                        FILE *out)
{
    world->plan = *plan;
    start(world, seed, out);
    play(world);
    if (!sim_check_ok(&world->check))
        SIM_SAY(world, "VIOLATION: %s", world->check.violation);
    for (unsigned s = 0; s < world->plan.servers; s++)
        sim_server_stop(world, s);
    return world->trace.hash;
}

uint64_t sim_world_run(struct sim_world *world, uint64_t seed, unsigned masters, FILE *out)
{
    struct sim_plan plan = sim_plan_of_seed(seed, masters);
    return sim_world_play(world, &plan, seed, out);
}
