/* Readers and writers of a guarded database, for the race of read-write locks. Each asks one of
 * several pawld for its locks. A resource has two rows, which each write changes together. A writer
 * reads, sleeps through its lease now and then, and writes both rows in one transaction. A reader
 * reads the rows in transactions of their own, and may sleep between. */
#ifndef TESTS_CONTRACT_GUARDS_SHARERS_H
#define TESTS_CONTRACT_GUARDS_SHARERS_H

#include "tests/contract/guards/guard.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    SHARERS_PAIRS = 2, /* the rows 1 and 2, and 3 and 4 */
    SHARERS_READERS_MAX = 64,
    SHARERS_WRITERS_MAX = 16,
    SHARERS_SERVICES = 2,
};

struct sharers_config {
    const struct guard_server *server;
    const char *urls[SHARERS_SERVICES]; /* of the pawld that grant the locks */
    unsigned readers;
    unsigned writers;
    bool guarded;
    uint64_t until_ms;                /* on the clock of wait_now_ms() */
    void (*meanwhile)(void *context); /* called again and again while they race */
    void *context;
};

struct sharers_tally {
    atomic_uint written;        /* writes that were committed */
    atomic_uint read;           /* readings of both rows that came to their end */
    atomic_uint halves;         /* counts reads that saw a half of a write */
    atomic_uint refused_writes; /* refused by the guard, and so below */
    atomic_uint refused_reads;
    atomic_uint again; /* another transaction was in the way */
    atomic_uint
        ungranted;      /* turns without a lock: it was held for too long, or masters were away */
    atomic_uint failed; /* anything else */
};

/* Returns when the time is over, and each has ended what it was doing. */
void sharers_run(const struct sharers_config *config, struct sharers_tally *tally);

#endif
