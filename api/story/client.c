#include "api/story/client.h"

#include <assert.h>
#include <string.h>

enum {
    ANSWER_US = 70 * 1000 * 1000, /* a client without an answer asks again after this time */
    LOOK_US = 400 * 1000,         /* between its look at the clock and its write */
    RETRY_LEAST_US = 400 * 1000,  /* after a refusal */
    RETRY_MOST_US = 1200 * 1000,
    REST_LEAST_US = 800 * 1000, /* between two tasks */
    REST_MOST_US = 2500 * 1000,
    LEAST_LEFT_US = 500 * 1000, /* rest of the validity that is needed to continue */
    DEPOSIT = 10,               /* client A deposits this, B twice as much */
};

static const char *const lock_id_form = "story-client-?-task-0000000";

static void tell_of(struct story_world *world, unsigned c, struct story_event event)
{
    event.who = STORY_CLIENT + (int32_t)c;
    story_tell(world, event);
}

static void wake_after(struct story_world *world, unsigned c, uint64_t after_us)
{
    story_timer_set(world, STORY_TIMER_CLIENT + c, world->now_us + after_us);
}

static void name_lock(struct story_client *client, unsigned c)
{
    story_text_copy(client->lock_id, sizeof(client->lock_id), lock_id_form);
    client->lock_id[13] = (char)('A' + c);
    uint32_t number = client->task;
    for (char *digit = client->lock_id + FENCE_LOCK_ID_LEN - 1; number > 0; number /= 10)
        *digit-- = (char)('0' + number % 10);
}

static void stop_believing(struct story_world *world, unsigned c, enum story_end why)
{
    struct story_client *client = &world->clients[c];
    if (!client->believes)
        return;
    client->believes = false;
    tell_of(world, c,
            (struct story_event){
                .kind = STORY_ENDED, .what = (int32_t)why, .token = (int32_t)client->token});
}

/* ---- sending --------------------------------------------------------------------------------- */

static void ask_pawld(struct story_world *world, unsigned c, enum story_message_kind kind)
{
    struct story_client *client = &world->clients[c];
    struct story_message *message =
        story_send(world, kind, STORY_CLIENT + (int32_t)c, STORY_PAWLD,
                   story_client_arrival_us(world), kind == STORY_RELEASE ? client->token : 0);
    message->call = (struct story_call){.task = client->task, .mode = client->mode};
    memcpy(message->call.lock_id, client->lock_id, sizeof(client->lock_id));
    memcpy(message->call.seat, client->seat, sizeof(client->seat));
    wake_after(world, c, ANSWER_US);
}

static void ask_database(struct story_world *world, unsigned c, enum story_message_kind kind)
{
    struct story_client *client = &world->clients[c];
    uint64_t at_us = story_client_arrival_us(world);
    if (kind == STORY_WRITE) {
        at_us += (uint64_t)client->hold_ms * 1000;
        client->hold_ms = 0;
    }
    struct story_message *message =
        story_send(world, kind, STORY_CLIENT + (int32_t)c, STORY_DATABASE, at_us, client->token);
    message->query = (struct story_query){
        .task = client->task,
        .mode = client->mode,
        .token = client->token,
        .balance = client->read_balance + DEPOSIT * (int32_t)(c + 1),
        .version = client->read_version,
    };
    story_timer_set(world, STORY_TIMER_CLIENT + c, FENCE_NEVER);
}

/* ---- a task ---------------------------------------------------------------------------------- */

static void start_asking(struct story_world *world, unsigned c)
{
    struct story_client *client = &world->clients[c];
    client->task++;
    client->seat[0] = '\0';
    name_lock(client, c);
    client->state = STORY_ASKING;
    client->asked_us = world->now_us;
    ask_pawld(world, c, STORY_ACQUIRE);
}

void story_client_begin(struct story_world *world, unsigned c, enum fence_mode mode)
{
    struct story_client *client = &world->clients[c];
    if (client->state != STORY_IDLE && client->state != STORY_RESTING)
        return;
    client->mode = mode;
    tell_of(world, c, (struct story_event){.kind = STORY_ASKS, .what = (int32_t)mode});
    start_asking(world, c);
}

static void end_task(struct story_world *world, unsigned c)
{
    struct story_client *client = &world->clients[c];
    client->state = client->loops ? STORY_RESTING : STORY_IDLE;
    story_timer_set(world, STORY_TIMER_CLIENT + c, FENCE_NEVER);
    if (client->loops)
        wake_after(world, c, story_rng_between(&world->rng, REST_LEAST_US, REST_MOST_US));
}

static void try_again(struct story_world *world, unsigned c)
{
    world->clients[c].state = STORY_RESTING;
    wake_after(world, c, story_rng_between(&world->rng, RETRY_LEAST_US, RETRY_MOST_US));
}

static void end_work(struct story_world *world, unsigned c)
{
    world->clients[c].state = STORY_RELEASING;
    stop_believing(world, c, STORY_END_RELEASED);
    ask_pawld(world, c, STORY_RELEASE);
}

/* Looks at the clock, as every client must. */
static void look_at_clock(struct story_world *world, unsigned c)
{
    struct story_client *client = &world->clients[c];
    if (client->valid_until_us < world->now_us + LEAST_LEFT_US) {
        stop_believing(world, c, STORY_END_LATE);
        try_again(world, c);
        return;
    }
    client->state = STORY_CHECKED;
    tell_of(
        world, c,
        (struct story_event){.kind = STORY_LOOKED,
                             .token = (int32_t)client->token,
                             .value = (int32_t)((client->valid_until_us - world->now_us) / 1000)});
    wake_after(world, c, LOOK_US);
}

void story_client_due(struct story_world *world, unsigned c)
{
    struct story_client *client = &world->clients[c];
    switch (client->state) {
    case STORY_WORKING:
        if (client->mode == FENCE_MODE_READ)
            end_work(world, c);
        else
            look_at_clock(world, c);
        break;
    case STORY_CHECKED:
        client->state = STORY_WRITING;
        ask_database(world, c, STORY_WRITE);
        break;
    case STORY_ASKING: /* no answer came */
        try_again(world, c);
        break;
    case STORY_RELEASING: /* the lease will end by itself */
        end_task(world, c);
        break;
    case STORY_RESTING:
        story_client_begin(world, c, client->mode);
        break;
    case STORY_IDLE:
    case STORY_READING:
    case STORY_WRITING:
        break;
    }
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* Reports whether two modes exclude each other. */
static bool exclude(enum fence_mode a, enum fence_mode b)
{
    return a != FENCE_MODE_READ || b != FENCE_MODE_READ;
}

static void tell_overlaps(struct story_world *world, unsigned c)
{
    const struct story_client *client = &world->clients[c];
    for (unsigned other = 0; other < STORY_CLIENTS; other++) {
        const struct story_client *rival = &world->clients[other];
        if (other == c || !rival->believes || !exclude(client->mode, rival->mode))
            continue;
        tell_of(world, c,
                (struct story_event){.kind = STORY_OVERLAP,
                                     .whom = STORY_CLIENT + (int32_t)other,
                                     .token = (int32_t)rival->token,
                                     .value = rival->valid_until_us > world->now_us});
    }
}

/* A client counts the validity from the moment when it asked, plus the time that pawld had the
 * call. */
static void hear_grant(struct story_world *world, unsigned c, const struct story_call *call)
{
    struct story_client *client = &world->clients[c];
    client->token = call->token;
    client->valid_until_us = client->asked_us + (call->served_ms + call->validity_ms) * 1000;
    memcpy(client->seat, call->seat, sizeof(client->seat));
    if (client->valid_until_us < world->now_us + LEAST_LEFT_US) {
        try_again(world, c);
        return;
    }
    client->believes = true;
    tell_of(world, c,
            (struct story_event){.kind = STORY_BELIEVES,
                                 .what = (int32_t)client->mode,
                                 .token = (int32_t)client->token,
                                 .value = (int32_t)client->valid_until_us});
    tell_overlaps(world, c);
    client->state = STORY_READING;
    ask_database(world, c, STORY_READ);
}

static void hear_answer(struct story_world *world, unsigned c, const struct story_call *call)
{
    struct story_client *client = &world->clients[c];
    if (call->task != client->task)
        return;
    if (client->state == STORY_RELEASING)
        end_task(world, c);
    else if (client->state == STORY_ASKING && call->error)
        try_again(world, c);
    else if (client->state == STORY_ASKING)
        hear_grant(world, c, call);
}

static void hear_result(struct story_world *world, unsigned c, const struct story_query *result)
{
    struct story_client *client = &world->clients[c];
    if (result->task != client->task)
        return;
    if (!result->accepted) {
        stop_believing(world, c, STORY_END_REFUSED);
        if (client->loops)
            try_again(world, c);
        else
            end_task(world, c);
    } else if (client->state == STORY_READING) {
        client->read_balance = result->balance;
        client->read_version = result->version;
        client->state = STORY_WORKING;
        wake_after(world, c, (uint64_t)client->work_ms * 1000);
    } else if (client->state == STORY_WRITING) {
        end_work(world, c);
    }
}

void story_client_hear(struct story_world *world, unsigned c, const struct story_message *message)
{
    if (message->kind == STORY_ANSWER)
        hear_answer(world, c, &message->call);
    else
        hear_result(world, c, &message->query);
}

void story_client_open(struct story_world *world, unsigned c)
{
    world->clients[c] = (struct story_client){.work_ms = STORY_WORK_MS};
}
