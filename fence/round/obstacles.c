#include "fence/round/obstacles.h"

#include "fence/protocol/error.h"
#include "fence/protocol/lease.h"

#include <string.h>

static const struct {
    enum fence_reply_kind kind;
    int error;
} rows[FENCE_OBSTACLES] = {
    [FENCE_OBSTACLE_FOREIGN] = {FENCE_REPLY_FOREIGN, FENCE_EFOREIGN},
    [FENCE_OBSTACLE_ENDLESS] = {FENCE_REPLY_ENDLESS, FENCE_EENDLESS},
    [FENCE_OBSTACLE_SPENT] = {FENCE_REPLY_SPENT, FENCE_ESPENT},
    [FENCE_OBSTACLE_MISCOUNTED] = {FENCE_REPLY_MISCOUNTED, FENCE_EMISCOUNTED},
    [FENCE_OBSTACLE_WRITERS] = {FENCE_REPLY_WRITERS, FENCE_EWRITERS},
    [FENCE_OBSTACLE_FULL] = {FENCE_REPLY_FULL, FENCE_ECOUNTERS},
};

void fence_obstacles_begin(struct fence_obstacles *obstacles)
{
    memset(obstacles, 0, sizeof(*obstacles));
}

bool fence_obstacles_has(enum fence_reply_kind kind)
{
    for (unsigned o = 0; o < FENCE_OBSTACLES; o++)
        if (rows[o].kind == kind)
            return true;
    return false;
}

void fence_obstacles_record(struct fence_obstacles *obstacles, const struct fence_reply *reply)
{
    for (unsigned o = 0; o < FENCE_OBSTACLES; o++) {
        if (rows[o].kind != reply->kind)
            continue;
        obstacles->met++;
        obstacles->count[o]++;
        obstacles->blocked[o] = reply->blocked;
    }
}

int fence_obstacles_error(const struct fence_obstacles *obstacles, const struct fence_tally *tally,
                          unsigned *ret_blocked)
{
    unsigned most = 0;
    for (unsigned o = 1; o < FENCE_OBSTACLES; o++)
        if (obstacles->count[o] > obstacles->count[most])
            most = o;
    unsigned unheard = fence_tally_unknown(tally) + fence_tally_count(tally, FENCE_PART_REFUSED);
    if (obstacles->met == 0 || unheard - obstacles->met >= fence_blocking(tally->n))
        return FENCE_ENOQUORUM;
    *ret_blocked = obstacles->blocked[most];
    return rows[most].error;
}
