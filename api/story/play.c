#include "api/story/play.h"

#include "api/story/client.h"
#include "api/story/link.h"
#include "api/story/loop.h"
#include "api/story/served.h"

#include <assert.h>
#include <stddef.h>

enum {
    CLOCK_MS_MAX = 10 * 60 * 1000,
    LATER_MS_MAX = 10 * 60 * 1000,
};

static struct story_world world;

/* ---- clients --------------------------------------------------------------------------------- */

static void pause_client(unsigned c)
{
    if (world.clients[c].is_paused)
        return;
    world.clients[c].is_paused = true;
    story_tell(&world,
               (struct story_event){.kind = STORY_PAUSED, .who = STORY_CLIENT + (int32_t)c});
}

/* The client hears now what came meanwhile, in the order in which it was sent. */
static void resume_client(unsigned c)
{
    if (!world.clients[c].is_paused)
        return;
    world.clients[c].is_paused = false;
    for (unsigned m = 0; m < STORY_MESSAGES_MAX; m++) {
        struct story_message *message = &world.messages[m];
        if (message->is_used && message->to == STORY_CLIENT + (int32_t)c &&
            message->at_us == FENCE_NEVER)
            message->at_us = world.now_us;
    }
    story_tell(&world,
               (struct story_event){.kind = STORY_RESUMED, .who = STORY_CLIENT + (int32_t)c});
}

static void loop_client(unsigned c, int32_t mode)
{
    world.clients[c].loops = mode >= 0;
    if (mode >= 0 && !world.clients[c].is_paused)
        story_client_begin(&world, c, (enum fence_mode)mode);
}

static int32_t operate_client(enum story_op op, unsigned c, int32_t value)
{
    switch (op) {
    case STORY_OP_TASK:
    case STORY_OP_LOOP:
        if (value < (op == STORY_OP_LOOP ? -1 : 0) || value > FENCE_MODE_WRITE)
            return FENCE_EINVAL;
        if (op == STORY_OP_LOOP)
            loop_client(c, value);
        else if (!world.clients[c].is_paused)
            story_client_begin(&world, c, (enum fence_mode)value);
        return 0;
    case STORY_OP_PAUSE:
        pause_client(c);
        return 0;
    case STORY_OP_RESUME:
        resume_client(c);
        return 0;
    case STORY_OP_WORK:
        if (value < 0 || value > STORY_WORK_MS_MAX)
            return FENCE_EINVAL;
        world.clients[c].work_ms = (uint32_t)value;
        return 0;
    default:
        assert(op == STORY_OP_HOLD);
        if (value < 0 || value > LATER_MS_MAX)
            return FENCE_EINVAL;
        world.clients[c].hold_ms = (uint32_t)value;
        return 0;
    }
}

/* ---- masters --------------------------------------------------------------------------------- */

static void tell_of_master(enum story_event_kind kind, unsigned i, int32_t value)
{
    story_tell(&world, (struct story_event){.kind = (int32_t)kind,
                                            .who = STORY_MASTER + (int32_t)i,
                                            .value = value});
    story_served_tell(&world, i);
}

static void begin_process(enum story_op op, unsigned i)
{
    struct story_master *master = &world.masters[i];
    if (op == STORY_OP_START && master->is_up)
        return;
    story_link_break(&world, i);
    world.runs++;
    if (op == STORY_OP_START)
        story_master_restart(master, world.runs);
    else if (op == STORY_OP_WIPE)
        story_master_wipe(master, world.runs);
    else
        story_master_fail_over(master, world.runs);
    tell_of_master(op == STORY_OP_START  ? STORY_STARTED
                   : op == STORY_OP_WIPE ? STORY_WIPED
                                         : STORY_FAILED_OVER,
                   i, 0);
}

static void cut_master(unsigned i, bool cut)
{
    if (world.masters[i].is_cut == cut)
        return;
    world.masters[i].is_cut = cut;
    tell_of_master(cut ? STORY_CUT : STORY_JOINED, i, 0);
}

static int32_t set_clock(unsigned i, int32_t by_ms)
{
    struct story_master *master = &world.masters[i];
    const int64_t clock_ms = master->clock_ms + by_ms;
    if (clock_ms < -CLOCK_MS_MAX || clock_ms > CLOCK_MS_MAX)
        return FENCE_EINVAL;
    master->clock_ms = clock_ms;
    tell_of_master(STORY_CLOCK, i, by_ms);
    return 0;
}

static int32_t operate_master(enum story_op op, unsigned i, int32_t value)
{
    switch (op) {
    case STORY_OP_KILL:
        if (!world.masters[i].is_up)
            return 0;
        world.masters[i].is_up = false;
        story_link_break(&world, i);
        tell_of_master(STORY_KILLED, i, 0);
        return 0;
    case STORY_OP_START:
    case STORY_OP_WIPE:
    case STORY_OP_FAIL_OVER:
        begin_process(op, i);
        return 0;
    case STORY_OP_CLOCK:
        return set_clock(i, value);
    default:
        assert(op == STORY_OP_CUT || op == STORY_OP_JOIN);
        cut_master(i, op == STORY_OP_CUT);
        return 0;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static int32_t delay_message(int32_t id, int32_t by_ms)
{
    if (by_ms < 0 || by_ms > LATER_MS_MAX)
        return FENCE_EINVAL;
    for (unsigned m = 0; m < STORY_MESSAGES_MAX; m++) {
        struct story_message *message = &world.messages[m];
        if (!message->is_used || message->id != id || message->at_us == FENCE_NEVER)
            continue;
        if (message->kind >= STORY_LOCK)
            return FENCE_EINVAL; /* those of a connection stay in their order */
        message->at_us += (uint64_t)by_ms * 1000;
        story_tell(&world, (struct story_event){.kind = STORY_DELAYED,
                                                .who = message->from,
                                                .whom = message->to,
                                                .what = (int32_t)message->kind,
                                                .id = id,
                                                .value = (int32_t)message->at_us});
    }
    return 0;
}

const char *story_op_name(int32_t op)
{
    static const char *const names[] = {
#define STORY_OP_TEXT(name, text) [STORY_OP_##name] = (text),
        STORY_OP_LIST(STORY_OP_TEXT)
#undef STORY_OP_TEXT
    };
    return op >= 0 && op < STORY_OPS ? names[op] : NULL;
}

int32_t story_op(int32_t op, int32_t whom, int32_t value)
{
    if (op < 0 || op >= STORY_OPS)
        return FENCE_EINVAL;
    if (op == STORY_OP_DELAY)
        return delay_message(whom, value);
    if (op == STORY_OP_GUARD) {
        world.database.is_guarded = value != 0;
        story_tell(&world, (struct story_event){
                               .kind = STORY_GUARD, .who = STORY_DATABASE, .value = value != 0});
        return 0;
    }
    const bool is_clients = op <= STORY_OP_HOLD;
    if (is_clients && story_is_client(whom))
        return operate_client((enum story_op)op, (unsigned)(whom - STORY_CLIENT), value);
    if (!is_clients && story_is_master(&world, whom))
        return operate_master((enum story_op)op, (unsigned)(whom - STORY_MASTER), value);
    return FENCE_EINVAL;
}

int32_t story_open(uint32_t seed, uint32_t masters)
{
    story_world_close(&world);
    return story_world_open(&world, seed, masters);
}

int32_t story_run(int32_t until_ms)
{
    return until_ms < 0 ? (int32_t)(world.now_us / 1000)
                        : (int32_t)(story_world_run(&world, (uint64_t)until_ms * 1000) / 1000);
}

const struct story_event *story_events(void)
{
    return world.events;
}

int32_t story_events_count(void)
{
    return (int32_t)world.events_count;
}

void story_taken(void)
{
    world.events_count = 0;
}
