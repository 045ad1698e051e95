/* Breaking the grant of a lock id. */
#ifndef STORAGE_SQLITE_BREAKING_H
#define STORAGE_SQLITE_BREAKING_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

/* Does BREAK. */
void storage_break(struct storage_state *state, const struct fence_request *request,
                   struct storage_answer *answer);

/* @answer of the EXTEND or JOIN @request: where nothing was done and the grant was broken, it says
 * so. */
void storage_break_tell(struct storage_state *state, const struct fence_request *request,
                        struct storage_answer *answer);

#endif
