#include "api/story/loop.h"

#include "api/story/client.h"
#include "api/story/database.h"
#include "api/story/fleet.h"
#include "api/story/heard.h"
#include "api/story/pawld.h"
#include "api/story/served.h"

#include <assert.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------------------------- */

/* Reports whether the network between the two ends of @message is cut. */
static bool is_between_cut(const struct story_world *world, const struct story_message *message)
{
    const int32_t end = story_is_master(world, message->from) ? message->from : message->to;
    return story_is_master(world, end) && world->masters[end - STORY_MASTER].is_cut;
}

static void deliver(struct story_world *world, struct story_message *message)
{
    if (is_between_cut(world, message)) {
        story_lose(world, message);
        return;
    }
    if (story_is_client(message->to) && world->clients[message->to - STORY_CLIENT].is_paused) {
        message->at_us = FENCE_NEVER; /* until the client goes on */
        return;
    }
    story_tell_message(world, STORY_ARRIVED, message, 0, world->now_us);
    if (story_is_client(message->to))
        story_client_hear(world, (unsigned)(message->to - STORY_CLIENT), message);
    else if (message->to == STORY_DATABASE)
        story_database_asked(world, message);
    else if (story_is_master(world, message->to))
        story_served(world, message);
    else if (story_is_client(message->from))
        story_pawld_asked(world, message);
    else
        story_heard(world, message);
    message->is_used = false;
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool is_asleep(const struct story_world *world, unsigned timer)
{
    return timer >= STORY_TIMER_CLIENT && timer < STORY_TIMER_MASTER &&
           world->clients[timer - STORY_TIMER_CLIENT].is_paused;
}

static void ring_timer(struct story_world *world, unsigned timer)
{
    world->timers[timer] = FENCE_NEVER;
    if (timer == STORY_TIMER_TICK) {
        struct fence_event tick = {.kind = FENCE_EVENT_TICK};
        story_pawld_step(world, &tick);
    } else if (timer < STORY_TIMER_MASTER) {
        story_client_due(world, timer - STORY_TIMER_CLIENT);
    } else {
        const unsigned place = timer - STORY_TIMER_MASTER;
        story_link_due(world, place / STORY_MASTER_TIMERS,
                       (enum story_master_timer)(place % STORY_MASTER_TIMERS));
    }
}

/* The next thing that comes due: a timer, or a message. */
struct story_due {
    uint64_t at_us;
    unsigned timer;
    struct story_message *message; /* NULL: the timer */
};

/* Timers come before messages of the same instant, and messages in the order in which they were
 * sent. */
static struct story_due find_due(struct story_world *world)
{
    struct story_due due = {.at_us = FENCE_NEVER};
    for (unsigned timer = 0; timer < STORY_TIMERS; timer++) {
        if (world->timers[timer] >= due.at_us || is_asleep(world, timer))
            continue;
        due.at_us = world->timers[timer];
        due.timer = timer;
    }
    for (unsigned m = 0; m < STORY_MESSAGES_MAX; m++) {
        struct story_message *message = &world->messages[m];
        if (!message->is_used || message->at_us > due.at_us || message->at_us == FENCE_NEVER)
            continue;
        if (message->at_us == due.at_us && (!due.message || due.message->id < message->id))
            continue;
        due.at_us = message->at_us;
        due.message = message;
    }
    return due;
}

uint64_t story_world_run(struct story_world *world, uint64_t until_us)
{
    const uint64_t end_us = (uint64_t)STORY_RUN_MS_MAX * 1000;
    until_us = until_us < end_us ? until_us : end_us;
    while (world->events_count + STORY_EVENTS_SPARE < STORY_EVENTS_MAX) {
        const struct story_due due = find_due(world);
        if (due.at_us > until_us) {
            world->now_us = until_us > world->now_us ? until_us : world->now_us;
            break;
        }
        if (due.at_us > world->now_us)
            world->now_us = due.at_us;
        if (due.message)
            deliver(world, due.message);
        else
            ring_timer(world, due.timer);
    }
    return world->now_us;
}

/* ---- opening --------------------------------------------------------------------------------- */

int story_world_open(struct story_world *world, uint64_t seed, unsigned masters)
{
    if (masters != 3 && masters != STORY_MASTERS_MAX)
        return FENCE_EINVAL;
    memset(world, 0, sizeof(*world));
    world->rng.state = seed;
    world->masters_count = masters;
    for (unsigned timer = 0; timer < STORY_TIMERS; timer++)
        world->timers[timer] = FENCE_NEVER;
    for (unsigned i = 0; i < masters; i++)
        story_master_start(&world->masters[i], i, masters, ++world->runs);
    for (unsigned c = 0; c < STORY_CLIENTS; c++)
        story_client_open(world, c);
    story_database_open(world);
    int error = story_fleet_make(world);
    if (!error)
        error = story_pawld_open(world);
    return error;
}

void story_world_close(struct story_world *world)
{
    story_pawld_close(world);
}
