#include "api/story/link.h"

#include <assert.h>
#include <string.h>

enum {
    MASTER_LEAST_US = 8 * 1000, /* and between pawld and a master */
    MASTER_MOST_US = 30 * 1000,
    BACKOFF_US = 20 * 1000, /* after the first failure; it doubles with each */
    BACKOFF_DOUBLINGS = 3,
    SHAKE_US = 400 * 1000, /* a handshake or a probe may take so long */
};

struct story_link *story_link_of(struct story_world *world, unsigned i)
{
    return &world->pawld.links[i];
}

void story_link_timer(struct story_world *world, unsigned i, enum story_master_timer timer,
                      uint64_t at_us)
{
    story_timer_set(world, STORY_TIMER_MASTER + i * STORY_MASTER_TIMERS + timer, at_us);
}

uint64_t story_link_arrival_us(struct story_world *world, uint64_t *last_us)
{
    const uint64_t at_us =
        world->now_us + story_rng_between(&world->rng, MASTER_LEAST_US, MASTER_MOST_US);
    *last_us = at_us > *last_us ? at_us : *last_us + 1;
    return *last_us;
}

/* ---- opening and closing --------------------------------------------------------------------- */

void story_link_connect(struct story_world *world, unsigned i)
{
    struct story_link *link = story_link_of(world, i);
    const unsigned doublings =
        link->failures < BACKOFF_DOUBLINGS ? link->failures : BACKOFF_DOUBLINGS;
    const uint32_t backoff_us = (uint32_t)BACKOFF_US << doublings;
    link->failures++;
    story_link_timer(world, i, STORY_TIMER_CONNECT,
                     world->now_us + story_rng_between(&world->rng, backoff_us / 2, backoff_us));
}

void story_link_open(struct story_world *world, unsigned i)
{
    story_link_timer(world, i, STORY_TIMER_CONNECT, world->now_us);
}

void story_link_close(struct story_world *world, unsigned i)
{
    struct story_link *link = story_link_of(world, i);
    link->is_open = link->is_shaken = false;
    link->generation++;
    link->to_us = link->from_us = 0;
    story_link_timer(world, i, STORY_TIMER_LOOK, FENCE_NEVER);
    story_link_timer(world, i, STORY_TIMER_SHAKE, FENCE_NEVER);
    story_link_timer(world, i, STORY_TIMER_NOTICE, FENCE_NEVER);
}

void story_link_reset(struct story_world *world, unsigned i)
{
    if (!story_link_of(world, i)->is_open)
        return;
    story_link_close(world, i);
    story_link_timer(world, i, STORY_TIMER_CLOSED, world->now_us);
    story_link_connect(world, i);
}

void story_link_break(struct story_world *world, unsigned i)
{
    if (!story_link_of(world, i)->is_open)
        return;
    story_link_timer(world, i, STORY_TIMER_NOTICE,
                     world->now_us +
                         story_rng_between(&world->rng, MASTER_LEAST_US, MASTER_MOST_US));
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* A request to master @i; its caller fills in the rest. */
static struct story_ask *ask_master(struct story_world *world, unsigned i,
                                    enum story_message_kind kind, uint64_t tag, unsigned locks)
{
    struct story_link *link = story_link_of(world, i);
    const unsigned place = (link->first + link->count) % STORY_AWAITED_MAX;
    assert(link->count < STORY_AWAITED_MAX);
    link->awaited[place] = (struct story_awaited){.kind = kind, .tag = tag, .locks = locks};
    link->count++;
    struct story_message *message = story_send(world, kind, STORY_PAWLD, STORY_MASTER + (int32_t)i,
                                               story_link_arrival_us(world, &link->to_us), 0);
    message->generation = link->generation;
    message->run = world->masters[i].run;
    message->ask.kind = kind;
    message->ask.tag = tag;
    return &message->ask;
}

void story_link_send(struct story_world *world, unsigned i, const struct fence_request *request)
{
    const unsigned locks = request->group ? request->group->count : 1;
    struct story_ask *ask = ask_master(world, i, STORY_LOCK, request->tag, locks);
    ask->view = fence_core_fleet(world->pawld.core)->master[i].named;
    story_lock_request_copy(&ask->lock, request);
}

void story_link_rejoin(struct story_world *world, unsigned i,
                       const struct fence_rejoin_request *request)
{
    struct story_ask *ask = ask_master(world, i, STORY_REJOIN, request->tag, 0);
    story_rejoin_request_copy(&ask->rejoin, request);
}

void story_link_ask(struct story_world *world, unsigned i, enum story_message_kind kind)
{
    const struct fence_fleet *fleet = fence_core_fleet(world->pawld.core);
    struct story_ask *ask = ask_master(world, i, kind, 0, 0);
    ask->tells = fleet->fleet_id[0] != '\0';
    ask->known = fleet->known;
    story_link_timer(world, i, STORY_TIMER_SHAKE, world->now_us + SHAKE_US);
}

void story_link_shake(struct story_world *world, unsigned i)
{
    story_link_ask(world, i, STORY_FACTS);
}

void story_link_restamp(struct story_world *world, unsigned i)
{
    const struct fence_fleet *fleet = fence_core_fleet(world->pawld.core);
    struct story_ask *ask = ask_master(world, i, STORY_RESTAMP, 0, 0);
    ask->rejoin.seen = fleet->master[i].facts;
    story_link_shake(world, i);
}

struct story_awaited story_link_answered(struct story_link *link)
{
    assert(link->count > 0);
    const struct story_awaited awaited = link->awaited[link->first];
    link->first = (link->first + 1) % STORY_AWAITED_MAX;
    link->count--;
    return awaited;
}
