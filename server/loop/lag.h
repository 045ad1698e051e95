/* How long a loop could neither ask nor hear masters.
 *
 * Between two looks at the sockets the loop sleeps, at most until its timer. The rest of the time
 * the loop works, or waits for a processor. The core is told, so that it judges no master silent
 * for that time. */
#ifndef SERVER_LOOP_LAG_H
#define SERVER_LOOP_LAG_H

#include "server/system/run_delay.h"

#include <stdint.h>

enum {
    SERVER_LAG_LEAST_US = 5000, /* that is told to the core */
};

struct server_lag {
    uint64_t slept_from_us; /* when the last turn ended */
    uint64_t heard_us;      /* when the sockets were read last */
    struct server_run_delay run_delay;
    uint64_t delay_due_us; /* when it is looked at again */
};

void server_lag_init(struct server_lag *lag, uint64_t now_us);
void server_lag_fini(struct server_lag *lag);

/* The loop is about to sleep. */
void server_lag_sleeps(struct server_lag *lag, uint64_t now_us);

/* The loop woke at @woken_us, and has read the sockets. It was to wake at @due_us at the latest.
 * Returns how long it worked before it slept, and overslept. */
uint64_t server_lag_woke(struct server_lag *lag, uint64_t due_us, uint64_t woken_us);

/* How long this thread had no processor since the last call, which the clock does not show. Looks
 * at most once in SERVER_LAG_LEAST_US; 0 in between. */
uint64_t server_lag_ran_late_us(struct server_lag *lag, uint64_t now_us);

#endif
