/* The clock of timeouts and readings: the same as the fence's. */
#ifndef STORAGE_REDIS_CLOCK_H
#define STORAGE_REDIS_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME in microseconds: it counts while this machine sleeps, as a master's clock does.
 * Any thread. */
uint64_t storage_clock_us(void);

#endif
