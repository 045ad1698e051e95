/* Extends a lock, and joins if the lock is missing (FENCE_REQUEST_JOIN). */
#ifndef FENCE_MASTER_EXTEND_H
#define FENCE_MASTER_EXTEND_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

void fence_master_extend(struct fence_turn *turn, const struct fence_request *request,
                         struct fence_master_answer *answer);

#endif
