/* The acts of a master on a request about locks (fence/protocol/message.h): the rules of
 * storage/redis/lua/locks.lua and rare/. */
#ifndef FENCE_MASTER_REQUESTS_H
#define FENCE_MASTER_REQUESTS_H

#include "fence/master/answer.h"
#include "fence/master/marker.h"

/* Does @request within @turn, and sets @answer's reply. If @refusal is not FENCE_REFUSAL_NONE, it
 * does nothing and answers the refusal: the view of a FENCE_REPLY_STALE belongs to the turn. The
 * caller provides the memory of @answer's numbers. */
void fence_master_do(struct fence_turn *turn, enum fence_refusal refusal,
                     const struct fence_request *request, struct fence_master_answer *answer);

#endif
