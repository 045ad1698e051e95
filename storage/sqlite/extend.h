/* Extending a lock, and joining where it is lacking (FENCE_REQUEST_JOIN). */
#ifndef STORAGE_SQLITE_EXTEND_H
#define STORAGE_SQLITE_EXTEND_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

void storage_extend(struct storage_state *state, const struct fence_request *request,
                    struct storage_answer *answer);

#endif
