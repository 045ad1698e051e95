/* Named counters (FENCE_REQUEST_COUNT): count_named() of storage/redis/lua/seldom.lua, on rows. */
#ifndef STORAGE_SQLITE_COUNT_H
#define STORAGE_SQLITE_COUNT_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

/* Counts within the turn of @state, and sets the kind and the number of @answer's reply. */
void storage_count(struct storage_state *state, const struct fence_request *request,
                   struct storage_answer *answer);

#endif
