#include "api/story/world.h"

#include <assert.h>
#include <string.h>

enum {
    CLIENT_LEAST_US = 60 * 1000, /* least time of a message between a client and another party */
    CLIENT_MOST_US = 160 * 1000,
};

/* ---- telling --------------------------------------------------------------------------------- */

void story_tell(struct story_world *world, struct story_event event)
{
    assert(world->events_count < STORY_EVENTS_MAX);
    event.at_us = (int32_t)world->now_us;
    world->events[world->events_count++] = event;
}

void story_tell_message(struct story_world *world, enum story_event_kind kind,
                        const struct story_message *message, int64_t token, uint64_t at_us)
{
    story_tell(world, (struct story_event){.kind = (int32_t)kind,
                                           .who = message->from,
                                           .whom = message->to,
                                           .what = (int32_t)message->kind,
                                           .id = message->id,
                                           .token = (int32_t)token,
                                           .value = (int32_t)at_us});
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct story_message *find_unused(struct story_world *world)
{
    for (unsigned m = 0; m < STORY_MESSAGES_MAX; m++)
        if (!world->messages[m].is_used)
            return &world->messages[m];
    return &world->scrap;
}

struct story_message *story_send(struct story_world *world, enum story_message_kind kind,
                                 int32_t from, int32_t to, uint64_t at_us, int64_t token)
{
    struct story_message *message = find_unused(world);
    memset(message, 0, sizeof(*message));
    message->is_used = true;
    message->id = ++world->messages_count;
    message->kind = kind;
    message->from = from;
    message->to = to;
    message->at_us = at_us;
    story_tell_message(world, STORY_SENT, message, token, at_us);
    if (message == &world->scrap)
        story_lose(world, message);
    return message;
}

void story_lose(struct story_world *world, struct story_message *message)
{
    story_tell_message(world, STORY_LOST, message, 0, 0);
    message->is_used = false;
}

/* ---- time ------------------------------------------------------------------------------------ */

void story_timer_set(struct story_world *world, unsigned timer, uint64_t at_us)
{
    assert(timer < STORY_TIMERS);
    world->timers[timer] = at_us;
}

uint64_t story_client_arrival_us(struct story_world *world)
{
    return world->now_us + story_rng_between(&world->rng, CLIENT_LEAST_US, CLIENT_MOST_US);
}
