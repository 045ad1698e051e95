/* Writers of a guarded database, for the race: each takes a lock of a real pawld, reads, sleeps
 * through its lease now and then, and writes. */
#ifndef TESTS_CONTRACT_GUARDS_WRITERS_H
#define TESTS_CONTRACT_GUARDS_WRITERS_H

#include "tests/contract/guards/guard.h"

#include <stdint.h>

enum {
    WRITERS_MAX = 64,
    WRITERS_ROWS = 4, /* that all fight for: the rows 1 to 4 */
};

struct writers_config {
    const struct guard_server *server;
    const char *url; /* of pawld */
    unsigned writers;
    bool guarded;
    int events; /* a file that is open for appending; what each did goes there, a line each */
    uint64_t until_ms; /* on the clock of wait_now_ms() */
};

/* Returns when the time is over, and each has ended what it was doing. Lines of events:
 *
 *     c ROW TOKEN   a claim was committed
 *     t ROW         a write is about to be committed, ...
 *     d ROW         ... was committed, ...
 *     x ROW         ... or was not. Neither: it is not known
 *     s ROW         a claim or a write was refused as stale
 *     a ROW         another transaction was in the way */
void writers_run(const struct writers_config *config);

#endif
