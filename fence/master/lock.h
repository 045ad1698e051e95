/* A lock as the rules see it: who has the lock, and which number comes next. */
#ifndef FENCE_MASTER_LOCK_H
#define FENCE_MASTER_LOCK_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* Copies the text @from, which must fit into @size bytes. */
void fence_stored_copy(char *to, size_t size, const char *from);

/* Returns a lock under the id and the attempt of @request, for its lease from now on. */
struct fence_stored_lock fence_stored_lock_new(const struct fence_turn *turn,
                                               const struct fence_request *request);

/* Report whether @lock is under the attempt of @request; and under its id, by any attempt. */
bool fence_stored_lock_is_attempts(const struct fence_stored_lock *lock,
                                   const struct fence_request *request);
bool fence_stored_lock_is_ids(const struct fence_stored_lock *lock,
                              const struct fence_request *request);

/* Returns the rest of the lease, without the delay; 0: the lock is in its delay, and its own lock
 * id may still extend it or take it again. */
uint64_t fence_stored_lock_lease_ms(const struct fence_turn *turn,
                                    const struct fence_stored_lock *lock);

/* Reports whether @lock has no holder: no caller can delete, confirm or extend it. */
bool fence_stored_lock_is_tombstone(const struct fence_stored_lock *lock);

/* Reports whether a majority had an imported lock, so that it counts; true for any other lock. */
bool fence_stored_lock_counts(const struct fence_turn *turn, const struct fence_stored_lock *lock);

/* Draws the next number of @slot, above every earlier number and above the floor. Returns false if
 * the counter is used up; then nothing was done. @hint: see fence_request. */
bool fence_master_next_number(struct fence_turn *turn, uint16_t slot, int64_t hint,
                              int64_t *ret_number);

/* Makes @answer the reply that @lock is held. */
void fence_master_answer_held(const struct fence_turn *turn, const struct fence_stored_lock *lock,
                              struct fence_master_answer *answer);

#endif
