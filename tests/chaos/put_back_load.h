/* Clients of a fleet that is a file, in processes of their own, and what they were answered. Each
 * name has one client, so that its tokens are told in the order in which they were given out. */
#ifndef TESTS_CHAOS_PUT_BACK_LOAD_H
#define TESTS_CHAOS_PUT_BACK_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the clients of a new fleet at @port. */
void load_begin(uint16_t port);

/* Ends them; what they were answered stays. */
void load_end(void);

/* How many grants they were answered. */
uint64_t load_grants(void);

/* Takes every name once more, and the lock of load_hold(), where there is one. Returns how many
 * tokens were not above all that were answered before, and locks that had a holder. */
unsigned load_check(uint16_t port);

/* The same of what the clients saw while they ran. */
unsigned load_repeats(void);

/* Takes a lock that is held for longer than the test lasts. */
void load_hold(uint16_t port);

#endif
