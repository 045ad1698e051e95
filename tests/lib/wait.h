/* Waiting for something to become true in a real process, with a bound on it. */
#ifndef TESTS_LIB_WAIT_H
#define TESTS_LIB_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* The clock of the protocol (CLOCK_BOOTTIME), in milliseconds. */
uint64_t wait_now_ms(void);

/* Sleeps for @ms, whatever signals arrive. */
void wait_ms(unsigned ms);

/* Asks @ready(@arg) every few milliseconds until it says yes (true) or @timeout_ms are over
 * (false). It is asked at least twice: at once, and at the very end. */
bool wait_until(bool (*ready)(void *arg), void *arg, unsigned timeout_ms);

#endif
