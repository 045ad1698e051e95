/* A read-write lock with leases and one counter, in the memory of a race: what a lock service gives
 * to readers and writers of a resource. A reader shares the lock with readers, a writer has it
 * alone, and a lease that ends by itself tells no client. Each grant has a token above all before
 * it. Readers do not pass a writer that waits. Any thread. */
#ifndef TESTS_CONTRACT_GUARDS_LEASES_H
#define TESTS_CONTRACT_GUARDS_LEASES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LEASES_MAX = 128, /* that stand at once */
};

struct leases;

struct leases *leases_new(unsigned ttl_ms);
void leases_free(struct leases *leases);

/* Waits for a lease, and returns its token. 0: there was none before @until_ms of wait_now_ms(). */
int64_t leases_take(struct leases *leases, bool writes, uint64_t until_ms);

/* Releases the lease of @token, which may have ended long ago. */
void leases_release(struct leases *leases, int64_t token);

#endif
