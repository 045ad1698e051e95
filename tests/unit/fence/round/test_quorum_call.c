#include "fence/round/quorum_call.h"
#include "tests/lib/case.h"
#include "tests/unit/fence/round/quorum_fixture.h"

static enum fence_verdict verdict(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote = quorum_vote_of(kind, letters);
    return fence_quorum_call_verdict(&vote);
}

static enum fence_verdict verdict_at_deadline(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote = quorum_vote_of(kind, letters);
    fence_quorum_call_give_up(&vote);
    return fence_quorum_call_verdict(&vote);
}

#define EXTEND_IS(letters, expected)                                                               \
    assert_int_equal(verdict(FENCE_CALL_EXTEND, letters), FENCE_VERDICT_##expected)
#define RELEASE_IS(letters, expected)                                                              \
    assert_int_equal(verdict(FENCE_CALL_RELEASE, letters), FENCE_VERDICT_##expected)
#define INSPECT_IS(letters, expected)                                                              \
    assert_int_equal(verdict(FENCE_CALL_INSPECT, letters), FENCE_VERDICT_##expected)

static void done_as_soon_as_a_majority_of_all_masters_did_it(void **state)
{
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
    EXTEND_IS("yyl..", OPEN);
    EXTEND_IS("yylll", UNKNOWN);
    EXTEND_IS("yy---", UNKNOWN);
    EXTEND_IS("yyl--", UNKNOWN);
}

/* No later round can have a majority. */
static void lost_as_soon_as_too_many_are_past_the_token(void **state)
{
    EXTEND_IS("p", NO);
    EXTEND_IS("p..", OPEN);
    EXTEND_IS("p.p", NO);
    EXTEND_IS("ppl", NO);
    EXTEND_IS("pp...", OPEN);
    EXTEND_IS("pp.p.", NO);
    EXTEND_IS("yyppp", NO);
    EXTEND_IS("ppll.", OPEN); /* the last may be past it, too */
    EXTEND_IS("ppttl", UNKNOWN);
}

/* One that is silent may have it. One that is not past the token may be joined by another round. */
static void lost_once_all_masters_say_that_it_is_not_there(void **state)
{
    EXTEND_IS("n", NO);
    EXTEND_IS("t", NO);
    EXTEND_IS("n.n", OPEN);
    EXTEND_IS("nnn", NO);
    EXTEND_IS("npt", NO);
    EXTEND_IS("ttt", NO);
    EXTEND_IS("nnl", UNKNOWN);
    EXTEND_IS("nn-", UNKNOWN);
    EXTEND_IS("tty", UNKNOWN);
    EXTEND_IS("nnnnn", NO);
    EXTEND_IS("ttppn", NO);
    EXTEND_IS("nnnn.", OPEN);
    EXTEND_IS("nnnnr", UNKNOWN);
    EXTEND_IS("yyttt", UNKNOWN);
}

static void neither_is_certain_where_too_few_answered(void **state)
{
    EXTEND_IS("l", UNKNOWN);
    EXTEND_IS("ytl", UNKNOWN);
    EXTEND_IS("yr-", UNKNOWN);
    EXTEND_IS("---", UNKNOWN);
    EXTEND_IS("yyttl", UNKNOWN);
    EXTEND_IS("ytrl.", UNKNOWN);
    EXTEND_IS("ttrl.", UNKNOWN);
    EXTEND_IS("yyrl.", OPEN);
    EXTEND_IS("nnrl.", OPEN); /* if the last extends it, the two may join */
}

static void round_stays_open_for_those_that_may_join(void **state)
{
    EXTEND_IS("ynl", OPEN);
    EXTEND_IS("n.l", OPEN);
    EXTEND_IS("onl", UNKNOWN); /* nothing to join */
    EXTEND_IS("nnnyl", OPEN);
    EXTEND_IS("nsyll", UNKNOWN); /* too few to join */
}

static void extend_fails_when_majority_timed_out(void **state)
{
    assert_int_equal(verdict_at_deadline(FENCE_CALL_EXTEND, "y.."), FENCE_VERDICT_UNKNOWN);
    assert_int_equal(verdict_at_deadline(FENCE_CALL_EXTEND, "yy..."), FENCE_VERDICT_UNKNOWN);
}

/* The cap holds, also where a majority could be extended. One master alone may be wrong about it.
 */
static void two_that_say_exhausted_are_believed(void **state)
{
    EXTEND_IS("x", EXHAUSTED); /* the only one */
    EXTEND_IS("x..", OPEN);
    EXTEND_IS("xn.", OPEN);
    EXTEND_IS("xx.", EXHAUSTED);
    EXTEND_IS("xyx", EXHAUSTED);
    EXTEND_IS("xyy", YES);
    EXTEND_IS("xxn..", EXHAUSTED);
    EXTEND_IS("xxyy.", EXHAUSTED);
    EXTEND_IS("pppxx", EXHAUSTED);
    EXTEND_IS("xyl", UNKNOWN);
    EXTEND_IS("xll", UNKNOWN);
}

/* The lock id has it under a higher number: it stands, and another round may have to be asked. */
static void superseded_never_means_lost(void **state)
{
    EXTEND_IS("s", UNKNOWN);
    EXTEND_IS("s..", OPEN);
    EXTEND_IS("s.s", UNKNOWN);
    EXTEND_IS("ss...", OPEN);
    EXTEND_IS("sss..", UNKNOWN);
    EXTEND_IS("yysss", UNKNOWN);
    EXTEND_IS("sssss", UNKNOWN);
}

static void superseded_counts_for_neither_side(void **state)
{
    EXTEND_IS("syy", YES);
    EXTEND_IS("spp", NO);
    EXTEND_IS("snl", UNKNOWN);
    EXTEND_IS("syl", UNKNOWN);
    EXTEND_IS("ssll.", OPEN); /* two of five say nothing of a break */
    EXTEND_IS("sslll", UNKNOWN);
    EXTEND_IS("ssyy.", OPEN);
    EXTEND_IS("ssyyl", UNKNOWN);
    EXTEND_IS("ssppl", UNKNOWN); /* nor do they add up with those that are past the token */
    EXTEND_IS("snn", UNKNOWN);   /* or that have no such lock */
}

static void one_that_says_broken_ends_an_extension(void **state)
{
    EXTEND_IS("k..", BROKEN);
    EXTEND_IS("kyy", BROKEN);
    EXTEND_IS("pyk..", BROKEN);
    EXTEND_IS("lllk.", BROKEN);
    EXTEND_IS("xk.", BROKEN);
}

static void broken_is_told_by_whom(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "yk.");
    assert_string_equal(vote.owner, "operator");
    assert_false(fence_quorum_call_stands(&vote));
}

static void lock_stands_only_where_a_majority_answered(void **state)
{
    static const char *const stands[] = {"yp.",   "yul", "spp", "ysp..", "sunll", "uuu",  "uul",
                                         "uuull", "u",   "uun", "uup",   "uut",   "uuupn"};
    static const char *const does_not[] = {"yll", "sll",   "ypl..", "sul..", "s...l",
                                           "uu.", "uulll", "uuk",   "uuu..", "uupp.",
                                           "unn", "uunnn", "uuukn"};
    for (unsigned i = 0; i < sizeof(stands) / sizeof(stands[0]); i++) {
        struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, stands[i]);
        assert_true(fence_quorum_call_stands(&vote));
        vote = quorum_vote_of(FENCE_CALL_EXTEND, does_not[i]);
        assert_false(fence_quorum_call_stands(&vote));
    }
}

static void uncounted_counts_for_neither_side(void **state)
{
    EXTEND_IS("u", UNKNOWN);
    EXTEND_IS("uyy", YES);
    EXTEND_IS("upp", NO);
    EXTEND_IS("unn", UNKNOWN);
    EXTEND_IS("uy.", OPEN);
    EXTEND_IS("un.", OPEN);
    EXTEND_IS("uyt", UNKNOWN);
    EXTEND_IS("uux", UNKNOWN);
    EXTEND_IS("uus", UNKNOWN);
    EXTEND_IS("uu.", OPEN); /* if the last has it, it is acquired again */
    RELEASE_IS("uyy", YES);
    RELEASE_IS("unn", NO);
    RELEASE_IS("uy.", OPEN);
    RELEASE_IS("uyl", UNKNOWN);
}

/* No holder has a majority any more, and some of that is this release's doing. */
static void released_once_yes_and_no_together_block_every_majority(void **state)
{
    RELEASE_IS("yn.", OPEN);
    RELEASE_IS("ynl", YES);
    RELEASE_IS("ynu", YES);
    RELEASE_IS("yll", UNKNOWN);
    RELEASE_IS("nnl", NO);
    RELEASE_IS("ynrl.", OPEN);
    RELEASE_IS("ynrll", UNKNOWN);
    RELEASE_IS("ynnrl", YES);
    RELEASE_IS("yynll", YES);
    RELEASE_IS("nnnyy", NO);
}

static void second_reply_of_one_master_changes_nothing(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "xy.");
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
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_INSPECT, "ynalrxsu-");
    static const enum fence_part parts[] = {
        FENCE_PART_GRANTED, FENCE_PART_FREE,    FENCE_PART_HELD,
        FENCE_PART_TIMEOUT, FENCE_PART_REFUSED, FENCE_PART_REFUSED,
        FENCE_PART_REFUSED, FENCE_PART_REFUSED, FENCE_PART_DOWN,
    };
    assert_memory_equal(vote.tally.parts, parts, sizeof(parts));
    vote = quorum_vote_of(FENCE_CALL_INSPECT, "y.-");
    assert_int_equal(vote.tally.parts[1], FENCE_PART_PENDING);
}

static void held_needs_a_majority_that_names_one_holder(void **state)
{
    INSPECT_IS("a", YES);
    INSPECT_IS("a..", OPEN);
    INSPECT_IS("ab.", OPEN);
    INSPECT_IS("ab.a.", OPEN);
    INSPECT_IS("aba", YES);
    INSPECT_IS("ab.aa", YES);
}

static void free_needs_that_no_holder_can_have_a_majority(void **state)
{
    INSPECT_IS("n", NO);
    INSPECT_IS("n..", OPEN);
    INSPECT_IS("nn.", NO);
    INSPECT_IS("abn", NO);
    INSPECT_IS("aabbn", NO);
    INSPECT_IS("nnnll", NO);
}

static void holder_whom_only_unheard_masters_keep_from_a_majority_is_named(void **state)
{
    INSPECT_IS("anl", YES);
    INSPECT_IS("anr", YES);
    INSPECT_IS("an-", YES);
    INSPECT_IS("aanll", YES);
    INSPECT_IS("aabnl", YES);
    INSPECT_IS("abnnl", NO); /* one is not enough */
}

static void free_where_nobody_is_named_and_enough_were_heard(void **state)
{
    INSPECT_IS("nnl", NO);
    INSPECT_IS("nn-", NO);
    INSPECT_IS("nnnlr", NO);
}

static void too_many_unheard_masters_may_name_anybody(void **state)
{
    INSPECT_IS("l", UNKNOWN);
    INSPECT_IS("-", UNKNOWN);
    INSPECT_IS("nll", UNKNOWN);
    INSPECT_IS("all", UNKNOWN);
    INSPECT_IS("nnl-r", UNKNOWN);
    INSPECT_IS("aal-r", UNKNOWN);
}

static void reading_ends_once_the_rest_can_settle_nothing(void **state)
{
    INSPECT_IS("anll.", OPEN); /* the last may name a, or be unheard, too */
    INSPECT_IS("aall.", OPEN);
    INSPECT_IS("nnll.", OPEN);
    INSPECT_IS("nnnl.", NO);
    INSPECT_IS("nlll.", UNKNOWN);
}

static void assert_agreeing(const char *letters, unsigned expected)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_INSPECT, letters);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_YES);
    assert_int_equal(fence_quorum_call_agreeing(&vote), expected);
}

static void reading_waits_for_a_majority_with_one_token(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_INSPECT, "aa...");
    const struct fence_reply older = {
        .kind = FENCE_REPLY_HELD, .holder = "a", .number = 6, .owner = ""};
    fence_quorum_call_reply(&vote, 2, &older);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
    fence_quorum_call_reply(&vote, 3, &older);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
    const struct fence_reply newer = {
        .kind = FENCE_REPLY_HELD, .holder = "a", .number = 7, .owner = ""};
    fence_quorum_call_reply(&vote, 4, &newer);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_YES);
}

static void one_exhausted_is_believed_where_another_had_half_as_many(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "x....");
    vote.extensions_max = 1000;
    const struct fence_reply few = {.kind = FENCE_REPLY_YES, .number = 499, .owner = ""};
    fence_quorum_call_reply(&vote, 1, &few);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
    const struct fence_reply half = {.kind = FENCE_REPLY_YES, .number = 500, .owner = ""};
    fence_quorum_call_reply(&vote, 2, &half);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_EXHAUSTED);
}

static void unheard_masters_need_not_agree_on_what_is_told(void **state)
{
    assert_agreeing("a", 1);
    assert_agreeing("aan", 2);
    assert_agreeing("anl", 1);
    assert_agreeing("aaan.", 3);
    assert_agreeing("aabnl", 2);
    assert_agreeing("aanrl", 1);
}

static void holder_is_not_told_where_the_unheard_may_have_another(void **state)
{
    INSPECT_IS("abl", UNKNOWN);
    INSPECT_IS("aabrl", UNKNOWN);
    INSPECT_IS("aabnl", YES);
}

static void assert_never_open_at_deadline(enum fence_call_kind kind, unsigned n)
{
    static const char letters[] = "yonpt.-xsurlabk";
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
    for (unsigned n = 1; n <= 5; n += 2) {
        assert_never_open_at_deadline(FENCE_CALL_EXTEND, n);
        assert_never_open_at_deadline(FENCE_CALL_RELEASE, n);
        assert_never_open_at_deadline(FENCE_CALL_INSPECT, n);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(done_as_soon_as_a_majority_of_all_masters_did_it),
    cmocka_unit_test(majority_of_those_that_answered_is_not_enough),
    cmocka_unit_test(lost_as_soon_as_too_many_are_past_the_token),
    cmocka_unit_test(lost_once_all_masters_say_that_it_is_not_there),
    cmocka_unit_test(neither_is_certain_where_too_few_answered),
    cmocka_unit_test(round_stays_open_for_those_that_may_join),
    cmocka_unit_test(extend_fails_when_majority_timed_out),
    cmocka_unit_test(two_that_say_exhausted_are_believed),
    cmocka_unit_test(superseded_never_means_lost),
    cmocka_unit_test(superseded_counts_for_neither_side),
    cmocka_unit_test(one_that_says_broken_ends_an_extension),
    cmocka_unit_test(broken_is_told_by_whom),
    cmocka_unit_test(lock_stands_only_where_a_majority_answered),
    cmocka_unit_test(uncounted_counts_for_neither_side),
    cmocka_unit_test(released_once_yes_and_no_together_block_every_majority),
    cmocka_unit_test(second_reply_of_one_master_changes_nothing),
    cmocka_unit_test(parts_say_what_each_master_did),
    cmocka_unit_test(held_needs_a_majority_that_names_one_holder),
    cmocka_unit_test(free_needs_that_no_holder_can_have_a_majority),
    cmocka_unit_test(holder_whom_only_unheard_masters_keep_from_a_majority_is_named),
    cmocka_unit_test(free_where_nobody_is_named_and_enough_were_heard),
    cmocka_unit_test(too_many_unheard_masters_may_name_anybody),
    cmocka_unit_test(reading_ends_once_the_rest_can_settle_nothing),
    cmocka_unit_test(reading_waits_for_a_majority_with_one_token),
    cmocka_unit_test(one_exhausted_is_believed_where_another_had_half_as_many),
    cmocka_unit_test(unheard_masters_need_not_agree_on_what_is_told),
    cmocka_unit_test(holder_is_not_told_where_the_unheard_may_have_another),
    cmocka_unit_test(deadline_always_brings_a_verdict),
};

CASE_MAIN(cases, NULL, NULL)
