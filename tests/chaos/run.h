/* One run: the whole stage under faults for so many seconds, healed, and its history checked. */
#ifndef TESTS_CHAOS_RUN_H
#define TESTS_CHAOS_RUN_H

#include "tests/chaos/faults.h"
#include "tests/chaos/history.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_config {
    unsigned seconds;
    uint64_t seed;
    bool guarded;
    const char *traced; /* the folder for the traces of pawld and masters; NULL: none are made */
    uint64_t without;   /* kinds of faults (bit i) that are left out */
};

/* Totals of a run, each a row of the table. */
struct run_result {
    struct faults_figures faults;
    struct history_findings findings;
    size_t unhealed; /* parts that did not work again after all faults had ended: masters, names */
    size_t grants, held, unavailable, unanswered; /* acquires: 201 or 200, 409, 503 or 429, none */
    size_t grants_own;           /* counts grants under a lock id of the client's own, ... */
    size_t grants_retried;       /* ... counts those for which it had to ask more than once, ... */
    size_t grants_found;         /* ... counts grants that an answer that was lost had given */
    size_t grants_repeated;      /* not of the grants: of what the client had already */
    size_t grants_grouped;       /* counts grants of several locks at once */
    size_t extended, anew, lost; /* extends: 200, 201, 409 */
    size_t released;
    size_t counted, counters_read; /* calls of named counters: 200 */
    size_t stale;                  /* claims and writes refused with 412 */
    size_t written;
    size_t updates_lost;
    size_t grants_a_second, worst_second; /* on average, at worst */
    double longest_gap_s;                 /* without a grant of any name */
    double healed_s;                      /* from the last fault until all masters voted */
};

/* Set by a signal: the run ends the program as soon as it sees this. */
extern volatile sig_atomic_t run_interrupted;

/* Plays a run. Findings are told on stdout, and the files are then kept where it says. */
void run_play(const struct run_config *config, struct run_result *ret_result);

/* The failures: broken promises, and what does not come back. */
size_t run_violations(const struct run_config *config, const struct run_result *result);

#endif
