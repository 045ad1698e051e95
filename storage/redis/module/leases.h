/* The end of each lock's lease, in milliseconds of the server's monotonic clock. The value of the
 * key has only the length of the lease (value.h). A note here ends with the key: if anything but
 * the module changes the key, the note ends (events.h), and the lease begins when the lock is next
 * looked at. The same holds for a lock that comes from a file.
 *
 * Belongs to the thread that runs commands. */
#ifndef STORAGE_REDIS_MODULE_LEASES_H
#define STORAGE_REDIS_MODULE_LEASES_H

#include "fence/base/checked.h"
#include "fence/protocol/limits.h"
#include "storage/redis/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STORAGE_MODULE_KEY_MAX = sizeof(STORAGE_LOCK_KEY) - 1 + FENCE_RESOURCE_MAX, /* bytes of a key */
    STORAGE_MODULE_LEASES_MAX = 1 << 26, /* locks of one server */
};

/* The monotonic clock of the server. */
uint64_t storage_module_now_ms(void);

/* False: no seed for the hashes of names, or no memory. */
FENCE_CHECKED bool storage_module_leases_init(void);

/* Frees all memory. Fine without a successful storage_module_leases_init(). */
void storage_module_leases_fini(void);

/* Returns when the lease of @key ends. A lease without a note begins at @now_ms, and lasts
 * @lease_ms. If there is no memory it is not noted, and begins again the next time. */
uint64_t storage_module_lease_end(const char *key, size_t len, uint64_t now_ms, uint64_t lease_ms);

/* Notes that the lease of @key, of at most STORAGE_MODULE_KEY_MAX bytes, ends at @end_ms. False: no
 * memory, and nothing is noted. */
FENCE_CHECKED bool storage_module_lease_set(const char *key, size_t len, uint64_t end_ms);

/* Forgets the lease of @key, or all of them. */
void storage_module_lease_forget(const char *key, size_t len);
void storage_module_leases_forget_all(void);

/* Reports whether all leases were forgotten, or the module was loaded, since the last call. Then
 * there may be locks without a known lease. */
bool storage_module_leases_take_emptied(void);

/* Reports whether a lease has ended at @now_ms. */
bool storage_module_leases_due(uint64_t now_ms);

/* Removes the lease that ended first, if one has ended at @now_ms; @ret_key gets its key. Returns
 * false if none has. */
bool storage_module_leases_pop(uint64_t now_ms, char ret_key[static STORAGE_MODULE_KEY_MAX],
                               size_t *ret_len);

#endif
