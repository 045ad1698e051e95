/* The one clock of the service. */
#ifndef SERVER_SYSTEM_CLOCK_H
#define SERVER_SYSTEM_CLOCK_H

#include <stdint.h>

/* Returns microseconds of CLOCK_BOOTTIME: no one can set this clock, and it counts while the
 * machine sleeps. A lease whose time passed during a suspend has expired. */
uint64_t server_clock_us(void);

#endif
