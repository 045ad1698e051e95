/* The rules for the grants of a hammer (tests/system/hammer.h) have to have in common. A check that
 * fails ends the test. */
#ifndef TESTS_SYSTEM_HISTORY_H
#define TESTS_SYSTEM_HISTORY_H

#include "tests/system/hammer.h"

#include <stdint.h>

/* No name had a token twice. */
void history_expect_distinct_tokens(const struct hammer_result *result);

/* P1: what was answered before another acquire was sent has the lower token. */
void history_expect_tokens_in_order(const struct hammer_result *result);

/* P2: who knows that it holds a lock is alone with it. */
void history_expect_one_holder(const struct hammer_result *result);

/* How many grants were answered while an earlier holder knew that it held the lock. */
unsigned history_overlaps(const struct hammer_result *result);

/* How many of the writes that the ledger at @ledger accepted its balances do not show. */
int64_t history_lost_updates(uint16_t ledger, const struct hammer_result *result);

/* The longest time without any grant between two moments of the boot clock, in milliseconds. */
uint64_t history_longest_gap_ms(const struct hammer_result *result, uint64_t from_us,
                                uint64_t till_us);

#endif
