/* What GET /v1/fleet says of each master. */
#ifndef TESTS_SYSTEM_MASTERS_H
#define TESTS_SYSTEM_MASTERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MASTERS_WAIT_MS = 3000, /* for a state to come about */
};

/* Waits until master @i (from 0) is in @state for @reason (NULL: none); fails the test if it does
 * not get there. */
void masters_wait(uint16_t port, unsigned i, const char *state, const char *reason);

/* Whether it is so now. */
bool masters_is(uint16_t port, unsigned i, const char *state, const char *reason);

/* Waits until all @n are active. */
void masters_wait_all_active(uint16_t port, unsigned n);

/* When master @i should be back, by what is said now; -1 if nobody can say. */
int64_t masters_back_in_ms(uint16_t port, unsigned i);

/* How many are active now. */
int64_t masters_active(uint16_t port);

#endif
