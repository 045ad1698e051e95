/* Taking locks: step 1. Asking twice for one attempt changes nothing. */
#ifndef STORAGE_SQLITE_TAKE_H
#define STORAGE_SQLITE_TAKE_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

void storage_take(struct storage_state *state, const struct fence_request *request,
                  struct storage_answer *answer);

#endif
