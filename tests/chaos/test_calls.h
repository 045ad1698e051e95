/* A small history for tests of what must hold of one: all of its calls are about name 1. */
#ifndef TESTS_CHAOS_TEST_CALLS_H
#define TESTS_CHAOS_TEST_CALLS_H

#include "tests/chaos/history.h"
#include "tests/lib/case.h"

extern struct history history;
extern struct history_findings findings;

/* Around each case: nothing was called or found yet. */
int begin(void **state);
int end(void **state);
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* Client @client asked at @sent and was granted @token at @answered, until @till. Each token is of
 * a turn of its own. */
void granted(unsigned client, uint64_t sent, uint64_t answered, int64_t token, uint64_t till);

/* It asked for the lock of @turn, under a lock id of its own; and once more. @token: 0 if no answer
 * came. */
void asked(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
           uint64_t till);
void asked_again(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
                 uint64_t till);

/* It extended the lock of @turn, and was granted it anew. */
void granted_anew(unsigned client, unsigned turn, uint64_t sent, uint64_t answered, int64_t token,
                  uint64_t till);

/* Another call, under the grant of @token, that was answered with 200. */
void called(enum history_kind kind, unsigned client, uint64_t sent, int64_t token, uint64_t till);

/* Checks all that calls are checked for. */
void check(const struct history_window *windows, size_t count);

#endif
