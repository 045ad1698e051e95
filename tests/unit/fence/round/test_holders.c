#include "fence/round/holders.h"
#include "tests/lib/case.h"

#include <string.h>

static void record(struct fence_holders *holders, unsigned i, const char *holder, int64_t number,
                   uint64_t remaining_ms)
{
    struct fence_reply reply = {
        .kind = FENCE_REPLY_HELD,
        .number = number,
        .holder = holder,
        .owner = holder,
        .remaining_ms = remaining_ms,
    };
    fence_holders_record(holders, i, &reply);
}

static void top_is_the_holder_named_most_often(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 1, 10);
    assert_int_equal(holders.votes, 1);
    record(&holders, 1, "b", 1, 10);
    assert_int_equal(holders.votes, 1);
    record(&holders, 2, "b", 1, 10);
    assert_int_equal(holders.votes, 2);
    assert_string_equal(holders.owner, "b");
    assert_int_equal(holders.hash[holders.top], holders.hash[1]);
    record(&holders, 3, "a", 1, 10);
    assert_int_equal(holders.votes, 2);
    assert_string_equal(holders.owner, "b");
}

static void longest_label_is_kept_whole(void **state)
{
    char owner[FENCE_OWNER_MAX + 1];
    memset(owner, 'x', FENCE_OWNER_MAX);
    owner[FENCE_OWNER_MAX] = '\0';
    struct fence_holders holders = {0};
    record(&holders, 0, owner, 1, 10);
    assert_string_equal(holders.owner, owner);
}

static void remaining_is_the_majority_th_longest(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 1, 500);
    record(&holders, 1, "a", 1, 100);
    record(&holders, 2, "a", 1, 300);
    record(&holders, 3, "a", 1, 400);
    assert_int_equal(fence_holders_remaining_ms(&holders, 3), 300);
    record(&holders, 4, "a", 1, 600);
    assert_int_equal(fence_holders_remaining_ms(&holders, 3), 400);
}

static void remaining_counts_only_those_that_name_the_top(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "b", 1, 9000);
    record(&holders, 1, "a", 1, 100);
    record(&holders, 2, "a", 1, 200);
    record(&holders, 3, "b", 1, 9000);
    record(&holders, 4, "a", 1, 300);
    assert_int_equal(fence_holders_remaining_ms(&holders, 3), 100);
}

static void equal_remaining_times_count_each(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 1, 200);
    record(&holders, 2, "a", 1, 200);
    assert_int_equal(fence_holders_remaining_ms(&holders, 2), 200);
}

static void nothing_remains_without_a_majority(void **state)
{
    struct fence_holders holders = {0};
    assert_int_equal(fence_holders_remaining_ms(&holders, 2), 0);
    record(&holders, 0, "a", 7, 100);
    record(&holders, 1, "b", 7, 100);
    assert_int_equal(fence_holders_remaining_ms(&holders, 2), 0);
    assert_int_equal(fence_holders_token(&holders, 2), 0);
}

static void token_is_what_a_majority_of_the_leaders_masters_agree_on(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 6, 100);
    record(&holders, 1, "a", 7, 100);
    record(&holders, 2, "a", 7, 100);
    assert_int_equal(fence_holders_token(&holders, 3), 0);
    record(&holders, 3, "a", 7, 100);
    assert_int_equal(fence_holders_token(&holders, 3), 7);
}

static void number_under_another_holder_does_not_count(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 7, 100);
    record(&holders, 1, "a", 7, 100);
    record(&holders, 2, "a", 8, 100);
    record(&holders, 3, "b", 7, 100);
    assert_int_equal(fence_holders_token(&holders, 3), 0);
}

/* If some masters were not heard, fewer need to agree; but then no others may say otherwise. */
static void token_is_not_told_where_two_numbers_have_enough(void **state)
{
    struct fence_holders holders = {0};
    record(&holders, 0, "a", 7, 10);
    record(&holders, 1, "a", 8, 10);
    assert_int_equal(fence_holders_token(&holders, 1), 0);
    record(&holders, 2, "a", 8, 10);
    assert_int_equal(fence_holders_token(&holders, 1), 0);
    assert_int_equal(fence_holders_token(&holders, 2), 8);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(top_is_the_holder_named_most_often),
    cmocka_unit_test(longest_label_is_kept_whole),
    cmocka_unit_test(remaining_is_the_majority_th_longest),
    cmocka_unit_test(remaining_counts_only_those_that_name_the_top),
    cmocka_unit_test(equal_remaining_times_count_each),
    cmocka_unit_test(nothing_remains_without_a_majority),
    cmocka_unit_test(token_is_what_a_majority_of_the_leaders_masters_agree_on),
    cmocka_unit_test(number_under_another_holder_does_not_count),
    cmocka_unit_test(token_is_not_told_where_two_numbers_have_enough),
};

CASE_MAIN(cases, NULL, NULL)
