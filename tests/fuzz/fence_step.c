/* Events, in any order and with anything in them that the driver may pass on. The invariants of the
 * core hold after each step, and each call is answered at most once. */
#include "fence/core/core.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    CALLS = 8,
    CLIENTS = 16,
    OWED = 64, /* requests that may still be answered; older ones are lost */
    TTL_MAX_MS = 5000,
};

struct input {
    const uint8_t *at;
    size_t left;
};

struct play {
    struct input input;
    struct fence_core *core;
    struct fence_effects effects;
    uint64_t now_us;
    unsigned under_way; /* a bit for each client */
    uint64_t tags[OWED];
    uint64_t rejoin_tags[OWED];
    unsigned sent;
    struct fence_group group;
};

static unsigned byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

static unsigned below(struct play *play, unsigned bound)
{
    return byte(&play->input) % bound;
}

static const char *resource(struct play *play)
{
    static const char *const resources[] = {"a", "b/c", "d"};
    return resources[below(play, sizeof(resources) / sizeof(resources[0]))];
}

static const char *lock_id(struct play *play)
{
    static const char *const ids[] = {"lock-id-of-a-client-00001", "lock-id-of-a-client-00002"};
    return ids[below(play, sizeof(ids) / sizeof(ids[0]))];
}

static struct fence_view view(struct play *play)
{
    struct fence_view view = {.incarnation = {0}};
    for (unsigned i = 0; i < MASTERS; i++)
        view.incarnation[i] = (INT64_C(1) + below(play, 4)) << FENCE_INCARNATION_MEMORY_SHIFT;
    return view;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static const struct fence_group *group(struct play *play)
{
    static const char *const resources[] = {"a", "b/c"};
    if (below(play, 4) != 0)
        return NULL;
    play->group = (struct fence_group){.count = 2};
    for (unsigned k = 0; k < 2; k++) {
        struct fence_group_lock *lock = &play->group.locks[k];
        memcpy(lock->resource, resources[k], strlen(resources[k]) + 1);
        lock->slot = (uint16_t)fence_slot(resources[k], strlen(resources[k]));
    }
    return &play->group;
}

static bool call(struct play *play, struct fence_event *event)
{
    const unsigned client = below(play, CLIENTS);
    if (play->under_way >> client & 1)
        return false;
    play->under_way |= 1U << client;
    event->call = (struct fence_call){
        .kind = (enum fence_call_kind)below(play, FENCE_CALL_BREAK + 1),
        .client = client,
        .resource = resource(play),
        .lock_id = lock_id(play),
        .owner = "me",
        .idempotent = below(play, 2),
        .token = below(play, 8),
        .ttl_ms = FENCE_TTL_MIN_MS + 100 * below(play, 64),
        .wait_ms = 50 * below(play, 8),
    };
    if (event->call.kind == FENCE_CALL_COUNT)
        event->call.count = below(play, 4);
    if (event->call.kind == FENCE_CALL_BREAK)
        event->call.token++;
    if (event->call.kind == FENCE_CALL_ACQUIRE)
        event->call.group = group(play);
    if (event->call.group)
        event->call.resource = event->call.group->locks[0].resource;
    return true;
}

static struct fence_positions positions(struct play *play)
{
    struct fence_positions positions = {0};
    for (unsigned i = 0; i < MASTERS; i++)
        positions.of[i] = (struct fence_position){below(play, 3), below(play, 4)};
    return positions;
}

static void facts(struct play *play, unsigned i, struct fence_facts *ret_facts)
{
    *ret_facts = (struct fence_facts){
        .replica = below(play, 16) == 0,
        .intact = below(play, 2),
        .durable = below(play, 2),
        .persistence = "always",
        .marked = below(play, 8) != 0,
        .member = below(play, 16) == 0 ? below(play, MASTERS) + 1 : i + 1,
        .marked_durable = below(play, 2),
        .marked_active = below(play, 4) != 0,
        .next = below(play, 3),
        .progress = below(play, 3),
        .ttl_max_ms = TTL_MAX_MS,
        .view = view(play),
        .writes = below(play, 4),
        .heard = positions(play),
    };
    snprintf(ret_facts->fleet_id, sizeof(ret_facts->fleet_id), "%040u", below(play, 8) == 0);
    snprintf(ret_facts->server_id, sizeof(ret_facts->server_id), "%040u", i * 2 + below(play, 2));
    snprintf(ret_facts->lineage, sizeof(ret_facts->lineage), "%040u:0", below(play, 2));
    memcpy(ret_facts->marked_server_id, ret_facts->server_id, sizeof(ret_facts->server_id));
    if (below(play, 4) == 0)
        ret_facts->marked_server_id[0] = 'e';
    memcpy(ret_facts->marked_lineage, ret_facts->lineage, sizeof(ret_facts->lineage));
}

static void reply(struct play *play, struct fence_reply *ret_reply, struct fence_view *known)
{
    static int64_t numbers[FENCE_GROUP_MAX];
    *known = view(play);
    for (unsigned k = 0; k < 2; k++)
        numbers[k] = 1 + below(play, 4);
    *ret_reply = (struct fence_reply){
        .kind = (enum fence_reply_kind)below(play, FENCE_REPLY_LOST + 1),
        .tag = play->tags[below(play, OWED)],
        .locks = below(play, 3),
        .number = 1 + below(play, 4),
        .numbers = numbers,
        .blocked = below(play, 2),
        .found = below(play, 2),
        .holder = lock_id(play),
        .owner = "you",
        .remaining_ms = 1 + 10 * below(play, 64),
        .view = known,
        .writes = below(play, 4),
    };
}

static void rejoin(struct play *play, struct fence_rejoin_reply *ret_reply,
                   struct fence_view *known)
{
    *known = view(play);
    *ret_reply = (struct fence_rejoin_reply){
        .outcome = (enum fence_rejoin_outcome)below(play, FENCE_REJOIN_REFUSED + 1),
        .tag = play->rejoin_tags[below(play, OWED)],
        .cursor = below(play, 3),
        .page = {.bytes = "page", .len = below(play, 2) ? 4 : 0},
        .view = below(play, 2) ? known : NULL,
    };
}

static bool next_event(struct play *play, struct fence_event *event, struct fence_view *known)
{
    event->kind = (enum fence_event_kind)below(play, FENCE_EVENT_TICK + 1);
    event->master = below(play, MASTERS);
    event->random = byte(&play->input) * UINT64_C(0x9e3779b97f4a7c15);
    play->now_us += UINT64_C(1) << below(play, 24);
    event->now_us = play->now_us;
    switch (event->kind) {
    case FENCE_EVENT_CALL:
        return call(play, event);
    case FENCE_EVENT_REPLY:
        reply(play, &event->reply, known);
        return true;
    case FENCE_EVENT_FACTS:
        facts(play, event->master, &event->facts);
        return true;
    case FENCE_EVENT_HEARD:
        event->heard.positions = positions(play);
        event->heard.writes = below(play, 4);
        return true;
    case FENCE_EVENT_DOWN:
        event->reason = below(play, 2) ? FENCE_REASON_UNREACHABLE : FENCE_REASON_SILENT;
        return true;
    case FENCE_EVENT_REJOIN:
        rejoin(play, &event->rejoin, known);
        return true;
    case FENCE_EVENT_LEFT:
        event->client = below(play, CLIENTS);
        return true;
    case FENCE_EVENT_RELEASED:
        event->released.resource = resource(play);
        event->released.lock_id = lock_id(play);
        return true;
    case FENCE_EVENT_DECLINED:
        return false; /* only after a grant */
    case FENCE_EVENT_LAGGED:
        event->lag_us = below(play, 1000000);
        return true;
    case FENCE_EVENT_TICK:
        return true;
    }
    return false;
}

/* ---- what comes of it ------------------------------------------------------------------------ */

static void act(struct play *play, const struct fence_effect *effect)
{
    if (effect->kind == FENCE_EFFECT_SEND)
        play->tags[play->sent++ % OWED] = effect->request.tag;
    if (effect->kind == FENCE_EFFECT_REJOIN)
        play->rejoin_tags[play->sent++ % OWED] = effect->rejoin.tag;
    if (effect->kind != FENCE_EFFECT_ANSWER)
        return;
    const struct fence_answer *answer = &effect->answer;
    assert(answer->client < CLIENTS && play->under_way >> answer->client & 1);
    play->under_way &= ~(1U << answer->client);
    assert(answer->kind != FENCE_CALL_ACQUIRE || answer->error ||
           (answer->token > 0 && answer->validity_ms <= answer->ttl_ms));
}

static void take_step(struct play *play, const struct fence_event *event)
{
    fence_step(play->core, event, &play->effects);
    fence_core_check(play->core);
    for (unsigned k = 0; k < play->effects.count; k++)
        act(play, &play->effects.items[k]);
    assert(fence_core_calls(play->core) == (unsigned)__builtin_popcount(play->under_way));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct play play;
    const struct fence_config config = {
        .masters = MASTERS, .calls = CALLS, .waiters = CALLS, .extensions = 4, .seed = 1};
    memset(&play, 0, sizeof(play));
    play.input = (struct input){data, size};
    play.now_us = 1000000;
    int error = fence_core_new(&config, &play.core);
    assert(!error);
    while (play.input.left > 0) {
        struct fence_event event = {.now_us = play.now_us};
        struct fence_view known;
        if (next_event(&play, &event, &known))
            take_step(&play, &event);
    }
    fence_core_free(play.core);
    return 0;
}
