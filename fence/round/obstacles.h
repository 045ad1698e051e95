/* Obstacles: reasons that keep answering masters from a lock, and that no retry removes. Another
 * program wrote the key or the counter. The counter is used up, or there are too many counters. One
 * seat of a writer would be released alone. */
#ifndef FENCE_ROUND_OBSTACLES_H
#define FENCE_ROUND_OBSTACLES_H

#include "fence/protocol/message.h"
#include "fence/round/tally.h"

enum fence_obstacle {
    FENCE_OBSTACLE_FOREIGN,    /* FENCE_EFOREIGN */
    FENCE_OBSTACLE_ENDLESS,    /* FENCE_EENDLESS */
    FENCE_OBSTACLE_SPENT,      /* FENCE_ESPENT */
    FENCE_OBSTACLE_MISCOUNTED, /* FENCE_EMISCOUNTED */
    FENCE_OBSTACLE_WRITERS,    /* FENCE_EWRITERS */
    FENCE_OBSTACLE_FULL,       /* FENCE_ECOUNTERS */
    FENCE_OBSTACLES,
};

/* Those of one round. */
struct fence_obstacles {
    unsigned met; /* masters that named one */
    unsigned count[FENCE_OBSTACLES];
    unsigned blocked[FENCE_OBSTACLES]; /* for a group: the index of the lock that was named last */
};

void fence_obstacles_begin(struct fence_obstacles *obstacles);

/* Reports whether a reply of this @kind names one. */
bool fence_obstacles_has(enum fence_reply_kind kind);

/* Counts @reply, if it names one. At most once a master and round. */
void fence_obstacles_record(struct fence_obstacles *obstacles, const struct fence_reply *reply);

/* Why a round of @tally found no majority. It is the obstacle named most often, if a majority was
 * left without the masters that are down, silent or refuse otherwise. Else it is FENCE_ENOQUORUM.
 * @ret_blocked: of a group, the index of the lock in the way; untouched with FENCE_ENOQUORUM.
 */
int fence_obstacles_error(const struct fence_obstacles *obstacles, const struct fence_tally *tally,
                          unsigned *ret_blocked);

#endif
