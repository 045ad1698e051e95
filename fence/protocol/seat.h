/* Seats: ordinary locks that share a counter. A semaphore `orders` with 3 permits has the seats
 * `orders#0`, `orders#1` and `orders#2`. No name that a user gives has a '#', so no call takes a
 * seat by its name. fence_slot() reads a name up to the '#': all seats of a name have the counter
 * of that name, and so a token that is granted later is higher, whichever seat it is for.
 *
 * A lock of readers and writers has seats, too, as many as the marker of the fleet says. A reader
 * takes one. A writer takes all, and its token is the greatest of their numbers. Before that it
 * takes the gate of the name, `orders#w`. A reader is turned away where that is held, so that no
 * writer waits for readers that came later. Exclusion and order need the seats alone. */
#ifndef FENCE_PROTOCOL_SEAT_H
#define FENCE_PROTOCOL_SEAT_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* True if @name (@len bytes) is a resource name that is short enough to have seats. */
bool fence_seats_name_valid(const char *name, size_t len);

/* The length of the name that @lock (@len bytes) is a seat of; @len if it is no seat. */
size_t fence_seat_name_len(const char *lock, size_t len);

/* True if @lock (@len bytes) is a seat; then *@ret_seat is its index, 0 to FENCE_SEATS_MAX - 1.
 * @ret_seat may be NULL. */
bool fence_seat_read(const char *lock, size_t len, unsigned *ret_seat);

/* True if @lock (@len bytes) is a resource name, a seat or a gate: what the key of a lock may be
 * of. */
bool fence_lock_name_valid(const char *lock, size_t len);

/* True if @lock (@len bytes) is the gate of a name. */
bool fence_gate_is(const char *lock, size_t len);

/* Makes @lock, which begins with a name of seats or is one of its seats, the gate of that name. */
void fence_gate_write(char lock[static FENCE_RESOURCE_MAX + 1]);

/* Makes @lock, which begins with a name of seats or is one of its seats, its seat @seat. */
void fence_seat_write(char lock[static FENCE_RESOURCE_MAX + 1], unsigned seat);

#endif
