/* How long this thread was runnable without a processor: Linux counts this in
 * /proc/thread-self/schedstat (Documentation/scheduler/sched-stats.rst, run_delay). */
#ifndef SERVER_SYSTEM_RUN_DELAY_H
#define SERVER_SYSTEM_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

struct server_run_delay {
    int fd; /* -1: not open yet, or the kernel does not count */
    bool tried;
    uint64_t told_us;
};

/* Nothing is opened before the first call, which must come from the measured thread. */
#define SERVER_RUN_DELAY_INIT ((struct server_run_delay){.fd = -1})

/* Returns the microseconds since the last call; 0 at the first call, and if the kernel does not
 * count. */
uint64_t server_run_delay_us(struct server_run_delay *delay);

void server_run_delay_fini(struct server_run_delay *delay);

#endif
