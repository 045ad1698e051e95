#include "api/story/pawld.h"

#include "api/story/link.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <string.h>

enum {
    BOOT_US = 1000 * 1000, /* that the clock of pawld shows at first */
    WAIT_MS = 60 * 1000,
    CALLS = 32,
    WAITERS = 16,
    DEADLINE_US = 200 * 1000, /* of a master */
    CALLS_A_TASK = 16,        /* numbers of calls that a task may use */
};

/* ---- telling --------------------------------------------------------------------------------- */

/* Tells how pawld judges each master, where that changed. */
static void tell_states(struct story_world *world)
{
    const struct fence_fleet *fleet = fence_core_fleet(world->pawld.core);
    for (unsigned i = 0; i < world->masters_count; i++) {
        const int32_t state = (int32_t)fleet->master[i].state;
        const int32_t reason = (int32_t)fence_fleet_told(fleet, i);
        const int32_t both = state << 8 | reason;
        if (world->pawld.told[i] == both)
            continue;
        world->pawld.told[i] = both;
        story_tell(world, (struct story_event){.kind = STORY_STATE,
                                               .who = STORY_MASTER + (int32_t)i,
                                               .what = state,
                                               .value = reason});
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The number of a call says whose it is, and of which task. */
static uint64_t number_call(const struct story_message *message, unsigned part)
{
    const uint64_t client = (uint64_t)(message->from - STORY_CLIENT);
    return ((uint64_t)message->call.task * STORY_CLIENTS + client) * CALLS_A_TASK + part;
}

static void tell_outcome(struct story_world *world, int32_t client, const struct fence_answer *from)
{
    const bool granted = from->error == 0;
    story_tell(world, (struct story_event){
                          .kind = granted ? STORY_GRANTED : STORY_REFUSED,
                          .who = STORY_PAWLD,
                          .whom = client,
                          .what = (int32_t)from->mode,
                          .token = granted ? (int32_t)from->token : 0,
                          .value = granted ? (int32_t)from->lease.validity_ms : from->error,
                      });
}

static void answer_asker(struct story_world *world, const struct fence_answer *from)
{
    const uint64_t number = from->client / CALLS_A_TASK;
    const unsigned c = (unsigned)(number % STORY_CLIENTS);
    const int32_t client = STORY_CLIENT + (int32_t)c;
    if (from->kind == FENCE_CALL_RELEASE && --world->pawld.releasing[c] > 0)
        return; /* a writer has several seats */
    if (from->kind == FENCE_CALL_ACQUIRE)
        tell_outcome(world, client, from);
    struct story_message *message =
        story_send(world, STORY_ANSWER, STORY_PAWLD, client, story_client_arrival_us(world),
                   from->error ? 0 : from->token);
    message->call = (struct story_call){
        .task = (uint32_t)(number / STORY_CLIENTS),
        .mode = from->mode,
        .error = from->error,
        .token = from->token,
        .served_ms = from->served_us / 1000,
        .validity_ms = from->lease.validity_ms,
    };
    if (from->kind == FENCE_CALL_ACQUIRE && from->mode == FENCE_MODE_READ && !from->error)
        story_text_copy(message->call.seat, sizeof(message->call.seat), from->resource);
}

/* ---- effects --------------------------------------------------------------------------------- */

static void act_on_one(struct story_world *world, unsigned i, const struct fence_effect *effect)
{
    switch (effect->kind) {
    case FENCE_EFFECT_SEND:
        story_link_send(world, i, &effect->request);
        break;
    case FENCE_EFFECT_REJOIN:
        story_link_rejoin(world, i, &effect->rejoin);
        break;
    case FENCE_EFFECT_RESTAMP:
        story_link_restamp(world, i);
        break;
    case FENCE_EFFECT_HANDSHAKE:
        story_link_shake(world, i);
        break;
    case FENCE_EFFECT_RESET:
        story_link_reset(world, i);
        break;
    case FENCE_EFFECT_PLACE: /* there is one pawld */
    case FENCE_EFFECT_ANSWER:
        break;
    }
}

static void act_on_effect(struct story_world *world, const struct fence_effect *effect)
{
    if (effect->kind == FENCE_EFFECT_ANSWER) {
        answer_asker(world, &effect->answer);
        return;
    }
    for (unsigned i = 0; i < world->masters_count; i++)
        if (effect->masters >> i & 1)
            act_on_one(world, i, effect);
}

void story_pawld_step(struct story_world *world, struct fence_event *event)
{
    struct story_pawld *pawld = &world->pawld;
    event->now_us = world->now_us + BOOT_US;
    event->random = story_rng_next(&world->rng);
    fence_step(pawld->core, event, &pawld->effects);
    for (unsigned i = 0; i < pawld->effects.count; i++)
        act_on_effect(world, &pawld->effects.items[i]);
    tell_states(world);
    const uint64_t deadline_us = fence_core_deadline(pawld->core);
    const uint64_t due_us = deadline_us <= BOOT_US ? 0 : deadline_us - BOOT_US;
    story_timer_set(world, STORY_TIMER_TICK,
                    deadline_us == FENCE_NEVER ? FENCE_NEVER
                    : due_us < world->now_us   ? world->now_us
                                               : due_us);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void acquire_for(struct story_world *world, const struct story_message *message)
{
    static const char *const labels[STORY_CLIENTS] = {"A", "B", "C"};
    struct fence_event event = {
        .kind = FENCE_EVENT_CALL,
        .call = {.kind = FENCE_CALL_ACQUIRE,
                 .client = number_call(message, 0),
                 .resource = STORY_RESOURCE,
                 .lock_id = message->call.lock_id,
                 .owner = labels[message->from - STORY_CLIENT],
                 .mode = message->call.mode,
                 .ttl_ms = STORY_TTL_MS,
                 .wait_ms = WAIT_MS},
    };
    story_pawld_step(world, &event);
}

static void release_seat(struct story_world *world, const struct story_message *message,
                         unsigned part, const char *lock)
{
    struct fence_event event = {
        .kind = FENCE_EVENT_CALL,
        .call = {.kind = FENCE_CALL_RELEASE,
                 .client = number_call(message, part),
                 .resource = lock,
                 .lock_id = message->call.lock_id,
                 .owner = ""},
    };
    story_pawld_step(world, &event);
}

/* A writer has all seats of readers, and the gate. */
static void release_all_seats(struct story_world *world, const struct story_message *message)
{
    char lock[FENCE_RESOURCE_MAX + 1];
    world->pawld.releasing[message->from - STORY_CLIENT] = STORY_READERS + 1;
    for (unsigned k = 0; k < STORY_READERS; k++) {
        story_text_copy(lock, sizeof(lock), STORY_RESOURCE);
        fence_seat_write(lock, k);
        release_seat(world, message, 1 + k, lock);
    }
    story_text_copy(lock, sizeof(lock), STORY_RESOURCE);
    fence_gate_write(lock);
    release_seat(world, message, 1 + STORY_READERS, lock);
}

void story_pawld_asked(struct story_world *world, const struct story_message *message)
{
    const struct story_call *call = &message->call;
    if (message->kind == STORY_ACQUIRE) {
        acquire_for(world, message);
    } else if (call->mode == FENCE_MODE_WRITE) {
        release_all_seats(world, message);
    } else {
        world->pawld.releasing[message->from - STORY_CLIENT] = 1;
        release_seat(world, message, 1, call->seat[0] ? call->seat : STORY_RESOURCE);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

int story_pawld_open(struct story_world *world)
{
    const struct fence_config config = {
        .masters = world->masters_count,
        .calls = CALLS,
        .waiters = WAITERS,
        .extensions = 1,
        .deadline_us = DEADLINE_US,
        .ask = FENCE_ASK_ALL,
        .seed = story_rng_next(&world->rng),
    };
    world->pawld = (struct story_pawld){.core = NULL};
    int error = fence_core_new(&config, &world->pawld.core);
    for (unsigned i = 0; !error && i < world->masters_count; i++)
        story_link_open(world, i);
    return error;
}

void story_pawld_close(struct story_world *world)
{
    fence_core_free(world->pawld.core);
    world->pawld.core = NULL;
}
