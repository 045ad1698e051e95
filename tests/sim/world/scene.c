#include "tests/sim/world/scene.h"

#include "api/story/event.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    OTHER_SERVER = STORY_DATABASE + 1, /* the actor that server 1 is, and those behind it */
    OTHER_HOLDER = 1 << SIM_CLIENTS_MAX,
    PROCESSES = SIM_SERVERS_MAX + FENCE_MASTERS_MAX, /* servers, then masters */
};

struct sim_scene {
    FILE *out;
    const char *title;
    uint32_t resource;
    int32_t messages; /* so far */
    int32_t call[SIM_CALLS_MAX];
    int32_t answer[SIM_CALLS_MAX];
    int32_t message[SIM_MESSAGES_MAX];
    bool is_stopped[PROCESSES];
    struct seen_hold {
        int32_t holders;
        int64_t number;
        uint64_t until_us;
    } holds[FENCE_MASTERS_MAX];
    int32_t states[FENCE_MASTERS_MAX];
    int64_t beliefs[SIM_CLIENTS_MAX]; /* the token; 0: none */
    bool is_asking[SIM_CLIENTS_MAX];
};

static void tell(const struct sim_world *world, enum story_event_kind kind, struct story_event e)
{
    fprintf(world->scene->out,
            "%" PRIu64 " %s %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32
            "\n",
            world->now_us, story_event_name((int32_t)kind), e.who, e.whom, e.what, e.id, e.token,
            e.value);
}

static int32_t server_actor(unsigned s)
{
    return s == 0 ? STORY_PAWLD : OTHER_SERVER + (int32_t)s - 1;
}

static int32_t master_actor(unsigned i)
{
    return STORY_MASTER + (int32_t)i;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_about(const struct sim_scene *scene, const struct sim_set *set)
{
    for (unsigned k = 0; k < set->count; k++)
        if (set->resource[k] == scene->resource)
            return true;
    return false;
}

static enum story_message_kind call_kind(const struct sim_call *call)
{
    switch (call->kind) {
    case FENCE_CALL_ACQUIRE:
        return STORY_ACQUIRE;
    case FENCE_CALL_RELEASE:
        return STORY_RELEASE;
    case FENCE_CALL_EXTEND:
        return STORY_EXTEND;
    case FENCE_CALL_BREAK:
        return STORY_BREAK;
    default:
        return STORY_OTHER;
    }
}

static enum story_message_kind request_kind(const struct sim_request *request)
{
    switch (request->ask) {
    case SIM_ASK_LOCK:
        return STORY_LOCK;
    case SIM_ASK_REJOIN:
        return STORY_REJOIN;
    case SIM_ASK_RESTAMP:
        return STORY_RESTAMP;
    default:
        return STORY_OTHER;
    }
}

/* A message that a scene shows. */
struct way {
    enum story_message_kind kind;
    int32_t from;
    int32_t to;
    int32_t *id;
    int64_t token;
};

static bool find_call(const struct sim_world *world, const struct sim_event *event,
                      struct way *ret_way)
{
    const struct sim_call *call = &world->check.calls[event->id];
    const bool is_answer = event->kind == SIM_EVENT_ANSWER;
    const int32_t client = STORY_CLIENT + (int32_t)call->client;
    const int32_t server = server_actor(call->server);
    if (call->client >= world->plan.clients ||
        (!is_about(world->scene, &call->set) && call->seats == 0))
        return false;
    *ret_way = (struct way){
        .kind = is_answer ? STORY_ANSWER : call_kind(call),
        .from = is_answer ? server : client,
        .to = is_answer ? client : server,
        .id = is_answer ? &world->scene->answer[event->id] : &world->scene->call[event->id],
    };
    return true;
}

/* Handshakes, probes and listings are not shown. */
static bool find_message(const struct sim_world *world, const struct sim_event *event,
                         struct way *ret_way)
{
    const struct sim_message *message = &world->network.messages[event->id];
    const struct sim_request *request = &message->request;
    const bool is_reply = event->kind == SIM_EVENT_REPLY;
    const enum story_message_kind kind = request_kind(request);
    const int32_t server = server_actor(event->server);
    const int32_t master = master_actor(event->master);
    if (kind == STORY_OTHER || (kind == STORY_LOCK && !is_about(world->scene, &request->lock.set)))
        return false;
    *ret_way = (struct way){
        .kind = is_reply ? STORY_REPLY : kind,
        .from = is_reply ? master : server,
        .to = is_reply ? server : master,
        .id = &world->scene->message[event->id],
        .token = is_reply ? (int64_t)kind : 0,
    };
    return true;
}

static bool find_way(const struct sim_world *world, const struct sim_event *event,
                     struct way *ret_way)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_CALL:
    case SIM_EVENT_ANSWER:
        return find_call(world, event, ret_way);
    case SIM_EVENT_REQUEST:
    case SIM_EVENT_REPLY:
        return find_message(world, event, ret_way);
    default:
        return false;
    }
}

static void tell_way(const struct sim_world *world, enum story_event_kind kind,
                     const struct way *way, uint64_t at_us)
{
    tell(world, kind,
         (struct story_event){.who = way->from,
                              .whom = way->to,
                              .what = (int32_t)way->kind,
                              .id = *way->id,
                              .token = (int32_t)way->token,
                              .value = (int32_t)at_us});
}

/* An acquire is decided where its answer leaves. */
static void tell_decision(const struct sim_world *world, const struct sim_call *call)
{
    struct story_event event = {.who = server_actor(call->server),
                                .whom = STORY_CLIENT + (int32_t)call->client,
                                .value = call->error};
    if (call->kind != FENCE_CALL_ACQUIRE || call->state != SIM_CALL_ANSWERED)
        return;
    for (unsigned k = 0; !call->error && k < call->set.count; k++)
        if (call->set.resource[k] == world->scene->resource)
            event.token = (int32_t)call->set.token[k];
    if (!call->error)
        event.value = (int32_t)((call->until_us - world->now_us) / 1000);
    tell(world, call->error ? STORY_REFUSED : STORY_GRANTED, event);
}

void sim_scene_scheduled(struct sim_world *world, const struct sim_event *event)
{
    struct way way;
    if (!world->scene || !find_way(world, event, &way))
        return;
    if (event->kind == SIM_EVENT_ANSWER)
        tell_decision(world, &world->check.calls[event->id]);
    *way.id = ++world->scene->messages;
    tell_way(world, STORY_SENT, &way, event->at_us);
}

void sim_scene_put_off(struct sim_world *world, const struct sim_event *event, uint64_t at_us)
{
    struct way way;
    if (world->scene && find_way(world, event, &way))
        tell_way(world, STORY_DELAYED, &way, at_us);
}

/* Reports whether what @event brings does not arrive: its connection or its receiver has ended. */
static bool is_lost(const struct sim_world *world, const struct sim_event *event)
{
    if (event->kind == SIM_EVENT_ANSWER)
        return world->check.calls[event->id].unheard;
    if (event->kind == SIM_EVENT_CALL)
        return false;
    const struct sim_message *message = &world->network.messages[event->id];
    if (event->kind == SIM_EVENT_REQUEST)
        return message->request_cut ||
               (!message->duplicate && message->run != world->machines[message->machine].run);
    return message->reply_cut ||
           message->generation != world->links[event->server][event->master].generation;
}

void sim_scene_before(struct sim_world *world, const struct sim_event *event)
{
    struct way way;
    if (world->scene && find_way(world, event, &way))
        tell_way(world, is_lost(world, event) ? STORY_LOST : STORY_ARRIVED, &way, world->now_us);
}

/* ---- what has changed ------------------------------------------------------------------------ */

static void look_at_process(struct sim_world *world, unsigned process, int32_t actor,
                            uint64_t until_us)
{
    const bool is_stopped = until_us > world->now_us;
    if (world->scene->is_stopped[process] == is_stopped)
        return;
    world->scene->is_stopped[process] = is_stopped;
    tell(world, is_stopped ? STORY_PAUSED : STORY_RESUMED, (struct story_event){.who = actor});
}

static int32_t holder_of(const struct sim_world *world, const struct sim_lock *lock)
{
    const unsigned client =
        lock->lock < SIM_CALLS_MAX ? world->check.calls[lock->lock].client : world->plan.clients;
    return client < world->plan.clients ? 1 << client : OTHER_HOLDER;
}

static void look_at_hold(struct sim_world *world, unsigned i)
{
    const struct sim_master *master = &world->machines[world->address[i]];
    const struct sim_lock *lock = &master->memory.locks[world->scene->resource];
    struct seen_hold now = {0};
    if (lock->present && lock->expires_us > sim_clock_read(&master->clock, world->now_us))
        now = (struct seen_hold){.holders = holder_of(world, lock),
                                 .number = lock->number,
                                 .until_us = sim_clock_when(&master->clock, lock->expires_us)};
    struct seen_hold *seen = &world->scene->holds[i];
    if (seen->holders == now.holders && seen->number == now.number &&
        seen->until_us == now.until_us)
        return;
    *seen = now;
    tell(world, STORY_HOLDS,
         (struct story_event){.who = master_actor(i),
                              .what = now.holders,
                              .token = (int32_t)now.number,
                              .value = (int32_t)now.until_us});
}

static void look_at_state(struct sim_world *world, unsigned s, unsigned i)
{
    const struct fence_master *master = &fence_core_fleet(world->servers[s].core)->master[i];
    if (world->scene->states[i] == (int32_t)master->state)
        return;
    world->scene->states[i] = (int32_t)master->state;
    tell(world, STORY_STATE,
         (struct story_event){.who = master_actor(i),
                              .whom = server_actor(s),
                              .what = (int32_t)master->state,
                              .value = (int32_t)master->reason});
}

/* The token under which client @c works at the resource; 0: under none. */
static int64_t believed(const struct sim_world *world, const struct sim_client *client)
{
    const bool works = client->state == SIM_CLIENT_CLAIMING ||
                       client->state == SIM_CLIENT_EXTENDING || client->state == SIM_CLIENT_WRITING;
    for (unsigned k = 0; works && k < client->set.count; k++)
        if (client->set.resource[k] == world->scene->resource && k >= client->at)
            return client->set.token[k];
    return 0;
}

static void look_at_client(struct sim_world *world, unsigned c)
{
    struct sim_scene *scene = world->scene;
    const struct sim_client *client = &world->clients[c];
    const struct sim_grants *grants = &world->check.grants[scene->resource];
    const bool is_asking = client->state == SIM_CLIENT_ACQUIRING && is_about(scene, &client->set);
    const int64_t token = believed(world, client);
    struct story_event event = {.who = STORY_CLIENT + (int32_t)c, .what = (int32_t)client->mode};
    if (is_asking && !scene->is_asking[c])
        tell(world, STORY_ASKS, event);
    const bool has_ended = (scene->is_asking[c] && !is_asking) || scene->beliefs[c] != token;
    if (has_ended && (scene->beliefs[c] > 0 || token == 0))
        tell(world, STORY_ENDED,
             (struct story_event){.who = event.who, .token = (int32_t)scene->beliefs[c]});
    if (token > 0 && scene->beliefs[c] != token) {
        event.token = (int32_t)token;
        event.value =
            (int32_t)(grants->holder == client->lock ? grants->held_until_us : world->now_us);
        tell(world, STORY_BELIEVES, event);
    }
    scene->is_asking[c] = is_asking;
    scene->beliefs[c] = token;
}

void sim_scene_after(struct sim_world *world)
{
    const struct sim_plan *plan = &world->plan;
    if (!world->scene)
        return;
    for (unsigned s = 0; s < plan->servers; s++)
        look_at_process(world, s, server_actor(s), world->servers[s].paused_until_us);
    for (unsigned i = 0; i < plan->masters; i++) {
        look_at_process(world, SIM_SERVERS_MAX + i, master_actor(i),
                        world->machines[world->address[i]].stopped_until_us);
        look_at_state(world, plan->quiet, i);
        look_at_hold(world, i);
    }
    for (unsigned c = 0; c < plan->clients; c++)
        look_at_client(world, c);
}

void sim_scene_account(struct sim_world *world, unsigned c, uint32_t resource,
                       const struct sim_visit *visit)
{
    if (!world->scene || resource != world->scene->resource)
        return;
    tell(world, visit->is_stale ? STORY_STALE : STORY_ACCEPTED,
         (struct story_event){.who = STORY_DATABASE,
                              .whom = STORY_CLIENT + (int32_t)c,
                              .what = visit->writes ? STORY_WRITE : STORY_READ,
                              .token = (int32_t)visit->token,
                              .value = (int32_t)visit->value});
}

/* ---- a scene --------------------------------------------------------------------------------- */

void sim_scene_begin(struct sim_world *world)
{
    if (!world->scene)
        return;
    world->trace.scene = world->scene->out;
    fprintf(world->scene->out, "pawl-scene 1\ntitle %s\ncast %u %u %u\n", world->scene->title,
            world->plan.clients, world->plan.servers, world->plan.masters);
}

/* The resource that a violation names: "... of r2". */
static uint32_t resource_of(const char *violation)
{
    const char *named = strstr(violation, " r");
    const uint32_t resource = named ? (uint32_t)strtoul(named + 2, NULL, 10) : 0;
    return resource < SIM_RESOURCES_MAX ? resource : 0;
}

int sim_scene_play(struct sim_world *world, const struct sim_plan *plan, uint64_t seed,
                   const char *title, const char *name)
{
    int error = -1;
    FILE *out = fopen(name, "w");
    struct sim_scene *scene = calloc(1, sizeof(*scene));
    if (!out || !scene)
        goto out;
    *scene = (struct sim_scene){
        .out = out, .title = title, .resource = resource_of(world->check.violation)};
    memset(scene->states, -1, sizeof(scene->states));
    world->scene = scene;
    const uint64_t hash = world->trace.hash;
    const uint64_t again = sim_world_play(world, plan, seed, NULL);
    assert(again == hash);
    world->scene = NULL;
    error = 0;
out:
    free(scene);
    if (out && fclose(out) != 0)
        error = -1;
    return error;
}
