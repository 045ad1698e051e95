/* One master for each test of what can befall it. */
#ifndef TESTS_CHAOS_TEST_MASTERS_H
#define TESTS_CHAOS_TEST_MASTERS_H

#include "tests/chaos/master.h"

#include <stdbool.h>

extern char *masters_dir;          /* the test's own */
extern struct chaos_master master; /* which is up; REDIS_ALWAYS */

int masters_begin(void **state);
int masters_end(void **state);

/* One more, with nothing to keep; masters_end() ends it. It is up when this returns. */
struct chaos_master *masters_add(void);

/* SET and GET, which have to succeed. @value NULL: the key is not there. */
void masters_set(const struct chaos_master *of, const char *key, const char *value);
void masters_expect(const struct chaos_master *of, const char *key, const char *value);

/* Starts it after a kill. */
void masters_start(void);

/* Waits for what a replica or Sentinel does in its own time. Fails the test after some seconds. */
void masters_wait(bool (*ready)(void *arg), void *arg);

#define MASTERS_CASE(name) cmocka_unit_test_setup_teardown(name, masters_begin, masters_end)

#endif
