/* A lock as the value of its key (storage/redis/lua/locks.lua):
 *
 *     <lock id>.<attempt>:<number>:<extensions>:<from>:<owner>
 *
 * And the value of a lock that was imported just now, which names its expiry and has none
 * (storage/redis/lua/install.lua):
 *
 *     @<expiry>@<from>@<lock id>.<attempt>:<number>:<extensions>::<owner>
 *
 * Pure. */
#ifndef STORAGE_REDIS_MODULE_VALUE_H
#define STORAGE_REDIS_MODULE_VALUE_H

#include "fence/master/store.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STORAGE_MODULE_VALUE_MAX = 512, /* bytes of a lock; Pawl writes less */
    STORAGE_MODULE_IMPORTED = '@',  /* begins the value of one that was imported just now */
};

/* Reads the @len digits of an attempt. False: they are none. */
FENCE_CHECKED bool storage_module_attempt_read(const char *digits, size_t len,
                                               uint64_t *ret_attempt);

/* Reads the lock. All but its expiry is set. False: Pawl did not write that value. */
FENCE_CHECKED bool storage_module_value_read(const char *value, size_t len,
                                             struct fence_stored_lock *ret_lock);

/* The same of a lock that was imported just now, with its expiry. */
FENCE_CHECKED bool storage_module_value_read_imported(const char *value, size_t len,
                                                      struct fence_stored_lock *ret_lock);

/* Writes @lock. Returns the bytes written; no NUL follows. */
size_t storage_module_value_write(const struct fence_stored_lock *lock,
                                  char ret_value[static STORAGE_MODULE_VALUE_MAX]);

#endif
