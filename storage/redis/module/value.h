/* A lock as the value of its key (storage/redis/lua/locks.lua):
 *
 *     <lock id>.<attempt>:<number>:<extensions>:<from>:<owner>
 *
 * The module writes the lease before it, in milliseconds, and the key has no expiry (leases.h):
 *
 *     =<lease>=<lock>
 *
 * And the value of a lock that was imported just now, which names its expiry or its lease, and has
 * no expiry (storage/redis/lua/install.lua):
 *
 *     @<expiry>@<from>@<lock id>.<attempt>:<number>:<extensions>::<owner>
 *     =<lease>@<from>@<lock id>.<attempt>:<number>:<extensions>::<owner>
 *
 * Pure. */
#ifndef STORAGE_REDIS_MODULE_VALUE_H
#define STORAGE_REDIS_MODULE_VALUE_H

#include "fence/master/store.h"
#include "fence/protocol/decimal.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    STORAGE_MODULE_VALUE_MAX = 512, /* bytes of a lock; Pawl writes less */
    STORAGE_MODULE_IMPORTED = '@',  /* begins the value of one that was imported just now */
    STORAGE_MODULE_LEASED = '=',    /* begins the value of one that names its lease */
    STORAGE_MODULE_LEASE_MAX_MS = FENCE_TTL_CEILING_MS + 1, /* install.lua adds one */
    STORAGE_MODULE_HEAD_MAX = 2 + FENCE_DECIMAL_MAX,        /* bytes of "=<lease>=" */
};

/* Reads the @len digits of an attempt. False: they are none. */
FENCE_CHECKED bool storage_module_attempt_read(const char *digits, size_t len,
                                               uint64_t *ret_attempt);

/* Reads the lock. All but its expiry is set. False: Pawl did not write that value. */
FENCE_CHECKED bool storage_module_value_read(const char *value, size_t len,
                                             struct fence_stored_lock *ret_lock);

/* The same of a lock that was imported just now. @ret_lock expires at the expiry, or the lease,
 * that the value names. */
FENCE_CHECKED bool storage_module_value_read_imported(const char *value, size_t len,
                                                      struct fence_stored_lock *ret_lock);

/* Reads the lease that @value begins with. Returns how many bytes "=<lease>" has, and the byte
 * behind them is STORAGE_MODULE_LEASED or STORAGE_MODULE_IMPORTED. Or returns 0: the value names no
 * lease.
 */
FENCE_CHECKED size_t storage_module_value_read_lease(const char *value, size_t len,
                                                     uint64_t *ret_lease_ms);

/* Writes "=<lease>=". Returns the bytes written. */
size_t storage_module_value_write_lease(uint64_t lease_ms,
                                        char ret_head[static STORAGE_MODULE_HEAD_MAX]);

/* Writes @lock. Returns the bytes written; no NUL follows. */
size_t storage_module_value_write(const struct fence_stored_lock *lock,
                                  char ret_value[static STORAGE_MODULE_VALUE_MAX]);

#endif
