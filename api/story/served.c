#include "api/story/served.h"

#include "api/story/link.h"

#include <string.h>

/* The client that has @lock, by its label. */
static int32_t labelled_client(const struct fence_stored_lock *lock)
{
    const int32_t c = lock->owner[0] - 'A';
    return c >= 0 && c < STORY_CLIENTS ? c : -1;
}

void story_served_tell(struct story_world *world, unsigned i)
{
    const struct story_master *master = &world->masters[i];
    const int64_t now_ms = (int64_t)story_master_clock_ms(master, world->now_us);
    int32_t held[3] = {0, 0, 0};
    for (unsigned k = 0; k < STORY_LOCKS; k++) {
        const struct fence_stored_lock *lock = &master->memory.kept[k].lock;
        const int64_t left_ms = (int64_t)lock->expires_ms - now_ms;
        if (!lock->present || left_ms <= 0 || labelled_client(lock) < 0)
            continue;
        const int32_t until_us = (int32_t)((int64_t)world->now_us + left_ms * 1000);
        held[0] |= 1 << labelled_client(lock);
        held[1] = lock->number > held[1] ? (int32_t)lock->number : held[1];
        held[2] = until_us > held[2] ? until_us : held[2];
    }
    const int32_t *told = world->held[i];
    const int32_t moved_us = held[2] - told[2];
    if (held[0] == told[0] && held[1] == told[1] && moved_us > -2000 && moved_us < 2000)
        return; /* but for what rounding makes of an instant */
    memcpy(world->held[i], held, sizeof(held));
    story_tell(world, (struct story_event){.kind = STORY_HOLDS,
                                           .who = STORY_MASTER + (int32_t)i,
                                           .what = held[0],
                                           .id = (int32_t)master->memory.counter,
                                           .token = held[1],
                                           .value = held[2]});
}

static void keep_connection(const struct story_message *from, struct story_message *to)
{
    to->generation = from->generation;
    to->run = from->run;
}

void story_served(struct story_world *world, struct story_message *message)
{
    const unsigned i = (unsigned)(message->to - STORY_MASTER);
    struct story_link *link = story_link_of(world, i);
    struct story_master *master = &world->masters[i];
    struct story_done done;
    if (!master->is_up || master->run != message->run) {
        story_lose(world, message);
        return;
    }
    const bool is_old = message->generation != link->generation;
    uint64_t old_us = 0; /* a closed connection has no order any more */
    struct story_message *reply = story_send(
        world, STORY_REPLY, message->to, STORY_PAWLD,
        story_link_arrival_us(world, is_old ? &old_us : &link->from_us), (int64_t)message->kind);
    keep_connection(message, reply);
    story_master_execute(master, &message->ask, world->now_us, &reply->reply, &done);
    story_served_tell(world, i);
    if (!done.released)
        return;
    struct story_message *word =
        story_send(world, STORY_RELEASED, message->to, STORY_PAWLD,
                   story_link_arrival_us(world, is_old ? &old_us : &link->from_us), 0);
    keep_connection(message, word);
    word->released = done.which;
}
