/* Which masters have a lock: a majority of them in most cases, the first in the fleet. If calls
 * spread, it is on the ring from the slot of its name on. */
#ifndef TESTS_SYSTEM_COPIES_H
#define TESTS_SYSTEM_COPIES_H

#include <stdint.h>

/* The set of those that are up and have the lock @resource now. */
uint32_t copies_at(const char *resource);

/* The set of @count masters of the fleet from the slot of @resource on, in a ring. */
uint32_t copies_ring(const char *resource, unsigned count);

/* The master that is the @k-th (from 0) with @resource; fails the test if fewer have it. */
unsigned copies_master(const char *resource, unsigned k);

/* Waits until it is on @least to @most masters that are up; fails the test if it does not come to
 * that. An answer of a majority may still be on its way to others. */
void copies_wait(const char *resource, unsigned least, unsigned most);

#endif
