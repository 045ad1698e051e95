/* Named counters (FENCE_REQUEST_COUNT): count_named() of storage/redis/lua/rare/count.lua, on
 * rows. */
#ifndef FENCE_MASTER_COUNT_H
#define FENCE_MASTER_COUNT_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* Counts within @turn, and sets the kind and the number of @answer's reply. */
void fence_master_count(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_master_answer *answer);

#endif
