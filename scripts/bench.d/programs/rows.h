/* The file of an embedded master with its rules and statements, in the caller's thread: locks of
 * virtual clients, many in one transaction. What fails ends the program. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_ROWS_H
#define SCRIPTS_BENCH_D_PROGRAMS_ROWS_H

#include <stdbool.h>

enum {
    ROWS_CLIENTS_MAX = 4096,
    ROWS_RESOURCE_MAX = 64,
};

/* Opens a new file in @folder. One a process. */
void rows_open(const char *folder);

void rows_begin(void);
/* Takes the lock of @resource, of which one is at most ROWS_RESOURCE_MAX - 1 bytes, or gives back
 * what the client took last. Within a transaction. True: done, once that is committed. */
bool rows_acquire(unsigned client, const char *resource);
bool rows_release(unsigned client);
/* Commits, with fsync. */
void rows_commit(void);

/* Valid until the end. */
const char *rows_lock_id(unsigned client);

void rows_close(void);

#endif
