#include "tests/sim/world/link.h"

#include "tests/sim/world/world.h"

#include <assert.h>

enum {
    STREAM = 128,      /* part of the seed's random numbers: this and as many as there are links */
    BACKOFF_US = 1000, /* after the first failure; it doubles with each */
    BACKOFF_DOUBLINGS = 8,
    TOLD = 3, /* failures in a row that a trace tells of */
    HANDSHAKE_DEADLINE_US = 100 * 1000,
    PROBE_US = 500 * 1000,

    NOTICED = 0, /* the id of a DOWN event; else the handshake that it ends if still unanswered */
};

struct sim_link *sim_link_of(struct sim_world *world, unsigned s, unsigned i)
{
    return &world->links[s][i];
}

void sim_link_schedule(struct sim_world *world, uint64_t after_us, enum sim_event_kind kind,
                       unsigned s, unsigned i, uint32_t id)
{
    struct sim_event event = {
        .kind = (uint8_t)kind,
        .server = (uint8_t)s,
        .master = (uint8_t)i,
        .id = id,
        .generation = sim_link_of(world, s, i)->generation,
    };
    sim_world_schedule(world, after_us, &event);
}

static uint64_t delay_us(struct sim_world *world, struct sim_link *link)
{
    return sim_chaos_delay_us(&world->chaos, &link->rng, 0);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void connect_after(struct sim_world *world, unsigned s, unsigned i, uint64_t after_us)
{
    sim_link_schedule(world, after_us, SIM_EVENT_CONNECT, s, i, 0);
}

static void connect_again(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    unsigned doublings = link->failures < BACKOFF_DOUBLINGS ? link->failures : BACKOFF_DOUBLINGS;
    uint32_t backoff_us = (uint32_t)BACKOFF_US << doublings;
    link->failures++;
    connect_after(world, s, i, sim_rng_between(&link->rng, backoff_us / 2, backoff_us));
}

static void close_link(struct sim_link *link)
{
    link->state = SIM_LINK_CLOSED;
    link->generation++;
    link->request_us = link->reply_us = 0;
    link->shakes = link->shaken = 0;
}

void sim_links_start(struct sim_world *world, unsigned s, uint64_t seed)
{
    for (unsigned i = 0; i < world->plan.masters; i++) {
        struct sim_link *link = sim_link_of(world, s, i);
        close_link(link);
        sim_rng_init(&link->rng, seed, STREAM + s * FENCE_MASTERS_MAX + i);
        link->generation = 0;
        link->first = SIM_NO_MESSAGE;
        link->executed = 0;
        link->cut_until_us = 0;
        link->failures = 0;
        link->slowness = sim_rng_below(&link->rng, world->plan.slowness + 1);
        connect_after(world, s, i, sim_rng_below(&link->rng, BACKOFF_US));
    }
    assert(world->plan.masters > 0);
    if (world->plan.partial && s >= world->plan.quiet)
        sim_link_of(world, s, (unsigned)(seed + s) % world->plan.masters)->cut_until_us =
            FENCE_NEVER;
}

static void tell_down(struct sim_world *world, unsigned s, unsigned i)
{
    struct fence_event down = {
        .kind = FENCE_EVENT_DOWN,
        .master = i,
        .reason = FENCE_REASON_UNREACHABLE,
    };
    sim_server_step(world, s, &down);
}

void sim_link_fail(struct sim_world *world, unsigned s, unsigned i)
{
    world->stats.connections_down++;
    SIM_SAY(world, "server %u lost master %u", s, i);
    close_link(sim_link_of(world, s, i));
    tell_down(world, s, i);
    sim_network_lose_all(world, s, i);
    connect_again(world, s, i);
}

static void on_down(struct sim_world *world, const struct sim_event *event)
{
    const struct sim_link *link = sim_link_of(world, event->server, event->master);
    if (link->generation != event->generation)
        return;
    if (event->id != NOTICED && link->shaken >= event->id)
        return;
    sim_link_fail(world, event->server, event->master);
}

void sim_link_reset(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->state == SIM_LINK_CLOSED)
        return;
    if (link->failures < TOLD)
        SIM_SAY(world, "server %u resets its connection to master %u", s, i);
    close_link(link);
    sim_link_schedule(world, 0, SIM_EVENT_CLOSED, s, i, 0);
    connect_again(world, s, i);
}

static void on_connect(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->generation != event->generation)
        return;
    if (link->cut_until_us > world->now_us) {
        world->stats.connects_failed++;
        tell_down(world, s, i);
        connect_again(world, s, i);
        return;
    }
    link->state = SIM_LINK_SHAKING;
    link->machine = world->address[i];
    sim_listed_connected(world, i);
    sim_link_shake(world, s, i);
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static void tell_positions(struct sim_world *world, unsigned s, struct sim_request *request)
{
    const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
    request->tells = fleet->fleet_id[0] != '\0';
    request->positions = fleet->known;
}

void sim_link_shake(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    struct sim_request request = {.ask = SIM_ASK_FACTS, .member = i};
    tell_positions(world, s, &request);
    link->shakes++;
    sim_network_send(world, s, i, &request);
    sim_link_schedule(world, HANDSHAKE_DEADLINE_US, SIM_EVENT_DOWN, s, i, link->shakes);
}

void sim_link_restamp(struct sim_world *world, unsigned s, unsigned i)
{
    const struct fence_fleet *fleet = fence_core_fleet(world->servers[s].core);
    struct sim_request request = sim_restamp_request(&fleet->master[i].facts);
    request.member = i;
    sim_network_send(world, s, i, &request);
    sim_link_shake(world, s, i);
}

static bool lost_writes(const struct sim_reply *reply)
{
    const struct fence_facts facts = sim_facts(reply);
    return facts.marked && fence_facts_lost_writes(&facts, facts.member - 1);
}

void sim_link_learn(struct sim_world *world, unsigned s, unsigned i, const struct sim_reply *reply)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->state == SIM_LINK_SHAKING) {
        link->state = SIM_LINK_OPEN;
        link->probing = false;
        sim_link_schedule(world, PROBE_US, SIM_EVENT_LOOK, s, i, 0);
    }
    link->shaken++;
    link->lost_writes = lost_writes(reply);
    struct fence_event learnt = {
        .kind = FENCE_EVENT_FACTS,
        .master = i,
        .facts = sim_facts(reply),
    };
    sim_server_step(world, s, &learnt);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static void on_look(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    struct sim_link *link = sim_link_of(world, s, i);
    struct sim_request request = {.ask = SIM_ASK_PROBE, .member = i};
    if (link->generation != event->generation)
        return;
    sim_link_schedule(world, PROBE_US, SIM_EVENT_LOOK, s, i, 0);
    if (link->probing || !sim_network_can_ask(world, s, i))
        return;
    link->probing = true;
    tell_positions(world, s, &request);
    sim_network_send(world, s, i, &request);
}

void sim_link_looked(struct sim_world *world, unsigned s, unsigned i, const struct sim_reply *reply)
{
    struct sim_link *link = sim_link_of(world, s, i);
    struct fence_event heard = {.kind = FENCE_EVENT_HEARD, .master = i};
    heard.heard.positions = reply->marker.heard;
    heard.heard.writes = reply->marker.writes;
    link->probing = false;
    if (lost_writes(reply) && !link->lost_writes)
        sim_link_fail(world, s, i);
    else
        sim_server_step(world, s, &heard);
}

/* ---- faults ---------------------------------------------------------------------------------- */

void sim_link_break(struct sim_world *world, unsigned s, unsigned i, bool half_open)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->state != SIM_LINK_OPEN && link->state != SIM_LINK_SHAKING)
        return;
    SIM_SAY(world, "the connection of server %u to master %u breaks%s", s, i,
            half_open ? ", unnoticed" : "");
    sim_network_cut_short(world, link);
    link->state = SIM_LINK_BROKEN;
    if (!half_open)
        sim_link_schedule(world, delay_us(world, link), SIM_EVENT_DOWN, s, i, NOTICED);
}

void sim_link_cut(struct sim_world *world, unsigned s, unsigned i, uint64_t until_us)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->cut_until_us < until_us)
        link->cut_until_us = until_us;
    sim_link_break(world, s, i, sim_chaos_pick(&world->chaos, SIM_FAULT_CUT, 2) == 0);
}

void sim_links_forget(struct sim_world *world, unsigned s)
{
    for (unsigned i = 0; i < world->plan.masters; i++) {
        struct sim_link *link = sim_link_of(world, s, i);
        sim_network_cut_short(world, link);
        sim_network_forget(world, link);
        close_link(link);
        link->failures = 0;
        connect_again(world, s, i);
    }
}

void sim_links_heal(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++) {
            struct sim_link *link = sim_link_of(world, s, i);
            link->cut_until_us = 0;
            link->slowness = 0;
            if (link->state == SIM_LINK_BROKEN)
                sim_link_schedule(world, delay_us(world, link), SIM_EVENT_DOWN, s, i, NOTICED);
        }
}

void sim_link_act(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_CONNECT)
        on_connect(world, event);
    else if (event->kind == SIM_EVENT_DOWN)
        on_down(world, event);
    else if (event->kind == SIM_EVENT_LOOK)
        on_look(world, event);
    else if (sim_link_of(world, event->server, event->master)->generation == event->generation)
        sim_network_lose_all(world, event->server, event->master);
}
