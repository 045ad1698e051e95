#include "fence/base/set.h"
#include "fence/protocol/error.h"
#include "fence/round/counter_call.h"
#include "tests/lib/case.h"

#include <string.h>

/* Replies as letters, one for each master in order: a digit, the number that it answers; n, it
 * never counted; f full, r refused, l lost, '-' not asked, '.' no answer yet. */
static struct fence_reply reply_of(char letter)
{
    switch (letter) {
    case 'n':
        return (struct fence_reply){.kind = FENCE_REPLY_NO};
    case 'f':
        return (struct fence_reply){.kind = FENCE_REPLY_FULL};
    case 'r':
        return (struct fence_reply){.kind = FENCE_REPLY_REFUSED};
    case 'l':
        return (struct fence_reply){.kind = FENCE_REPLY_LOST};
    default:
        return (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = letter - '0'};
    }
}

static struct fence_counter_call round_for(uint32_t values, const char *letters)
{
    struct fence_counter_call round;
    unsigned n = (unsigned)strlen(letters);
    uint32_t asked = 0;
    for (unsigned i = 0; i < n; i++)
        asked |= letters[i] != '-' ? fence_set_of(i) : 0;
    fence_counter_call_begin(&round, values, n, asked, 0);
    for (unsigned i = 0; i < n; i++) {
        const struct fence_reply reply = reply_of(letters[i]);
        if (letters[i] != '-' && letters[i] != '.')
            fence_counter_call_reply(&round, i, &reply);
    }
    return round;
}

/* Of a reading. */
static struct fence_counter_call round_of(const char *letters)
{
    return round_for(0, letters);
}

static void assert_verdict(const char *letters, enum fence_count_verdict expected, int64_t number)
{
    struct fence_counter_call round = round_of(letters);
    int64_t told = -1;
    if (fence_counter_call_verdict(&round, &told) != expected ||
        told != (expected == FENCE_COUNT_AGREED ? number : -1))
        fail_msg("%s: not %d, %lld", letters, (int)expected, (long long)number);
}

#define IS(letters, expected) assert_verdict(letters, FENCE_COUNT_##expected, 0)

static void agreed_where_a_majority_of_all_masters_answers_one_number(void **state)
{
    assert_verdict("7", FENCE_COUNT_AGREED, 7);
    assert_verdict("7.7", FENCE_COUNT_AGREED, 7);
    assert_verdict("77-", FENCE_COUNT_AGREED, 7);
    assert_verdict("97579", FENCE_COUNT_DIFFER, 0);
    assert_verdict("97977", FENCE_COUNT_AGREED, 7); /* two that are ahead do not matter */
    IS("7--", UNKNOWN);
    IS("77---", UNKNOWN);
    IS("77..-", OPEN);
}

static void never_counted_where_a_majority_says_so(void **state)
{
    IS("n", NEVER);
    IS("n.n", NEVER);
    IS("n.5", OPEN);
    assert_verdict("n55", FENCE_COUNT_AGREED, 5);
}

static void differ_once_no_number_can_have_a_majority(void **state)
{
    IS("12.", OPEN);
    IS("123", DIFFER);
    IS("12-", DIFFER);
    IS("12l", DIFFER);
    IS("n5-", DIFFER);
    IS("12...", OPEN);
    IS("1223.", OPEN);
    IS("1234.", DIFFER);
}

static void unknown_where_too_few_answer(void **state)
{
    IS("1l.", OPEN);
    IS("1ll", UNKNOWN);
    IS("1rl", UNKNOWN);
    IS("11lll", UNKNOWN);
    IS("---", UNKNOWN);
}

static void round_that_is_given_up_is_decided(void **state)
{
    struct fence_counter_call round = round_of("12.");
    int64_t number = 0;
    fence_counter_call_give_up(&round);
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_DIFFER);
    round = round_of("1..");
    fence_counter_call_give_up(&round);
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_UNKNOWN);
    assert_int_equal(fence_counter_call_error(&round), FENCE_ENOQUORUM);
}

static void highest_number_is_kept_for_the_next_round(void **state)
{
    assert_int_equal(round_of("n3.81").highest, 8);
    assert_int_equal(round_of("n..").highest, 0);
}

static void second_answer_of_a_master_is_dropped(void **state)
{
    struct fence_counter_call round = round_of("1..");
    int64_t number = 0;
    const struct fence_reply again = {.kind = FENCE_REPLY_NUMBER, .number = 2};
    fence_counter_call_reply(&round, 0, &again);
    fence_counter_call_reply(&round, 1, &again);
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_OPEN);
}

static void full_masters_are_the_reason_where_a_majority_is_full(void **state)
{
    struct fence_counter_call round = round_of("ff1");
    assert_int_equal(fence_counter_call_error(&round), FENCE_ECOUNTERS);
    round = round_of("flll.");
    fence_counter_call_give_up(&round);
    assert_int_equal(fence_counter_call_error(&round), FENCE_ENOQUORUM);
}

static void spare_masters_are_wanted_where_one_that_was_asked_cannot_answer(void **state)
{
    struct fence_counter_call round;
    const struct fence_reply number = {.kind = FENCE_REPLY_NUMBER, .number = 2};
    const struct fence_reply lost = {.kind = FENCE_REPLY_LOST};
    fence_counter_call_begin(&round, 0, 3, 3, 4);
    fence_counter_call_reply(&round, 0, &number);
    assert_false(fence_counter_call_wants_more(&round));
    fence_counter_call_reply(&round, 1, &lost);
    assert_true(fence_counter_call_wants_more(&round));
}

static void answer_that_cannot_have_counted_is_a_refusal(void **state)
{
    int64_t number = 0;
    struct fence_counter_call round = round_for(5, "nn.");
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_UNKNOWN);
    round = round_for(5, "44.");
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_UNKNOWN);
    assert_int_equal(round.highest, 0);
    round = round_for(5, "55.");
    assert_int_equal(fence_counter_call_verdict(&round, &number), FENCE_COUNT_AGREED);
    assert_int_equal(number, 5);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(agreed_where_a_majority_of_all_masters_answers_one_number),
    cmocka_unit_test(never_counted_where_a_majority_says_so),
    cmocka_unit_test(differ_once_no_number_can_have_a_majority),
    cmocka_unit_test(unknown_where_too_few_answer),
    cmocka_unit_test(round_that_is_given_up_is_decided),
    cmocka_unit_test(highest_number_is_kept_for_the_next_round),
    cmocka_unit_test(second_answer_of_a_master_is_dropped),
    cmocka_unit_test(full_masters_are_the_reason_where_a_majority_is_full),
    cmocka_unit_test(answer_that_cannot_have_counted_is_a_refusal),
    cmocka_unit_test(spare_masters_are_wanted_where_one_that_was_asked_cannot_answer),
};

CASE_MAIN(cases, NULL, NULL)
