/* A lock as the rules look at it: whose it is, and which number comes next. */
#ifndef FENCE_MASTER_LOCK_H
#define FENCE_MASTER_LOCK_H

#include "fence/master/answer.h"
#include "fence/master/store.h"

/* Copies the text @from, which must fit into @size bytes. */
void fence_stored_copy(char *to, size_t size, const char *from);

/* A lock under the id and the attempt of @request, for its lease from now on. */
struct fence_stored_lock fence_stored_lock_new(const struct fence_turn *turn,
                                               const struct fence_request *request);

/* Reports whether it stands under the attempt of @request; under its id, by any attempt. */
bool fence_stored_lock_is_attempts(const struct fence_stored_lock *lock,
                                   const struct fence_request *request);
bool fence_stored_lock_is_ids(const struct fence_stored_lock *lock,
                              const struct fence_request *request);

/* The rest of its lease, without its delay; 0: it is in its delay, and its own lock id may
 * still extend it or take it again. */
uint64_t fence_stored_lock_lease_ms(const struct fence_turn *turn,
                                    const struct fence_stored_lock *lock);

/* Without a holder: not deleted, confirmed or extended by anybody. */
bool fence_stored_lock_is_tombstone(const struct fence_stored_lock *lock);

/* Reports whether an imported lock was had by a majority, as one that counts; true of any other. */
bool fence_stored_lock_counts(const struct fence_turn *turn, const struct fence_stored_lock *lock);

/* The next number of @slot, above every one before and above the floor. False: the counter is used
 * up, and nothing was done. @hint: see fence_request. */
bool fence_master_next_number(struct fence_turn *turn, uint16_t slot, int64_t hint,
                              int64_t *ret_number);

/* Makes @answer the reply that @lock stands there. */
void fence_master_answer_held(const struct fence_turn *turn, const struct fence_stored_lock *lock,
                              struct fence_master_answer *answer);

#endif
