/* The calls of a client for named counters, each time at either pawld. */
#ifndef TESTS_CHAOS_COUNTING_H
#define TESTS_CHAOS_COUNTING_H

#include "tests/chaos/client.h"

/* Takes some values of one of a few counters, or reads it, and writes down what it was told. */
void counting_call(struct client *client);

#endif
