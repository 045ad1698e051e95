/* How the store writes keys, and how a request fails in it: what its files share. */
#ifndef STORAGE_REDIS_MODULE_WRITING_H
#define STORAGE_REDIS_MODULE_WRITING_H

#include "storage/redis/module/state.h"

struct storage_module_store *storage_module_store_of(void *context);

/* The first failure of a request is told. A group that is taken tells which lock met it. */
void storage_module_fail(struct storage_module_store *store, enum storage_module_failure failure);
bool storage_module_has_failed(const struct storage_module_store *store);

/* Reports whether the request may write now. If not, it has failed. */
bool storage_module_may_write(struct storage_module_store *store);

struct redis_string *storage_module_text_new(struct storage_module_store *store, const char *text,
                                             size_t len);
void storage_module_text_free(struct storage_module_store *store, struct redis_string *text);

/* Writes a string to @key, which is open and has the name @name, with an expiry; REDIS_NO_EXPIRY:
 * with none. */
void storage_module_write(struct storage_module_store *store, struct redis_key *key,
                          struct redis_string *name, const char *bytes, size_t len,
                          long long expires_ms);

/* Writes a lock, whose lease ends at @end_ms on the clock of the turn, and notes that (leases.h).
 * False: no memory, and nothing was written. */
FENCE_CHECKED bool storage_module_write_lock(struct storage_module_store *store,
                                             struct redis_key *key, struct redis_string *name,
                                             const char *text, size_t len, uint64_t end_ms);

/* The instant @ms of the clock of the turn, on the wall clock. */
long long storage_module_wall_of(const struct storage_module_store *store, uint64_t ms);

/* The same as storage_module_write() to a key that is not open. */
void storage_module_write_at(struct storage_module_store *store, const char *name,
                             const char *bytes, size_t len, long long expires_ms);

void storage_module_remove(struct storage_module_store *store, struct redis_key *key,
                           struct redis_string *name);

#endif
