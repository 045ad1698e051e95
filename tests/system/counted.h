/* Many clients, each a thread with its own connection, that take values of one named counter
 * as fast as they can. Their values are kept, and checked. */
#ifndef TESTS_SYSTEM_COUNTED_H
#define TESTS_SYSTEM_COUNTED_H

#include <stddef.h>
#include <stdint.h>

enum {
    COUNTED_CLIENTS = 8,
};

/* Has the clients take values of @name for @duration_ms, through the services on @ports (ended by
 * 0) in turn, while @disturb runs once (NULL: nothing does). Fails the test where a value was
 * given twice, or where one that was asked for after another was answered is not above it. Returns
 * how many calls were given values. */
size_t counted_run(const uint16_t ports[], const char *name, unsigned duration_ms,
                   void (*disturb)(void));

#endif
