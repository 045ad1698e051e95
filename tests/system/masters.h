/* The words of GET /v1/fleet about each master. */
#ifndef TESTS_SYSTEM_MASTERS_H
#define TESTS_SYSTEM_MASTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MASTERS_WAIT_MS = 3000,       /* for a state to come about */
    MASTERS_WAIT_LONG_MS = 10000, /* the same where a master rejoins on a busy machine */
};

/* Waits until master @i (from 0) is in @state for @reason (NULL: none); fails the test if it does
 * not get there. */
void masters_wait(uint16_t port, unsigned i, const char *state, const char *reason);

/* The same within @timeout_ms. */
void masters_wait_within(uint16_t port, unsigned i, const char *state, const char *reason,
                         unsigned timeout_ms);

/* Waits until master @i does not vote, for @reason, whatever its state is called. */
void masters_wait_out(uint16_t port, unsigned i, const char *reason, unsigned timeout_ms);

/* Reports whether it is so now. */
bool masters_is(uint16_t port, unsigned i, const char *state, const char *reason);

/* Waits until the hash of master @i of the fleet says that it rejoins. A pawld may not have
 * seen that yet. */
void masters_wait_marked(unsigned i, unsigned timeout_ms);

/* Reports whether it says so now. */
bool masters_is_marked(unsigned i);

/* Reports whether nothing is under way with any: each is active, refused or down now. */
bool masters_are_settled(uint16_t port);

/* Waits until all @n are active. */
void masters_wait_all_active(uint16_t port, unsigned n);

/* Copies what is said about master @i (its "detail") to @ret_detail, @cap bytes. */
void masters_detail(uint16_t port, unsigned i, char *ret_detail, size_t cap);

/* When master @i should be back, by what is said now; -1 if no server can say. */
int64_t masters_back_in_ms(uint16_t port, unsigned i);

/* How many are active now. */
int64_t masters_active(uint16_t port);

#endif
