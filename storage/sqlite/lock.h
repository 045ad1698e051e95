/* A lock as the rules look at it: whose it is, and which number comes next. */
#ifndef STORAGE_SQLITE_LOCK_H
#define STORAGE_SQLITE_LOCK_H

#include "storage/sqlite/answer.h"
#include "storage/sqlite/state.h"

/* A lock under the id and the attempt of @request, for its lease from now on. */
struct storage_lock storage_lock_new(const struct storage_state *state,
                                     const struct fence_request *request);

/* Whether it stands under the attempt of @request; under its id, by any attempt. */
bool storage_lock_is_attempts(const struct storage_lock *lock, const struct fence_request *request);
bool storage_lock_is_ids(const struct storage_lock *lock, const struct fence_request *request);

/* Nobody's: not deleted, confirmed or extended by anybody. */
bool storage_lock_is_tombstone(const struct storage_lock *lock);

/* Whether an imported lock was had by a majority, as one that counts; true of any other. */
bool storage_lock_counts(const struct storage_state *state, const struct storage_lock *lock);

/* The next number of @slot, above every one before and above the floor. False: the counter is used
 * up, and nothing was done. @hint: see fence_request. */
bool storage_lock_count(struct storage_state *state, uint16_t slot, int64_t hint,
                        int64_t *ret_number);

/* Makes @answer the reply that @lock stands there. */
void storage_lock_held(const struct storage_state *state, const struct storage_lock *lock,
                       struct storage_answer *answer);

#endif
