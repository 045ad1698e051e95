/* Seats: ordinary locks that share a counter. A semaphore `orders` with 3 permits has the seats
 * `orders#0`, `orders#1` and `orders#2`. A user's name never contains '#', so no call takes a seat
 * by its name. fence_slot() reads a name up to the '#': all seats of a name share the counter of
 * that name. So a later grant has a higher token, for any seat.
 *
 * A lock of readers and writers has seats, too. The marker of the fleet sets their number. A reader
 * takes one seat. A writer first takes the gate of the name, `orders#w`, and then all seats. The
 * token of the writer is the greatest of their numbers. While the gate is held, new readers are
 * turned away, so that no writer waits for readers that arrived later. Exclusion and order depend
 * on the seats alone. */
#ifndef FENCE_PROTOCOL_SEAT_H
#define FENCE_PROTOCOL_SEAT_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* Reports whether @name (@len bytes) is a resource name that is short enough to have seats. */
bool fence_seats_name_valid(const char *name, size_t len);

/* Returns the length of the name to which the seat @lock (@len bytes) belongs; @len if @lock is no
 * seat. */
size_t fence_seat_name_len(const char *lock, size_t len);

/* Reports whether @lock (@len bytes) is a seat; then sets *@ret_seat to its index, 0 to
 * FENCE_SEATS_MAX - 1. @ret_seat may be NULL. */
bool fence_seat_read(const char *lock, size_t len, unsigned *ret_seat);

/* Reports whether @lock (@len bytes) is a resource name, a seat or a gate: a name that the key of a
 * lock may have. */
bool fence_lock_name_valid(const char *lock, size_t len);

/* Reports whether @lock (@len bytes) is the gate of a name. */
bool fence_gate_is(const char *lock, size_t len);

/* Changes @lock to the gate of its name. @lock begins with a name of seats, or is one of its
 * seats. */
void fence_gate_write(char lock[static FENCE_RESOURCE_MAX + 1]);

/* Changes @lock to seat @seat of its name. @lock begins with a name of seats, or is one of its
 * seats. */
void fence_seat_write(char lock[static FENCE_RESOURCE_MAX + 1], unsigned seat);

#endif
