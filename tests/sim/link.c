#include "tests/sim/link.h"

#include "tests/sim/world.h"

#include <string.h>

enum {
    BACKOFF_LOW_US = 1000,
    BACKOFF_HIGH_US = 50 * 1000,
    HANDSHAKE_DEADLINE_US = 100 * 1000,
};

/* Why a DOWN event was scheduled, in its id. */
enum {
    DOWN_NOTICED,
    DOWN_NO_HANDSHAKE, /* void if the handshake ended meanwhile */
};

struct sim_link *sim_link_of(struct sim_world *world, unsigned s, unsigned i)
{
    return &world->links[s][i];
}

/* Schedules an event of the connection that stands. */
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

/* ---- opening and closing --------------------------------------------------------------------- */

static void connect_after(struct sim_world *world, unsigned s, unsigned i, uint64_t after_us)
{
    sim_link_schedule(world, after_us, SIM_EVENT_CONNECT, s, i, 0);
}

static void close_link(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    link->state = SIM_LINK_CLOSED;
    link->generation++;
    link->request_us = link->reply_us = 0;
}

static uint64_t backoff_us(struct sim_world *world)
{
    return BACKOFF_LOW_US + sim_chaos_pick(&world->chaos, BACKOFF_HIGH_US - BACKOFF_LOW_US);
}

void sim_links_start(struct sim_world *world)
{
    memset(world->links, 0, sizeof(world->links));
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++) {
            struct sim_link *link = sim_link_of(world, s, i);
            link->first = SIM_NO_MESSAGE;
            link->slowness = sim_chaos_pick(&world->chaos, world->plan.slowness + 1);
            connect_after(world, s, i, sim_chaos_pick(&world->chaos, BACKOFF_LOW_US));
        }
}

static void on_down(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->generation != event->generation)
        return;
    if (event->id == DOWN_NO_HANDSHAKE && link->state != SIM_LINK_SHAKING)
        return;
    world->stats.connections_down++;
    SIM_SAY(world, "server %u lost master %u", s, i);
    struct fence_event down = {
        .kind = FENCE_EVENT_DOWN,
        .master = i,
        .reason = FENCE_REASON_UNREACHABLE,
    };
    sim_server_step(world, s, &down);
    close_link(world, s, i);
    sim_network_lose_all(world, s, i);
    connect_after(world, s, i, backoff_us(world));
}

void sim_link_reset(struct sim_world *world, unsigned s, unsigned i)
{
    SIM_SAY(world, "server %u resets its connection to master %u", s, i);
    close_link(world, s, i);
    sim_link_schedule(world, 0, SIM_EVENT_CLOSED, s, i, 0);
    connect_after(world, s, i, backoff_us(world));
}

/* ---- handshakes ------------------------------------------------------------------------------ */

static void shake_hands(struct sim_world *world, unsigned s, unsigned i)
{
    sim_link_of(world, s, i)->state = SIM_LINK_SHAKING;
    sim_link_schedule(world, sim_chaos_delay_us(&world->chaos, 0), SIM_EVENT_HANDSHAKE, s, i, 0);
    sim_link_schedule(world, HANDSHAKE_DEADLINE_US, SIM_EVENT_DOWN, s, i, DOWN_NO_HANDSHAKE);
}

static void on_connect(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    if (sim_link_of(world, s, i)->cut_until_us <= world->now_us) {
        shake_hands(world, s, i);
        return;
    }
    world->stats.connects_failed++;
    struct fence_event down = {
        .kind = FENCE_EVENT_DOWN,
        .master = i,
        .reason = FENCE_REASON_UNREACHABLE,
    };
    sim_server_step(world, s, &down);
    connect_after(world, s, i, backoff_us(world));
}

static void on_handshake(struct sim_world *world, const struct sim_event *event)
{
    if (sim_link_of(world, event->server, event->master)->generation != event->generation)
        return;
    struct sim_event facts = *event;
    facts.kind = SIM_EVENT_FACTS;
    facts.id = world->masters[event->master].run_id;
    facts.marked = world->masters[event->master].marked_run_id;
    sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, 0), &facts);
}

static void hex_id(char ret_text[static FENCE_ID_HEX_LEN + 1], unsigned master, uint32_t start)
{
    memset(ret_text, '0', FENCE_ID_HEX_LEN);
    ret_text[FENCE_ID_HEX_LEN] = '\0';
    ret_text[0] = (char)('1' + master);
    for (unsigned at = FENCE_ID_HEX_LEN - 1; start > 0; start /= 10)
        ret_text[at--] = (char)('0' + start % 10);
}

static void on_facts(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->generation != event->generation)
        return;
    link->state = SIM_LINK_OPEN;
    struct fence_event learnt = {
        .kind = FENCE_EVENT_FACTS,
        .master = i,
        .facts = {.version = 70000,
                  .durable = true,
                  .persistence = "always",
                  .marked = true,
                  .member = i + 1,
                  .marked_durable = true,
                  .marked_active = true,
                  .ttl_max_ms = world->plan.ttl_high_ms},
    };
    struct fence_facts *facts = &learnt.facts;
    hex_id(facts->fleet_id, 0, 0);
    hex_id(facts->run_id, i, event->id);
    hex_id(facts->marked_run_id, i, event->marked);
    for (unsigned j = 0; j < world->plan.masters; j++)
        facts->view.incarnation[j] = INT64_C(1) << FENCE_INCARNATION_RANDOM_BITS;
    sim_server_step(world, s, &learnt);
}

void sim_link_restamp(struct sim_world *world, unsigned s, unsigned i)
{
    sim_link_of(world, s, i)->state = SIM_LINK_SHAKING;
    sim_link_schedule(world, sim_chaos_delay_us(&world->chaos, 0), SIM_EVENT_RESTAMP, s, i,
                      world->masters[i].run_id);
}

static void on_restamp(struct sim_world *world, const struct sim_event *event)
{
    struct sim_master *master = &world->masters[event->master];
    if (master->run_id == event->id)
        master->marked_run_id = master->run_id;
    if (sim_link_of(world, event->server, event->master)->generation == event->generation)
        shake_hands(world, event->server, event->master);
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
    if (link->state == SIM_LINK_OPEN)
        link->state = SIM_LINK_BROKEN;
    if (!half_open)
        sim_link_schedule(world, sim_chaos_delay_us(&world->chaos, 0), SIM_EVENT_DOWN, s, i,
                          DOWN_NOTICED);
}

void sim_link_cut(struct sim_world *world, unsigned s, unsigned i, uint64_t until_us)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->cut_until_us < until_us)
        link->cut_until_us = until_us;
    sim_link_break(world, s, i, sim_chaos_pick(&world->chaos, 2) == 0);
}

void sim_links_heal(struct sim_world *world)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++) {
            struct sim_link *link = sim_link_of(world, s, i);
            link->cut_until_us = 0;
            link->slowness = 0;
            if (link->state == SIM_LINK_BROKEN)
                sim_link_schedule(world, sim_chaos_delay_us(&world->chaos, 0), SIM_EVENT_DOWN, s, i,
                                  DOWN_NOTICED);
        }
}

void sim_link_act(struct sim_world *world, const struct sim_event *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CONNECT:
        on_connect(world, event);
        break;
    case SIM_EVENT_HANDSHAKE:
        on_handshake(world, event);
        break;
    case SIM_EVENT_FACTS:
        on_facts(world, event);
        break;
    case SIM_EVENT_RESTAMP:
        on_restamp(world, event);
        break;
    case SIM_EVENT_DOWN:
        on_down(world, event);
        break;
    case SIM_EVENT_CLOSED:
        sim_network_lose_all(world, event->server, event->master);
        break;
    default:
        break;
    }
}
