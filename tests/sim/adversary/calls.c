#include "tests/sim/adversary/calls.h"

#include "fence/protocol/name.h"
#include "tests/sim/adversary/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TOKENS = 4, /* that an extend may name */
    VALUES = 4, /* values in a counter that a call may take, and none */
    TICKETS = 8,
    WAITED_MAX_US = 4000000,
};

/* Per mille. */
enum {
    ACQUIRES = 750,
    AGAIN = 330,
    WAITS = 500,
    SEVERAL = 250,
    PLACES = 500, /* of what is heard from other servers */
};

/* Few, so that they meet. */
static const char *const resources[] = {"a", "b", "c", "d/e"};
static const char *const own_ids[] = {
    "the-own-lock-id-of-client-1",
    "the-own-lock-id-of-client-2",
    "the-own-lock-id-of-client-3",
};

enum {
    RESOURCES = sizeof(resources) / sizeof(resources[0]),
    OWN_IDS = sizeof(own_ids) / sizeof(own_ids[0]),
};

/* As the server makes them: none is given twice. */
static const char *make_lock_id(struct calls *calls)
{
    snprintf(calls->last_id, sizeof(calls->last_id), "lock-id-%0*" PRIu64, FENCE_LOCK_ID_LEN - 8,
             calls->ids++);
    return calls->last_id;
}

void calls_init(struct calls *calls)
{
    memset(calls, 0, sizeof(*calls));
    (void)make_lock_id(calls);
}

const char *calls_some_lock_id(struct play *play)
{
    uint32_t which = play_below(play, OWN_IDS + 1);
    return which < OWN_IDS ? own_ids[which] : play->calls.last_id;
}

/* A client that calls, or one that does not; NULL: there is none. */
static struct calls_client *some_client(struct play *play, bool calls)
{
    uint32_t first = play_below(play, CALLS_CLIENTS);
    for (uint32_t k = 0; k < CALLS_CLIENTS; k++) {
        struct calls_client *client = &play->calls.clients[(first + k) % CALLS_CLIENTS];
        if (client->calls == calls)
            return client;
    }
    return NULL;
}

static const struct fence_group *some_group(struct play *play)
{
    struct fence_group *group = &play->calls.group;
    uint32_t first = play_below(play, RESOURCES);
    group->count = FENCE_GROUP_MIN + play_below(play, RESOURCES - FENCE_GROUP_MIN + 1);
    for (unsigned k = 0; k < group->count; k++) {
        const char *resource = resources[(first + k) % RESOURCES];
        struct fence_group_lock *lock = &group->locks[k];
        snprintf(lock->resource, sizeof(lock->resource), "%s", resource);
        lock->slot = (uint16_t)fence_slot(resource, strlen(resource));
        lock->token = 0;
    }
    return group;
}

static void fill_acquire(struct play *play, struct fence_call *call)
{
    call->owner = "somebody";
    call->idempotent = play_chance(play, AGAIN);
    call->lock_id =
        call->idempotent ? own_ids[play_below(play, OWN_IDS)] : make_lock_id(&play->calls);
    call->wait_ms = play_chance(play, WAITS) ? play_below(play, CALLS_WAIT_MAX_MS) + 1 : 0;
    if (!play_chance(play, SEVERAL))
        return;
    call->group = some_group(play);
    call->resource = call->group->locks[0].resource;
}

void calls_make(struct play *play)
{
    struct calls *calls = &play->calls;
    struct calls_client *client = some_client(play, false);
    if (!client)
        return;
    struct fence_event event = {
        .kind = FENCE_EVENT_CALL,
        .call =
            {
                .kind = play_chance(play, ACQUIRES) ? FENCE_CALL_ACQUIRE
                                                    : FENCE_CALL_EXTEND + play_below(play, 5),
                .client = (uint64_t)(client - calls->clients),
                .resource = resources[play_below(play, RESOURCES)],
                .lock_id = calls_some_lock_id(play),
                .owner = "an operator",
                .token = play_below(play, TOKENS) + 1,
                .ttl_ms = sim_rng_between(&play->rng, FENCE_TTL_MIN_MS, CALLS_TTL_MAX_MS),
            },
    };
    if (event.call.kind == FENCE_CALL_COUNT)
        event.call.count = play_below(play, VALUES);
    if (event.call.kind == FENCE_CALL_ACQUIRE)
        fill_acquire(play, &event.call);
    *client = (struct calls_client){
        .calls = true,
        .kind = event.call.kind,
        .ttl_ms = event.call.ttl_ms,
        .several = event.call.group != NULL,
    };
    snprintf(client->lock_id, sizeof(client->lock_id), "%s", event.call.lock_id);
    calls->open++;
    play->stats.calls++;
    play_step(play, &event);
}

void calls_leave(struct play *play)
{
    struct calls_client *client = some_client(play, true);
    if (!client)
        return;
    struct fence_event event = {
        .kind = FENCE_EVENT_LEFT,
        .client = (uint64_t)(client - play->calls.clients),
    };
    client->left = true;
    play_step(play, &event);
    if (client->calls && client->kind == FENCE_CALL_ACQUIRE)
        play_fail(play, "the acquire of client %" PRIu64 " goes on, though it left", event.client);
}

void calls_hear(struct play *play)
{
    const char *resource = resources[play_below(play, RESOURCES)];
    struct fence_event event = {
        .kind = FENCE_EVENT_RELEASED,
        .released = {.resource = resource, .lock_id = calls_some_lock_id(play)},
    };
    if (play_chance(play, PLACES)) {
        event.kind = FENCE_EVENT_PLACE;
        event.place = (struct fence_place){.resource = resource,
                                           .lock_id = calls_some_lock_id(play),
                                           .owner = "",
                                           .ticket = 1 + play_below(play, TICKETS),
                                           .waited_us = play_below(play, WAITED_MAX_US)};
    }
    play->stats.words++;
    play_step(play, &event);
}
