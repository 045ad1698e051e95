#include "tests/sim/network.h"

#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>

/* Per mille: from this message on, none of those on their way arrives. */
enum {
    CUTS_REQUESTS = 250,
    CUTS_REPLIES = 400,
};

void sim_network_init(struct sim_network *network)
{
    network->used = 0;
    network->free = SIM_NO_MESSAGE;
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint32_t new_message(struct sim_network *network)
{
    uint32_t m = network->free;
    if (m != SIM_NO_MESSAGE) {
        network->free = network->messages[m].next;
    } else {
        assert(network->used < SIM_MESSAGES_MAX);
        m = network->used++;
    }
    return m;
}

static void free_if_done(struct sim_network *network, uint32_t m)
{
    struct sim_message *message = &network->messages[m];
    if (message->awaited || message->on_wire)
        return;
    message->next = network->free;
    network->free = m;
}

static void enqueue(struct sim_network *network, struct sim_link *link, uint32_t m)
{
    network->messages[m].next = SIM_NO_MESSAGE;
    if (link->first == SIM_NO_MESSAGE)
        link->first = m;
    else
        network->messages[link->last].next = m;
    link->last = m;
}

static uint32_t dequeue(struct sim_network *network, struct sim_link *link)
{
    uint32_t m = link->first;
    assert(m != SIM_NO_MESSAGE && network->messages[m].awaited);
    link->first = network->messages[m].next;
    network->messages[m].awaited = false;
    return m;
}

/* ---- requests and replies -------------------------------------------------------------------- */

/* When something put on a first-in-first-out way of @link now arrives; *@latest_us is the latest
 * arrival there. */
static uint64_t arrival_us(struct sim_world *world, const struct sim_link *link,
                           uint64_t *latest_us)
{
    uint64_t at_us = world->now_us + sim_chaos_delay_us(&world->chaos, link->slowness);
    if (at_us < *latest_us)
        at_us = *latest_us;
    *latest_us = at_us;
    return at_us;
}

static void put_on_wire(struct sim_world *world, unsigned s, unsigned i, uint32_t m, uint64_t at_us,
                        enum sim_event_kind kind)
{
    world->network.messages[m].on_wire = true;
    sim_link_schedule(world, at_us - world->now_us, kind, s, i, m);
}

static void duplicate(struct sim_world *world, unsigned s, unsigned i,
                      const struct sim_message *original, uint64_t at_us)
{
    uint32_t m = new_message(&world->network);
    struct sim_message *copy = &world->network.messages[m];
    *copy = *original;
    copy->awaited = false;
    copy->duplicate = true;
    put_on_wire(world, s, i, m, at_us + sim_chaos_lateness_us(&world->chaos), SIM_EVENT_REQUEST);
}

void sim_network_send(struct sim_world *world, unsigned s, unsigned i,
                      const struct fence_request *request)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (link->state == SIM_LINK_CLOSED || link->state == SIM_LINK_SHAKING) {
        sim_check_fail(&world->check, "server %u asks master %u, which is not connected", s, i);
        return;
    }
    uint32_t m = new_message(&world->network);
    struct sim_message *message = &world->network.messages[m];
    *message = (struct sim_message){
        .request = {.kind = request->kind,
                    .resource = sim_resource_number(request->resource),
                    .lock = sim_lock_number(request->lock_id),
                    .ttl_ms = request->ttl_ms,
                    .tag = request->tag,
                    .attempt = request->attempt,
                    .token = request->token},
        .generation = link->generation,
        .awaited = true,
    };
    sim_trace_mix(&world->trace, request->attempt ^ (uint64_t)request->token << 8 ^ m);
    enqueue(&world->network, link, m);
    if (link->state == SIM_LINK_BROKEN)
        return;
    uint64_t at_us = arrival_us(world, link, &link->request_us);
    put_on_wire(world, s, i, m, at_us, SIM_EVENT_REQUEST);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_DUPLICATE))
        duplicate(world, s, i, message, at_us);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_BREAK))
        sim_link_break(world, s, i, false);
    else if (sim_chaos_strikes(&world->chaos, SIM_FAULT_HALF_OPEN))
        sim_link_break(world, s, i, true);
}

static void say_executed(const struct sim_world *world, const struct sim_event *event,
                         const struct sim_request *request, const struct sim_reply *reply,
                         bool again)
{
    SIM_SAY(world,
            "  master %u: %s%s r%" PRIu32 " lock %" PRIu32 " attempt %04x token %" PRId64
            " of server %u: %s %" PRId64,
            event->master, again ? "again " : "", sim_request_name(request->kind),
            request->resource, request->lock, (unsigned)(request->attempt & 0xffff), request->token,
            event->server, sim_reply_name(reply->kind), reply->number);
}

/* Executes @request at the master of @event. @again: a copy of what was sent once. */
static struct sim_reply execute(struct sim_world *world, const struct sim_event *event,
                                const struct sim_request *request, bool again)
{
    struct sim_master *master = &world->masters[event->master];
    struct sim_stats *stats = &world->stats;
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_VANISH))
        stats->locks_vanished += sim_master_expire(master, request->resource);
    struct sim_reply reply = sim_master_execute(master, request, world->now_us);

    stats->requests++;
    stats->duplicates_executed += again;
    stats->locked_again += again && reply.kind == FENCE_REPLY_NUMBER;
    stats->confirms_refused +=
        request->kind == FENCE_REQUEST_CONFIRM && reply.kind == FENCE_REPLY_NO;
    stats->undone += request->kind == FENCE_REQUEST_UNDO && reply.kind == FENCE_REPLY_YES;
    uint32_t slot = sim_master_slot(master, request->resource);
    sim_check_counter(&world->check, event->master, slot, master->counters[slot]);
    sim_trace_mix(&world->trace, (uint64_t)reply.number << 8 | (uint64_t)reply.kind);
    say_executed(world, event, request, &reply, again);
    return reply;
}

/* The requests of one connection, but for those that are copies anyway, may come twice: the second
 * time just before a later one. */
static void perhaps_replay(struct sim_world *world, const struct sim_event *event,
                           const struct sim_request *request)
{
    struct sim_link *link = sim_link_of(world, event->server, event->master);
    if (link->executed > 0 && sim_chaos_strikes(&world->chaos, SIM_FAULT_REPLAY)) {
        uint32_t count = link->executed < SIM_RECENT ? link->executed : SIM_RECENT;
        uint32_t which = sim_chaos_pick(&world->chaos, count);
        (void)execute(world, event, &link->recent[which], true);
    }
    link->recent[link->executed++ % SIM_RECENT] = *request;
}

static void on_request(struct sim_world *world, const struct sim_event *event)
{
    struct sim_link *link = sim_link_of(world, event->server, event->master);
    struct sim_message *message = &world->network.messages[event->id];
    message->on_wire = false;
    if (!message->request_cut) {
        if (!message->duplicate)
            perhaps_replay(world, event, &message->request);
        message->reply = execute(world, event, &message->request, message->duplicate);
        message->executed = true;
    }
    bool connected = link->generation == message->generation && link->state == SIM_LINK_OPEN;
    if (message->executed && connected && !message->duplicate) {
        uint64_t at_us = arrival_us(world, link, &link->reply_us);
        put_on_wire(world, event->server, event->master, event->id, at_us, SIM_EVENT_REPLY);
    } else {
        world->stats.executed_after_break += message->executed && !connected;
        free_if_done(&world->network, event->id);
    }
}

static void on_reply(struct sim_world *world, const struct sim_event *event)
{
    unsigned s = event->server;
    unsigned i = event->master;
    struct sim_link *link = sim_link_of(world, s, i);
    struct sim_message *message = &world->network.messages[event->id];
    message->on_wire = false;
    if (link->generation != message->generation || message->reply_cut) {
        world->stats.replies_lost++;
        free_if_done(&world->network, event->id);
        return;
    }
    assert(link->first == event->id);
    (void)dequeue(&world->network, link);
    bool held = message->reply.kind == FENCE_REPLY_HELD;
    struct fence_event arrived = {
        .kind = FENCE_EVENT_REPLY,
        .master = i,
        .reply = {.kind = message->reply.kind,
                  .tag = message->request.tag,
                  .number = message->reply.number,
                  .holder = held ? sim_lock_text(message->reply.lock) : "",
                  .owner = held ? sim_owner_text(message->reply.lock) : "",
                  .remaining_ms = message->reply.remaining_ms},
    };
    free_if_done(&world->network, event->id);
    sim_server_step(world, s, &arrived);
}

/* ---- the end of a connection ----------------------------------------------------------------- */

void sim_network_lose_all(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    while (link->first != SIM_NO_MESSAGE) {
        uint32_t m = dequeue(&world->network, link);
        struct fence_event event = {
            .kind = FENCE_EVENT_REPLY,
            .master = i,
            .reply = {.kind = FENCE_REPLY_LOST,
                      .tag = world->network.messages[m].request.tag,
                      .holder = "",
                      .owner = ""},
        };
        free_if_done(&world->network, m);
        sim_server_step(world, s, &event);
    }
}

void sim_network_cut_short(struct sim_world *world, const struct sim_link *link)
{
    bool request_cut = false;
    bool reply_cut = false;
    for (uint32_t m = link->first; m != SIM_NO_MESSAGE; m = world->network.messages[m].next) {
        struct sim_message *message = &world->network.messages[m];
        reply_cut = reply_cut || sim_chaos_pick(&world->chaos, 1000) < CUTS_REPLIES;
        if (!message->executed)
            request_cut = request_cut || sim_chaos_pick(&world->chaos, 1000) < CUTS_REQUESTS;
        message->reply_cut = reply_cut;
        message->request_cut = request_cut;
    }
}

void sim_network_act(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_REQUEST)
        on_request(world, event);
    else
        on_reply(world, event);
}
