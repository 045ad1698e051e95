/* How long a master of any kind is left alone before it is tried again. */
#ifndef STORAGE_BACKOFF_H
#define STORAGE_BACKOFF_H

#include <stdint.h>

enum {
    STORAGE_BACKOFF_MIN_MS = 5,
    STORAGE_BACKOFF_MAX_MS = 250,
};

/* After so many @failures in a row before this one: twice as long as after one fewer, up to the
 * most. Half of it is random, so that servers and loops do not come back in step. */
uint64_t storage_backoff_ms(unsigned failures);

#endif
