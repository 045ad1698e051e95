/* Measures how long a loop could neither send to masters nor read from them.
 *
 * Between two polls of the sockets the loop sleeps, until its timer at the latest. The rest of the
 * time the loop works, or waits for a processor. The core gets this time, so that it judges no
 * master silent for it. */
#ifndef SERVER_LOOP_LAG_H
#define SERVER_LOOP_LAG_H

#include "server/system/run_delay.h"

#include <stdint.h>

enum {
    SERVER_LAG_LEAST_US = 5000, /* the shortest lag that the core gets */
};

struct server_lag {
    uint64_t slept_from_us; /* when the last turn ended */
    uint64_t heard_us;      /* when the sockets were read last */
    struct server_run_delay run_delay;
    uint64_t delay_due_us; /* when to look at the run delay again */
};

void server_lag_init(struct server_lag *lag, uint64_t now_us);
void server_lag_fini(struct server_lag *lag);

/* The loop is about to sleep. */
void server_lag_sleeps(struct server_lag *lag, uint64_t now_us);

/* The loop woke at @woken_us, and has read the sockets. Its timer was due at @due_us. Returns how
 * long the loop worked before it slept, plus how long it overslept. */
uint64_t server_lag_woke(struct server_lag *lag, uint64_t due_us, uint64_t woken_us);

/* Returns how long this thread waited for a processor since the last call; the clock does not show
 * this. Looks once in SERVER_LAG_LEAST_US, and returns 0 in between. */
uint64_t server_lag_ran_late_us(struct server_lag *lag, uint64_t now_us);

#endif
