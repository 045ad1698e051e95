#include "api/story/heard.h"

#include "api/story/link.h"
#include "api/story/pawld.h"

#include <assert.h>

enum {
    PROBE_US = 500 * 1000,
};

/* ---- connections that end -------------------------------------------------------------------- */

static void tell_core_down(struct story_world *world, unsigned i)
{
    struct fence_event down = {
        .kind = FENCE_EVENT_DOWN, .master = i, .reason = FENCE_REASON_UNREACHABLE};
    story_pawld_step(world, &down);
}

/* Each request without an answer is lost, and the core hears so. */
static void lose_awaited(struct story_world *world, unsigned i)
{
    struct story_link *link = story_link_of(world, i);
    while (link->count > 0) {
        const struct story_awaited awaited = story_link_answered(link);
        struct fence_event lost = {.kind = FENCE_EVENT_REPLY, .master = i};
        if (awaited.kind == STORY_LOCK) {
            lost.reply = (struct fence_reply){.kind = FENCE_REPLY_LOST,
                                              .tag = awaited.tag,
                                              .locks = awaited.locks,
                                              .holder = "",
                                              .owner = ""};
        } else if (awaited.kind == STORY_REJOIN) {
            lost.kind = FENCE_EVENT_REJOIN;
            lost.rejoin = (struct fence_rejoin_reply){
                .outcome = FENCE_REJOIN_LOST, .tag = awaited.tag, .page = {.bytes = ""}};
        } else {
            continue;
        }
        story_pawld_step(world, &lost);
    }
}

/* pawld abandons the connection. */
static void fail_connection(struct story_world *world, unsigned i)
{
    story_link_close(world, i);
    tell_core_down(world, i);
    lose_awaited(world, i);
    story_link_connect(world, i);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void try_connection(struct story_world *world, unsigned i)
{
    struct story_link *link = story_link_of(world, i);
    const struct story_master *master = &world->masters[i];
    if (!master->is_up || master->is_cut) {
        tell_core_down(world, i);
        story_link_connect(world, i);
        return;
    }
    link->is_open = true;
    story_link_shake(world, i);
}

static void probe(struct story_world *world, unsigned i)
{
    story_link_timer(world, i, STORY_TIMER_LOOK, world->now_us + PROBE_US);
    if (story_link_of(world, i)->count < STORY_AWAITED_MAX / 2)
        story_link_ask(world, i, STORY_PROBE);
}

void story_link_due(struct story_world *world, unsigned i, enum story_master_timer timer)
{
    switch (timer) {
    case STORY_TIMER_CONNECT:
        try_connection(world, i);
        break;
    case STORY_TIMER_LOOK:
        probe(world, i);
        break;
    case STORY_TIMER_SHAKE:
    case STORY_TIMER_NOTICE:
        fail_connection(world, i);
        break;
    case STORY_TIMER_CLOSED:
        lose_awaited(world, i);
        break;
    case STORY_MASTER_TIMERS:
        assert(false);
        break;
    }
}

/* ---- at pawld -------------------------------------------------------------------------------- */

static bool facts_lack_writes(const struct fence_facts *facts)
{
    return facts->marked && fence_facts_lost_writes(facts, facts->member - 1);
}

static void learn_facts(struct story_world *world, unsigned i, const struct fence_facts *facts)
{
    struct story_link *link = story_link_of(world, i);
    struct fence_event learnt = {.kind = FENCE_EVENT_FACTS, .master = i, .facts = *facts};
    if (!link->is_shaken)
        story_link_timer(world, i, STORY_TIMER_LOOK, world->now_us + PROBE_US);
    story_link_timer(world, i, STORY_TIMER_SHAKE, FENCE_NEVER);
    link->is_shaken = true;
    link->lost_writes = facts_lack_writes(facts);
    story_pawld_step(world, &learnt);
}

static void hear_positions(struct story_world *world, unsigned i, const struct fence_facts *facts)
{
    struct fence_event heard = {.kind = FENCE_EVENT_HEARD, .master = i};
    heard.heard.positions = facts->heard;
    heard.heard.writes = facts->writes;
    story_link_timer(world, i, STORY_TIMER_SHAKE, FENCE_NEVER);
    if (facts_lack_writes(facts) && !story_link_of(world, i)->lost_writes)
        fail_connection(world, i);
    else
        story_pawld_step(world, &heard);
}

/* Reports whether the request as a whole did not run. */
static bool tell_core(struct story_world *world, unsigned i, const struct story_reply *reply)
{
    struct fence_event event = {.master = i};
    switch (reply->kind) {
    case STORY_LOCK:
        event.kind = FENCE_EVENT_REPLY;
        event.reply = reply->lock;
        if (reply->lock.kind != FENCE_REPLY_REFUSED)
            story_link_of(world, i)->failures = 0;
        story_pawld_step(world, &event);
        return reply->lock.kind == FENCE_REPLY_REFUSED;
    case STORY_REJOIN:
        event.kind = FENCE_EVENT_REJOIN;
        event.rejoin = reply->rejoin;
        story_pawld_step(world, &event);
        return reply->rejoin.outcome == FENCE_REJOIN_LOST ||
               reply->rejoin.outcome == FENCE_REJOIN_REFUSED;
    case STORY_FACTS:
        learn_facts(world, i, &reply->facts);
        return false;
    case STORY_PROBE:
        hear_positions(world, i, &reply->facts);
        return false;
    default:
        assert(reply->kind == STORY_RESTAMP);
        return false; /* the handshake behind it reads the marker again */
    }
}

void story_heard(struct story_world *world, struct story_message *message)
{
    const unsigned i = (unsigned)(message->from - STORY_MASTER);
    struct story_link *link = story_link_of(world, i);
    if (link->generation != message->generation)
        return;
    if (message->kind == STORY_RELEASED) {
        struct fence_event word = {.kind = FENCE_EVENT_RELEASED,
                                   .released = {.resource = message->released.resource,
                                                .lock_id = message->released.lock_id}};
        story_pawld_step(world, &word);
        return;
    }
    const struct story_awaited awaited = story_link_answered(link);
    assert(awaited.kind == message->reply.kind);
    const uint32_t generation = link->generation;
    /* As in pawld, a new handshake finds the reason. */
    if (tell_core(world, i, &message->reply) && link->generation == generation)
        fail_connection(world, i);
}
