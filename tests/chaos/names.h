/* P3: once all faults have ended, each name is granted again. */
#ifndef TESTS_CHAOS_NAMES_H
#define TESTS_CHAOS_NAMES_H

#include "tests/chaos/history.h"

#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_WATCHED_MS = 3000, /* after the last fault, in which clients may get each name again */
};

/* The servers of the names 0 .. @count - 1. */
struct names {
    unsigned count;
    unsigned ttl_max_ms; /* the longest lease that anyone can have */
    uint16_t port[2];    /* the ports of pawld, each asked in turn; the second may be the first */
};

/* Returns how many of @names are not granted after @healed_us, and tells which. A client may have
 * kept one all the time, by extending it: so what @history does not show is asked for here.
 * The clients have to have ended, and the last of their leases is waited for. */
size_t names_not_granted(const struct names *names, const struct history *history,
                         uint64_t healed_us);

#endif
