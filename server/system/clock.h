/* The one clock of the service. */
#ifndef SERVER_SYSTEM_CLOCK_H
#define SERVER_SYSTEM_CLOCK_H

#include <stdint.h>

/* Microseconds of CLOCK_BOOTTIME: never set by anybody, and it counts while the machine sleeps. A
 * lease that ran out during a suspend has run out. */
uint64_t server_clock_us(void);

#endif
