/* What a master does on a request about locks (fence/protocol/message.h): the rules of
 * storage/redis/lua/locks.lua and seldom.lua, on rows. */
#ifndef STORAGE_SQLITE_LOCKS_H
#define STORAGE_SQLITE_LOCKS_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

/* Does what @request says, within the turn of @state, and sets @answer's reply. Its numbers are
 * lent by the caller. What it writes stands once the turn has ended well. */
void storage_locks_do(struct storage_state *state, const struct fence_request *request,
                      struct storage_answer *answer);

#endif
