/* Takes locks. A second request for the same attempt changes nothing. */
#ifndef FENCE_MASTER_TAKE_H
#define FENCE_MASTER_TAKE_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

void fence_master_take(struct fence_turn *turn, const struct fence_request *request,
                       struct fence_master_answer *answer);

#endif
