/* The masters that a round asks later: masters that were not asked first, and those that join an
 * extension. */
#include "fence/round/quorum_call.h"
#include "tests/lib/case.h"
#include "tests/unit/fence/round/quorum_fixture.h"

/* The first three of five are asked, and gave these answers. */
static struct fence_quorum_call vote_of_first(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote;
    fence_quorum_call_begin(&vote, kind, 5, 0x7, 0x18);
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        struct fence_reply reply = quorum_reply_of(letters[i]);
        if (letters[i] != '.')
            fence_quorum_call_reply(&vote, i, &reply);
    }
    return vote;
}

static bool wants_more(enum fence_call_kind kind, const char *letters)
{
    struct fence_quorum_call vote = vote_of_first(kind, letters);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
    return fence_quorum_call_wants_more(&vote);
}

static void others_are_wanted_on_anything_but_yes(void **state)
{
    static const char *const not_yes[] = {"n..", ".p.", "t..", "x..", "s..", "u..", "r..", "yl."};
    for (unsigned k = 0; k < sizeof(not_yes) / sizeof(not_yes[0]); k++)
        assert_true(wants_more(FENCE_CALL_EXTEND, not_yes[k]));
    assert_true(wants_more(FENCE_CALL_RELEASE, "yn."));
    assert_true(wants_more(FENCE_CALL_RELEASE, "l.."));
}

static void others_are_not_wanted_while_all_said_yes(void **state)
{
    assert_false(wants_more(FENCE_CALL_EXTEND, "..."));
    assert_false(wants_more(FENCE_CALL_EXTEND, "yo."));
    assert_false(wants_more(FENCE_CALL_RELEASE, "yy."));
    struct fence_quorum_call vote = vote_of_first(FENCE_CALL_EXTEND, "yyy");
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_YES);
}

static void others_are_not_wanted_for_a_broken_grant(void **state)
{
    struct fence_quorum_call vote = vote_of_first(FENCE_CALL_EXTEND, "kn.");
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_BROKEN);
    assert_false(fence_quorum_call_wants_more(&vote));
}

static void others_are_wanted_once(void **state)
{
    struct fence_quorum_call vote = vote_of_first(FENCE_CALL_EXTEND, "yp.");
    fence_tally_ask(&vote.tally, vote.tally.spare);
    assert_false(fence_quorum_call_wants_more(&vote));
}

enum {
    ALL = 0x1f,
};

/* Those of five that are asked to join after these answers, where those in @late are. */
static uint32_t joined_after(const char *letters, uint32_t late)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, letters);
    return fence_quorum_call_join(&vote, late, ALL);
}

static void masters_join_where_it_is_free_after_one_was_extended(void **state)
{
    assert_int_equal(joined_after("ynnll", 0), 0x6);
    assert_int_equal(joined_after("nnnyl", 0), 0x7);
    assert_int_equal(joined_after("nnnll", 0), 0); /* nothing to join */
    assert_int_equal(joined_after("onnll", 0), 0); /* the number of that lock is below the token */
    assert_int_equal(joined_after("onnly", 0), 0x6);
}

static void nobody_joins_where_it_is_not_free(void **state)
{
    assert_int_equal(joined_after("yptul", 0), 0);
    assert_int_equal(joined_after("yynsr", 0), 0x4);
    assert_int_equal(joined_after("ynnkl", 0), 0); /* or was broken */
}

static void nobody_joins_while_those_that_are_awaited_may_be_enough(void **state)
{
    assert_int_equal(joined_after("yn...", 0), 0);
    assert_int_equal(joined_after("yyn..", 0), 0);
    assert_int_equal(joined_after("yyn..", 0x18), 0x4); /* late ones are not awaited */
    assert_int_equal(joined_after("yyn..", 0x8), 0);
    struct fence_quorum_call vote = vote_of_first(FENCE_CALL_EXTEND, "ynn");
    assert_int_equal(fence_quorum_call_join(&vote, 0, ALL), 0); /* nor while some are spare */
    fence_tally_drop(&vote.tally, 0x8);
    assert_int_equal(fence_quorum_call_join(&vote, 0, ALL), 0x6);
}

static void master_that_joined_has_its_vote(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "ynl");
    assert_int_equal(fence_quorum_call_join(&vote, 0, 0x7), 0x2);
    assert_int_equal(vote.tally.parts[1], FENCE_PART_PENDING);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_OPEN);
    struct fence_reply yes = quorum_reply_of('y');
    fence_quorum_call_reply(&vote, 1, &yes);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_YES);
    assert_int_equal(vote.joined, 0x2);
}

static void master_is_asked_to_join_once(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "ynl");
    assert_int_equal(fence_quorum_call_join(&vote, 0, 0x7), 0x2);
    struct fence_reply no = quorum_reply_of('n');
    fence_quorum_call_reply(&vote, 1, &no);
    assert_int_equal(fence_quorum_call_join(&vote, 0, 0x7), 0);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_UNKNOWN);
}

static void master_that_is_not_active_cannot_join(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "ynl");
    assert_int_equal(fence_quorum_call_join(&vote, 0, 0x5), 0);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_UNKNOWN);
}

static void join_that_finds_the_counter_past_the_token_counts_as_past(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, "ynp");
    assert_int_equal(fence_quorum_call_join(&vote, 0, 0x7), 0x2);
    struct fence_reply past = quorum_reply_of('p');
    fence_quorum_call_reply(&vote, 1, &past);
    assert_int_equal(fence_quorum_call_verdict(&vote), FENCE_VERDICT_NO);
}

static void most_extensions_and_their_label_are_kept(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_EXTEND, ".....");
    struct fence_reply yes = {.kind = FENCE_REPLY_YES, .number = 4, .owner = "four"};
    fence_quorum_call_reply(&vote, 0, &yes);
    yes = (struct fence_reply){.kind = FENCE_REPLY_YES, .number = 3, .owner = "three"};
    fence_quorum_call_reply(&vote, 1, &yes);
    assert_int_equal(vote.extensions, 4);
    assert_string_equal(vote.owner, "four");
}

static void release_of_a_lock_that_spread_is_noted(void **state)
{
    struct fence_quorum_call vote = quorum_vote_of(FENCE_CALL_RELEASE, "y..");
    assert_false(vote.adopted);
    struct fence_reply yes = {.kind = FENCE_REPLY_YES, .adopted = true, .owner = ""};
    fence_quorum_call_reply(&vote, 1, &yes);
    assert_true(vote.adopted);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(others_are_wanted_on_anything_but_yes),
    cmocka_unit_test(others_are_not_wanted_while_all_said_yes),
    cmocka_unit_test(others_are_not_wanted_for_a_broken_grant),
    cmocka_unit_test(others_are_wanted_once),
    cmocka_unit_test(masters_join_where_it_is_free_after_one_was_extended),
    cmocka_unit_test(nobody_joins_where_it_is_not_free),
    cmocka_unit_test(nobody_joins_while_those_that_are_awaited_may_be_enough),
    cmocka_unit_test(master_that_joined_has_its_vote),
    cmocka_unit_test(master_is_asked_to_join_once),
    cmocka_unit_test(master_that_is_not_active_cannot_join),
    cmocka_unit_test(join_that_finds_the_counter_past_the_token_counts_as_past),
    cmocka_unit_test(most_extensions_and_their_label_are_kept),
    cmocka_unit_test(release_of_a_lock_that_spread_is_noted),
};

CASE_MAIN(cases, NULL, NULL)
