#include "fence/quorum/quorum_call.h"
#include "tests/lib/case.h"

/* Replies as letters, one for each master in order. Of a vote: y yes, n no, x exhausted, s
 * superseded, u uncounted. Of an inspection: a and b, held by that holder. Of both: r refused, l
 * lost, '-' not asked, '.' no answer yet. */
static struct fence_reply reply_of(char letter)
{
    switch (letter) {
    case 'y':
        return (struct fence_reply){.kind = FENCE_REPLY_YES};
    case 'n':
        return (struct fence_reply){.kind = FENCE_REPLY_NO};
    case 'x':
        return (struct fence_reply){.kind = FENCE_REPLY_EXHAUSTED};
    case 's':
        return (struct fence_reply){.kind = FENCE_REPLY_SUPERSEDED};
    case 'u':
        return (struct fence_reply){.kind = FENCE_REPLY_UNCOUNTED};
    case 'r':
        return (struct fence_reply){.kind = FENCE_REPLY_REFUSED};
    case 'l':
        return (struct fence_reply){.kind = FENCE_REPLY_LOST};
    case 'a':
        return (struct fence_reply){.kind = FENCE_REPLY_HELD, .holder = "a", .owner = ""};
    default:
        return (struct fence_reply){.kind = FENCE_REPLY_HELD, .holder = "b", .owner = ""};
    }
}

static struct fence_quorum_call vote_of(enum fence_call_kind kind, const char *letters)
{
    unsigned n = 0;
    uint32_t active = 0;
    for (; letters[n] != '\0'; n++)
        if (letters[n] != '-')
            active |= UINT32_C(1) << n;
    struct fence_quorum_call vote;
    fence_quorum_call_begin(&vote, kind, n, active, 0);
    for (unsigned i = 0; i < n; i++) {
        if (letters[i] == '-' || letters[i] == '.')
            continue;
        struct fence_reply reply = reply_of(letters[i]);
        fence_quorum_call_reply(&vote, i, &reply);
    }
    return vote;
}

static enum fence_verdict verdict(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote = vote_of(kind, letters);
    return fence_quorum_call_verdict(&vote);
}

static enum fence_verdict verdict_at_deadline(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote = vote_of(kind, letters);
    fence_tally_give_up(&vote.tally);
    return fence_quorum_call_verdict(&vote);
}

#define EXTEND_IS(letters, expected)                                                               \
    assert_int_equal(verdict(FENCE_CALL_EXTEND, letters), FENCE_VERDICT_##expected)
#define RELEASE_IS(letters, expected)                                                              \
    assert_int_equal(verdict(FENCE_CALL_RELEASE, letters), FENCE_VERDICT_##expected)
#define INSPECT_IS(letters, expected)                                                              \
    assert_int_equal(verdict(FENCE_CALL_INSPECT, letters), FENCE_VERDICT_##expected)

/* ---- extend and release ---------------------------------------------------------------------- */

static void done_as_soon_as_a_majority_of_all_masters_did_it(void **state)
{
    (void)state;
    RELEASE_IS(".", OPEN);
    RELEASE_IS("y", YES);
    RELEASE_IS("y..", OPEN);
    RELEASE_IS("y.y", YES);
    RELEASE_IS("yy...", OPEN);
    RELEASE_IS("y.y.y", YES);
    RELEASE_IS("yynny", YES);
}

static void majority_of_those_that_answered_is_not_enough(void **state)
{
    (void)state;
    EXTEND_IS("yyl..", OPEN);
    EXTEND_IS("yylll", UNKNOWN);
    EXTEND_IS("yy---", UNKNOWN);
    EXTEND_IS("yyl--", UNKNOWN);
}

static void lost_as_soon_as_no_majority_can_have_it(void **state)
{
    (void)state;
    EXTEND_IS("n", NO);
    EXTEND_IS("n..", OPEN);
    EXTEND_IS("n.n", NO);
    EXTEND_IS("nn...", OPEN);
    EXTEND_IS("nn.n.", NO);
    EXTEND_IS("yynnn", NO);
}

static void neither_is_certain_where_too_few_answered(void **state)
{
    (void)state;
    EXTEND_IS("l", UNKNOWN);
    EXTEND_IS("ynl", UNKNOWN);
    EXTEND_IS("yr-", UNKNOWN);
    EXTEND_IS("---", UNKNOWN);
    EXTEND_IS("yynnl", UNKNOWN);
    EXTEND_IS("ynrl.", UNKNOWN);
    EXTEND_IS("yyrl.", OPEN);
    EXTEND_IS("nnrl.", OPEN);
}

static void extend_fails_when_majority_timed_out(void **state)
{
    (void)state;
    assert_int_equal(verdict_at_deadline(FENCE_CALL_EXTEND, "y.."), FENCE_VERDICT_UNKNOWN);
    assert_int_equal(verdict_at_deadline(FENCE_CALL_EXTEND, "yy..."), FENCE_VERDICT_UNKNOWN);
}

static void exhausted_as_soon_as_no_majority_can_be_extended(void **state)
{
    (void)state;
    EXTEND_IS("x", EXHAUSTED);
    EXTEND_IS("x..", OPEN);
    EXTEND_IS("xx.", EXHAUSTED);
    EXTEND_IS("xn.", EXHAUSTED);
    EXTEND_IS("xyy", YES);
    EXTEND_IS("xxn..", EXHAUSTED);
    EXTEND_IS("nnnxx", NO);
    EXTEND_IS("xyl", UNKNOWN);
}

/* The lock id has it under a higher number: its grant is another one by now. */
static void superseded_by_a_majority_is_lost(void **state)
{
    (void)state;
    EXTEND_IS("s", NO);
    EXTEND_IS("s..", OPEN);
    EXTEND_IS("s.s", NO);
    EXTEND_IS("ss...", OPEN);
    EXTEND_IS("sss..", NO);
    EXTEND_IS("yysss", NO);
}

static void superseded_by_a_minority_settles_nothing(void **state)
{
    (void)state;
    EXTEND_IS("syy", YES);
    EXTEND_IS("snl", UNKNOWN);
    EXTEND_IS("syl", UNKNOWN);
    EXTEND_IS("ssll.", OPEN);
    EXTEND_IS("ssyy.", OPEN);
    EXTEND_IS("ssyyl", UNKNOWN);
    EXTEND_IS("ssnnl", UNKNOWN); /* nor do they add up with those that have no such lock */
}

static void uncounted_counts_for_neither_side(void **state)
{
    (void)state;
    EXTEND_IS("u", UNKNOWN);
    EXTEND_IS("uyy", YES);
    EXTEND_IS("unn", NO);
    EXTEND_IS("uy.", OPEN);
    EXTEND_IS("un.", OPEN);
    EXTEND_IS("uyn", UNKNOWN);
    EXTEND_IS("uux", UNKNOWN);
    EXTEND_IS("uus", UNKNOWN);
    EXTEND_IS("uu.", UNKNOWN);
    RELEASE_IS("uyy", YES);
    RELEASE_IS("unn", NO);
    RELEASE_IS("uy.", OPEN);
    RELEASE_IS("uyn", UNKNOWN);
}

static void second_reply_of_one_master_changes_nothing(void **state)
{
    (void)state;
    struct fence_quorum_call vote = vote_of(FENCE_CALL_EXTEND, "xy.");
    struct fence_reply yes = {.kind = FENCE_REPLY_YES};
    fence_quorum_call_reply(&vote, 1, &yes);
    fence_quorum_call_reply(&vote, 0, &yes);
    struct fence_reply exhausted = {.kind = FENCE_REPLY_EXHAUSTED};
    fence_quorum_call_reply(&vote, 0, &exhausted);
    fence_quorum_call_reply(&vote, 1, &exhausted);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
}

static void parts_say_what_each_master_did(void **state)
{
    (void)state;
    struct fence_quorum_call vote = vote_of(FENCE_CALL_INSPECT, "ynalrxsu-");
    static const enum fence_part parts[] = {
        FENCE_PART_GRANTED, FENCE_PART_FREE,    FENCE_PART_HELD,
        FENCE_PART_TIMEOUT, FENCE_PART_REFUSED, FENCE_PART_REFUSED,
        FENCE_PART_REFUSED, FENCE_PART_REFUSED, FENCE_PART_DOWN,
    };
    assert_memory_equal(vote.tally.parts, parts, sizeof(parts));
    vote = vote_of(FENCE_CALL_INSPECT, "y.-");
    assert_int_equal(vote.tally.parts[1], FENCE_PART_PENDING);
}

/* ---- inspect --------------------------------------------------------------------------------- */

static void held_needs_a_majority_that_names_one_holder(void **state)
{
    (void)state;
    INSPECT_IS("a", YES);
    INSPECT_IS("a..", OPEN);
    INSPECT_IS("ab.", OPEN);
    INSPECT_IS("ab.a.", OPEN);
    INSPECT_IS("aba", YES);
    INSPECT_IS("ab.aa", YES);
}

static void free_needs_that_no_holder_can_have_a_majority(void **state)
{
    (void)state;
    INSPECT_IS("n", NO);
    INSPECT_IS("n..", OPEN);
    INSPECT_IS("nn.", NO);
    INSPECT_IS("abn", NO);
    INSPECT_IS("aabbn", NO);
    INSPECT_IS("nnnll", NO);
}

static void unheard_masters_may_name_anybody(void **state)
{
    (void)state;
    INSPECT_IS("l", UNKNOWN);
    INSPECT_IS("-", UNKNOWN);
    INSPECT_IS("anl", UNKNOWN);
    INSPECT_IS("anr", UNKNOWN);
    INSPECT_IS("an-", UNKNOWN);
    INSPECT_IS("nll", UNKNOWN);
}

static void reading_ends_once_the_rest_can_settle_nothing(void **state)
{
    (void)state;
    INSPECT_IS("anll.", UNKNOWN); /* neither a with the last, nor free with the two lost */
    INSPECT_IS("aall.", OPEN);    /* the last may name a */
    INSPECT_IS("nnll.", OPEN);    /* the last may be free */
    INSPECT_IS("nlll.", UNKNOWN);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void assert_never_open_at_deadline(enum fence_call_kind kind, unsigned n)
{
    static const char letters[] = "yn.-xsurlab";
    char word[FENCE_MASTERS_MAX + 1] = {0};
    unsigned words = 1;
    for (unsigned i = 0; i < n; i++)
        words *= sizeof(letters) - 1;
    for (unsigned w = 0; w < words; w++) {
        unsigned rest = w;
        for (unsigned i = 0; i < n; i++, rest /= sizeof(letters) - 1)
            word[i] = letters[rest % (sizeof(letters) - 1)];
        assert_int_not_equal(verdict_at_deadline(kind, word), FENCE_VERDICT_OPEN);
    }
}

static void deadline_always_brings_a_verdict(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n += 2) {
        assert_never_open_at_deadline(FENCE_CALL_EXTEND, n);
        assert_never_open_at_deadline(FENCE_CALL_RELEASE, n);
        assert_never_open_at_deadline(FENCE_CALL_INSPECT, n);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(done_as_soon_as_a_majority_of_all_masters_did_it),
    cmocka_unit_test(majority_of_those_that_answered_is_not_enough),
    cmocka_unit_test(lost_as_soon_as_no_majority_can_have_it),
    cmocka_unit_test(neither_is_certain_where_too_few_answered),
    cmocka_unit_test(extend_fails_when_majority_timed_out),
    cmocka_unit_test(exhausted_as_soon_as_no_majority_can_be_extended),
    cmocka_unit_test(superseded_by_a_majority_is_lost),
    cmocka_unit_test(superseded_by_a_minority_settles_nothing),
    cmocka_unit_test(uncounted_counts_for_neither_side),
    cmocka_unit_test(second_reply_of_one_master_changes_nothing),
    cmocka_unit_test(parts_say_what_each_master_did),
    cmocka_unit_test(held_needs_a_majority_that_names_one_holder),
    cmocka_unit_test(free_needs_that_no_holder_can_have_a_majority),
    cmocka_unit_test(unheard_masters_may_name_anybody),
    cmocka_unit_test(reading_ends_once_the_rest_can_settle_nothing),
    cmocka_unit_test(deadline_always_brings_a_verdict),
};

CASE_MAIN(cases, NULL, NULL)
