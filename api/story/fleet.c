#include "api/story/fleet.h"

#include "fence/bootstrap/bootstrap.h"

#include <assert.h>

enum {
    STEPS_MAX = 1000,
};

static struct fence_bootstrap bootstrap;

int story_fleet_make(struct story_world *world)
{
    struct fence_bootstrap_params params = {
        .n = world->masters_count, .ttl_max_ms = STORY_TTL_MAX_MS, .readers = STORY_READERS};
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
    struct fence_bootstrap_effect effect;
    struct fence_facts facts;
    struct fence_rejoin_reply reply;
    struct story_page page;
    story_text_copy(params.fleet_id, sizeof(params.fleet_id),
                    "5709000000000000000000000000000000000000");
    for (unsigned i = 0; i < params.n; i++)
        params.random[i] = story_rng_next(&world->rng);
    fence_bootstrap_init(&bootstrap, &params);
    for (unsigned step = 0; step < STEPS_MAX; step++) {
        fence_bootstrap_step(&bootstrap, &event, &effect);
        if (effect.act == FENCE_BOOTSTRAP_END)
            return fence_bootstrap_error(&bootstrap);
        assert(effect.act != FENCE_BOOTSTRAP_WAIT && "a new fleet waits for no lease");
        event = (struct fence_bootstrap_event){.master = effect.master, .now_us = step};
        struct story_master *master = &world->masters[effect.master];
        if (effect.act == FENCE_BOOTSTRAP_LOOK) {
            story_master_facts(master, &facts);
            event.kind = FENCE_BOOTSTRAP_FACTS;
            event.facts = &facts;
        } else {
            reply = story_master_rejoin(master, &effect.request, 0, &page);
            event.kind = FENCE_BOOTSTRAP_REPLY;
            event.reply = &reply;
        }
    }
    assert(false && "a new fleet is made in few steps");
    return FENCE_EIO;
}
