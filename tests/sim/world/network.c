#include "tests/sim/world/network.h"

#include "tests/sim/masters/execute.h"
#include "tests/sim/masters/mutant.h"
#include "tests/sim/promises/waking.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <string.h>

enum {
    /* Per mille: from this message on, none of those on their way arrives. */
    CUTS_REQUESTS = 250,
    CUTS_REPLIES = 400,

    STREAM = 4096, /* of the seed's random numbers */
    WORLDS_WITH_A_LIAR = 20,
    LIES = 50, /* of its replies */
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

/* ---- requests -------------------------------------------------------------------------------- */

/* When something put on a first-in-first-out way of @link now arrives; *@latest_us is the latest
 * arrival there. */
static uint64_t arrival_us(struct sim_world *world, struct sim_link *link, uint64_t *latest_us)
{
    uint64_t at_us = world->now_us + sim_chaos_delay_us(&world->chaos, &link->rng, link->slowness);
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
    at_us += sim_chaos_lateness_us(&world->chaos, SIM_FAULT_DUPLICATE);
    put_on_wire(world, s, i, m, at_us, SIM_EVENT_REQUEST);
}

/* What is sent from now on does not arrive soon. In worlds with quiet servers only theirs. */
static void perhaps_lag(struct sim_world *world, unsigned s, struct sim_link *link)
{
    bool exempt = world->plan.quiet > 0 && s >= world->plan.quiet;
    if (exempt || !sim_chaos_strikes(&world->chaos, SIM_FAULT_LAG))
        return;
    uint64_t until_us =
        world->now_us + sim_chaos_pick(&world->chaos, SIM_FAULT_LAG, world->plan.slow_us);
    if (link->request_us < until_us)
        link->request_us = until_us;
}

bool sim_network_can_ask(struct sim_world *world, unsigned s, unsigned i)
{
    const struct sim_link *link = sim_link_of(world, s, i);
    return link->state != SIM_LINK_CLOSED && link->shaken > 0 && link->shaken == link->shakes;
}

static bool may_send(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_request *request)
{
    if (request->ask == SIM_ASK_FACTS || request->ask == SIM_ASK_RESTAMP)
        return sim_link_of(world, s, i)->state != SIM_LINK_CLOSED;
    return sim_network_can_ask(world, s, i);
}

void sim_network_send(struct sim_world *world, unsigned s, unsigned i,
                      const struct sim_request *request)
{
    struct sim_link *link = sim_link_of(world, s, i);
    if (!may_send(world, s, i, request)) {
        sim_check_fail(&world->check, "server %u asks master %u without a handshake", s, i);
        return;
    }
    uint32_t m = new_message(&world->network);
    struct sim_message *message = &world->network.messages[m];
    message->request = *request;
    message->generation = link->generation;
    message->machine = link->machine;
    message->run = world->machines[link->machine].run;
    message->awaited = true;
    message->on_wire = message->duplicate = message->executed = false;
    message->request_cut = message->reply_cut = false;
    sim_trace_mix(&world->trace, request->tag << 8 ^ m);
    enqueue(&world->network, link, m);
    if (link->state == SIM_LINK_BROKEN)
        return;
    if (request->ask == SIM_ASK_REJOIN && request->rejoin.step == FENCE_REJOIN_RECORD)
        perhaps_lag(world, s, link);
    uint64_t at_us = arrival_us(world, link, &link->request_us);
    put_on_wire(world, s, i, m, at_us, SIM_EVENT_REQUEST);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_DUPLICATE))
        duplicate(world, s, i, message, at_us);
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_BREAK))
        sim_link_break(world, s, i, false);
    else if (sim_chaos_strikes(&world->chaos, SIM_FAULT_HALF_OPEN))
        sim_link_break(world, s, i, true);
}

/* ---- at a master ----------------------------------------------------------------------------- */

/* A copy finds whoever is there; the original died with the process that it was sent to. */
static bool arrives(const struct sim_world *world, const struct sim_message *message)
{
    if (message->request_cut)
        return false;
    return message->duplicate || message->run == world->machines[message->machine].run;
}

static void on_request(struct sim_world *world, const struct sim_event *event)
{
    struct sim_link *link = sim_link_of(world, event->server, event->master);
    struct sim_message *message = &world->network.messages[event->id];
    message->on_wire = false;
    if (arrives(world, message)) {
        sim_execute(world, event, message);
        message->executed = true;
    }
    bool connected = link->generation == message->generation && link->state != SIM_LINK_BROKEN;
    if (message->executed && connected && !message->duplicate) {
        uint64_t at_us = arrival_us(world, link, &link->reply_us);
        put_on_wire(world, event->server, event->master, event->id, at_us, SIM_EVENT_REPLY);
    } else {
        world->stats.executed_after_break += message->executed && !connected;
        free_if_done(&world->network, event->id);
    }
}

/* ---- at a server ----------------------------------------------------------------------------- */

void sim_network_lie(struct sim_world *world, uint64_t seed)
{
    struct sim_liar *liar = &world->liar;
    sim_rng_init(&liar->rng, seed, STREAM);
    liar->lies = sim_rng_chance(&liar->rng, WORLDS_WITH_A_LIAR) && world->plan.masters > 1 &&
                 sim_plan_recovers(&world->plan);
    liar->master = sim_rng_below(&liar->rng, world->plan.masters);
}

static bool lies_now(struct sim_world *world, unsigned i)
{
    struct sim_liar *liar = &world->liar;
    return liar->lies && i == liar->master && sim_rng_chance(&liar->rng, LIES);
}

/* That view, with incarnations of all others that nothing ever had. */
static struct fence_view raise_others(const struct sim_world *world, unsigned i)
{
    struct fence_view view = world->machines[world->address[i]].memory.marker.view;
    for (unsigned j = 0; j < world->plan.masters; j++)
        if (j != i)
            view.incarnation[j] = FENCE_INCARNATION_MAX - j;
    return view;
}

static void tell_lie(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_message *message)
{
    struct fence_view view = raise_others(world, i);
    struct fence_event arrived = {
        .kind = FENCE_EVENT_REPLY,
        .master = i,
        .reply = {.kind = FENCE_REPLY_STALE, .tag = message->request.tag, .view = &view},
    };
    world->stats.lies++;
    sim_server_step(world, s, &arrived);
}

static void tell_lock_reply(struct sim_world *world, unsigned s, unsigned i,
                            const struct sim_message *message)
{
    const struct sim_reply *reply = &message->reply;
    sim_actions_heard(world, i, &message->request, reply);
    if (reply->kind == FENCE_REPLY_HELD)
        sim_waking_told(world, s, i, &message->request.lock, reply);
    struct fence_event arrived = {
        .kind = FENCE_EVENT_REPLY,
        .master = i,
        .reply = sim_lock_reply(&message->request, reply),
    };
    /* An extension hears of no label: so an extension that acquires again is told apart from an
     * acquire. */
    if (reply->kind == FENCE_REPLY_YES || reply->kind == FENCE_REPLY_SUPERSEDED)
        arrived.reply.owner = sim_owner_with_delay(SIM_NO_LABEL, reply->delay_ms);
    sim_server_step(world, s, &arrived);
}

static void tell_rejoin_reply(struct sim_world *world, unsigned s, unsigned i,
                              const struct sim_message *message)
{
    struct fence_event arrived = {
        .kind = FENCE_EVENT_REJOIN,
        .master = i,
        .rejoin = sim_rejoin_reply(&message->request, &message->reply),
    };
    sim_server_step(world, s, &arrived);
}

static void hand_out(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_message *message)
{
    switch (message->request.ask) {
    case SIM_ASK_LOCK:
        if (lies_now(world, i))
            tell_lie(world, s, i, message);
        else
            tell_lock_reply(world, s, i, message);
        break;
    case SIM_ASK_REJOIN:
        tell_rejoin_reply(world, s, i, message);
        break;
    case SIM_ASK_FACTS:
        sim_link_learn(world, s, i, &message->reply);
        break;
    case SIM_ASK_PROBE:
        sim_link_looked(world, s, i, &message->reply);
        break;
    case SIM_ASK_SCAN:
    case SIM_ASK_HOLDERS:
        sim_listing_told(world, s, i, message, FENCE_PART_GRANTED);
        break;
    case SIM_ASK_RESTAMP:
        break; /* the handshake behind it says what the marker is now */
    }
}

/* The script as a whole did not run, or might as well not have. */
static bool is_refused(const struct sim_message *message)
{
    if (message->request.ask == SIM_ASK_LOCK)
        return message->reply.kind == FENCE_REPLY_REFUSED;
    return message->request.ask == SIM_ASK_REJOIN &&
           (message->reply.outcome == FENCE_REJOIN_LOST ||
            message->reply.outcome == FENCE_REJOIN_REFUSED);
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
    uint32_t generation = link->generation;
    bool discounted = sim_reply_discount(&message->reply);
    bool refused = discounted || is_refused(message);
    world->stats.replies_discounted += discounted;
    if (message->request.ask == SIM_ASK_LOCK && !refused)
        link->failures = 0;
    hand_out(world, s, i, message);
    free_if_done(&world->network, event->id);
    /* As the driver does: a new handshake tells why. */
    if (refused && link->generation == generation)
        sim_link_fail(world, s, i);
}

/* ---- the end of a connection ----------------------------------------------------------------- */

void sim_network_lose_all(struct sim_world *world, unsigned s, unsigned i)
{
    struct sim_link *link = sim_link_of(world, s, i);
    while (link->first != SIM_NO_MESSAGE) {
        uint32_t m = dequeue(&world->network, link);
        struct sim_message *message = &world->network.messages[m];
        message->reply = (struct sim_reply){
            .kind = FENCE_REPLY_LOST,
            .outcome = FENCE_REJOIN_LOST,
        };
        if (message->request.ask == SIM_ASK_LOCK)
            tell_lock_reply(world, s, i, message);
        else if (message->request.ask == SIM_ASK_REJOIN)
            tell_rejoin_reply(world, s, i, message);
        else if (message->request.ask == SIM_ASK_SCAN || message->request.ask == SIM_ASK_HOLDERS)
            sim_listing_told(world, s, i, message, FENCE_PART_TIMEOUT);
        free_if_done(&world->network, m);
    }
}

void sim_network_forget(struct sim_world *world, struct sim_link *link)
{
    while (link->first != SIM_NO_MESSAGE)
        free_if_done(&world->network, dequeue(&world->network, link));
}

void sim_network_cut_short(struct sim_world *world, struct sim_link *link)
{
    bool request_cut = false;
    bool reply_cut = false;
    for (uint32_t m = link->first; m != SIM_NO_MESSAGE; m = world->network.messages[m].next) {
        struct sim_message *message = &world->network.messages[m];
        reply_cut = reply_cut || sim_rng_chance(&link->rng, CUTS_REPLIES);
        if (!message->executed)
            request_cut = request_cut || sim_rng_chance(&link->rng, CUTS_REQUESTS);
        message->reply_cut = reply_cut;
        message->request_cut = request_cut;
    }
}

bool sim_network_is_recording(const struct sim_network *network, unsigned target)
{
    for (uint32_t m = 0; m < network->used; m++) {
        const struct sim_message *message = &network->messages[m];
        if (message->on_wire && !message->executed && message->request.ask == SIM_ASK_REJOIN &&
            message->request.rejoin.step == FENCE_REJOIN_RECORD &&
            message->request.rejoin.target == target)
            return true;
    }
    return false;
}

unsigned sim_network_machine(const struct sim_network *network, const struct sim_event *event)
{
    return network->messages[event->id].machine;
}

void sim_network_act(struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_REQUEST)
        on_request(world, event);
    else
        on_reply(world, event);
}
