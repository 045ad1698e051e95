/* The functions of struct fence_master_store, by what they keep. */
#ifndef STORAGE_REDIS_MODULE_STORE_FUNCTIONS_H
#define STORAGE_REDIS_MODULE_STORE_FUNCTIONS_H

#include "storage/redis/module/state.h"

/* locks.c */
void storage_module_get_lock(void *context, const char *resource,
                             struct fence_stored_lock *ret_lock);
void storage_module_put_lock(void *context, const char *resource,
                             const struct fence_stored_lock *lock);
void storage_module_drop_lock(void *context, const char *resource);

/* The rest of the lease of the lock that was read last, in milliseconds; -1: it has no end. */
long long storage_module_left_ms(const struct storage_module_store *store);

/* Closes the key of the lock in hand, if it is open. */
void storage_module_close_found(struct storage_module_store *store);

/* counters.c */
int64_t storage_module_get_counter(void *context, uint16_t slot);
void storage_module_put_counter(void *context, uint16_t slot, int64_t number);
int64_t storage_module_get_named(void *context, const char *name);
void storage_module_put_named(void *context, const char *name, int64_t number);
uint64_t storage_module_get_names(void *context);

/* Sets a field of the marker. */
void storage_module_set_field(struct storage_module_store *store, const char *field,
                              const char *value, size_t len);

/* Counts one more write, and returns the position that this master has then. Or returns the
 * position. */
long long storage_module_count_write(struct storage_module_store *store);
long long storage_module_position(const struct storage_module_store *store);

/* waiters.c */
void storage_module_wait(void *context, const char *resource, uint64_t until_ms, int64_t ticket);
int64_t storage_module_notify(void *context, const char *resource, const char *lock_id);
int64_t storage_module_get_next(void *context, const char *resource, uint64_t *ret_until_ms);
void storage_module_put_next(void *context, const char *resource, int64_t ticket,
                             uint64_t until_ms);

/* broken_grants.c */
int64_t storage_module_get_broken(void *context, const char *resource, const char *lock_id,
                                  char *ret_by);
void storage_module_put_broken(void *context, const struct fence_request *request,
                               uint64_t until_ms);

#endif
