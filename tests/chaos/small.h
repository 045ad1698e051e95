/* A small stage: the guarded ledger, clients in processes of their own, and what must hold of the
 * history that they leave. The caller decides what serves them, and what fails. */
#ifndef TESTS_CHAOS_SMALL_H
#define TESTS_CHAOS_SMALL_H

#include "tests/chaos/history.h"
#include "tests/lib/pawl.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SMALL_CLIENTS = 4, /* processes, */
    SMALL_THREADS = 5, /* and clients in each */
    SMALL_NAMES = 8,
    SMALL_START_MS = 20000,
    SMALL_TTL_MAX_MS = 1000,
    SMALL_PATH_BYTES = 320,
};

struct small {
    char *dir;
    char history[SMALL_PATH_BYTES];
    char database[SMALL_PATH_BYTES]; /* of the ledger, in a folder of its own */
    uint16_t port;                   /* where pawld has to listen */
    struct pawl_service ledger;
    struct process *client[SMALL_CLIENTS];
    struct history_times times; /* empty, unless the caller fills it in */
};

/* Fills @ret_path with the path of @name in the folder @in. */
void small_path(char ret_path[static SMALL_PATH_BYTES], const char *in, const char *name);

/* The folder, and ports where nothing listens yet. */
void small_begin(struct small *small);

/* pawld over the file in the folder @folder, also after it was killed. What is preloaded into it is
 * the caller's (LD_PRELOAD). */
struct process *small_serve(const struct small *small, const char *folder);

/* The ledger, also after it was killed; the same of what is preloaded. */
void small_start_ledger(struct small *small);

/* The clients, once pawld and the ledger serve. */
void small_start_clients(struct small *small, uint64_t seed);

/* How many masters pawld calls active. @ret_modules, if not NULL, is the set of masters that have
 * the module. */
unsigned small_active(const struct small *small, uint32_t *ret_modules);

/* Lets the clients go on after the last fault, and ends them and the ledger. */
void small_end(struct small *small);

/* Reads what was written down, tells the figures, and returns how many promises were broken. No
 * fault came after @healed_us. */
size_t small_check(const struct small *small, uint64_t healed_us);

/* Removes the folder; or moves it to /tmp and says where it is. */
void small_remove(struct small *small);
void small_keep(struct small *small);

#endif
