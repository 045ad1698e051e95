/* Breaking the grant of a lock id. */
#ifndef FENCE_MASTER_BREAK_H
#define FENCE_MASTER_BREAK_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* Does BREAK. */
void fence_master_break(struct fence_turn *turn, const struct fence_request *request,
                        struct fence_master_answer *answer);

/* Completes @answer to @request, an EXTEND or JOIN: if nothing was done and the grant was broken,
 * the answer reports the break. */
void fence_master_tell_broken(struct fence_turn *turn, const struct fence_request *request,
                              struct fence_master_answer *answer);

#endif
