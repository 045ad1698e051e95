#include "server/loop/effects.h"

#include <assert.h>

static void act_on(struct storage_master *master, const struct fence_facts *facts,
                   const struct fence_effect *effect)
{
    switch (effect->kind) {
    case FENCE_EFFECT_REJOIN:
        storage_master_rejoin(master, &effect->rejoin);
        break;
    case FENCE_EFFECT_HANDSHAKE:
        storage_master_handshake(master);
        break;
    case FENCE_EFFECT_RESTAMP:
        storage_master_restamp(master, facts);
        break;
    case FENCE_EFFECT_PLACE:
        storage_master_place(master, &effect->place);
        break;
    case FENCE_EFFECT_RESET:
        storage_master_reset(master);
        break;
    case FENCE_EFFECT_SEND:
    case FENCE_EFFECT_ANSWER:
        assert(false);
        break;
    }
}

void server_effects_act(struct storage_master *const masters[], const struct fence_fleet *fleet,
                        const struct fence_effect *effect)
{
    assert(effect->kind != FENCE_EFFECT_ANSWER);
    if (effect->kind == FENCE_EFFECT_SEND) { /* one request, for any number of masters */
        storage_masters_submit(masters, effect->masters, &effect->request, fleet);
        return;
    }
    for (unsigned i = 0; i < fleet->n; i++)
        if (effect->masters >> i & 1)
            act_on(masters[i], &fleet->master[i].facts, effect);
}
