/* The members of the fleet, the view of a majority, and Faults of a master are in test_judge.c. */
#include "tests/unit/fence/fleet/fleet_fixture.h"

#include <string.h>

static void master_is_superseded_by_what_two_others_recorded(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts[] = {core_facts(0), core_facts(1)};
    facts[0].view.incarnation[2] += CORE_ADMISSIONS(1);
    facts[1].view = facts[0].view;
    assert_int_equal(fleet_learn(&fleet, 0, facts[0]), 0); /* one alone is not believed */
    assert_int_equal(fleet_learn(&fleet, 1, facts[1]), CORE_SET(2));
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_SUPERSEDED);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(2));
}

static void same_server_at_two_places_votes_once(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, core_facts(0));
    assert_int_equal(fleet_learn(&fleet, 1, core_facts(0)), CORE_SET(1));
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SAME_SERVER);
    fleet_learn(&fleet, 2, core_facts(2));
    assert_int_equal(fence_fleet_active(&fleet), CORE_SET(0) | CORE_SET(2));
}

static void same_server_votes_at_the_place_its_marker_names(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, core_facts(1)); /* alone so far: just in the wrong place */
    fleet_learn(&fleet, 2, core_facts(2));
    assert_int_equal(fleet_learn(&fleet, 1, core_facts(1)) & CORE_SET(1), 0);
    assert_master(&fleet, 1, FENCE_MASTER_ACTIVE, FENCE_REASON_NONE);
    assert_master(&fleet, 0, FENCE_MASTER_REFUSED, FENCE_REASON_SAME_SERVER);
}

static void unmarked_server_at_two_places_is_named_at_both(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    struct fence_facts facts = core_facts(0);
    facts.marked = false;
    fleet_learn(&fleet, 0, facts);
    fleet_learn(&fleet, 1, facts);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_SAME_SERVER);
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SAME_SERVER);
}

static void nobody_votes_before_a_majority_names_one_fleet(void **state)
{
    struct fence_fleet fleet = fleet_unmet(5);
    assert_int_equal(fleet_learn(&fleet, 0, core_facts(0)), 0);
    assert_int_equal(fleet_learn(&fleet, 1, core_facts(1)), 0);
    assert_string_equal(fleet.fleet_id, "");
    assert_master(&fleet, 0, FENCE_MASTER_WAITING, FENCE_REASON_NO_MAJORITY);
    assert_int_equal(fleet_learn(&fleet, 2, core_facts(2)), 0);
    assert_string_equal(fleet.fleet_id, core_facts(0).fleet_id);
    assert_int_equal(fleet.ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(fence_fleet_active(&fleet), CORE_FIRST(3));
    assert_true(fence_fleet_ready(&fleet));
}

static void minority_of_another_fleet_has_no_say(void **state)
{
    struct fence_fleet fleet = fleet_unmet(5);
    for (unsigned i = 0; i < 4; i++) {
        struct fence_facts facts = core_facts(i);
        if (i % 2 == 0)
            become_other(facts.fleet_id);
        fleet_learn(&fleet, i, facts);
        assert_string_equal(fleet.fleet_id, "");
    }
    assert_int_equal(fleet_learn(&fleet, 4, core_facts(4)), CORE_SET(0) | CORE_SET(2));
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_OTHER_FLEET);
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_OTHER_FLEET);
    assert_int_equal(fence_fleet_active(&fleet), CORE_SET(1) | CORE_SET(3) | CORE_SET(4));
}

static void same_marker_seen_twice_is_one_voice(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, core_facts(0));
    fleet_learn(&fleet, 1, core_facts(0));
    fleet_learn(&fleet, 2, core_facts(0));
    assert_string_equal(fleet.fleet_id, "");
    assert_int_equal(fence_fleet_active(&fleet), 0);
}

static void voice_of_a_lost_master_does_not_count(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    fleet_learn(&fleet, 0, core_facts(0));
    fleet_lose(&fleet, 0);
    fleet_learn(&fleet, 1, core_facts(1));
    assert_string_equal(fleet.fleet_id, "");
}

static void majority_must_agree_on_the_maximum_ttl_too(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    struct fence_facts facts = core_facts(0);
    facts.ttl_max_ms = 1000;
    fleet_learn(&fleet, 0, facts);
    fleet_learn(&fleet, 1, core_facts(1));
    assert_string_equal(fleet.fleet_id, "");
    fleet_learn(&fleet, 2, core_facts(2));
    assert_int_equal(fleet.ttl_max_ms, CORE_TTL_MAX_MS);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_OTHER_TTL);
}

static void masters_may_be_made_another_fleet(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    for (unsigned i = 0; i < 3; i++) {
        struct fence_facts facts = core_facts(i);
        become_other(facts.fleet_id);
        facts.view.incarnation[i] = 1;
        fleet_learn(&fleet, i, facts);
        if (i == 0) {
            assert_int_equal(fleet.master[i].reason, FENCE_REASON_OTHER_FLEET);
            assert_string_equal(fleet.fleet_id, core_facts(0).fleet_id);
        }
        fence_fleet_lose(&fleet, i, FENCE_REASON_CONNECTING); /* refused ones are looked at again */
    }
    struct fence_facts other = core_facts(0);
    become_other(other.fleet_id);
    assert_string_equal(fleet.fleet_id, other.fleet_id);
    assert_int_equal(fleet.view.incarnation[1],
                     CORE_ADMISSIONS(1001)); /* the highest in the new fleet's own views */
}

/* Disks of before a move returned on a majority. One master knows of the move: it votes in the
 * fleet that follows, here one with another number of masters. */
static void fleet_that_a_master_names_as_a_predecessor_is_closed(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts knows = core_facts(2);
    become_other(knows.fleet_id);
    knows.other_members = 5;
    fleet_lose(&fleet, 2);
    fleet_learn(&fleet, 2, knows);
    assert_true(fence_fleet_ready(&fleet));
    fence_predecessors_add(&knows.predecessors, core_facts(0).fleet_id);
    fleet_lose(&fleet, 2);
    fleet_learn(&fleet, 2, knows);
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_MOVED);
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_MOVED);
    fleet_lose(&fleet, 2); /* for good */
    fleet_lose(&fleet, 0);
    fleet_learn(&fleet, 0, core_facts(0));
    assert_int_equal(fleet.master[0].reason, FENCE_REASON_MOVED);
    assert_false(fence_fleet_ready(&fleet));
}

/* A master that rejoins is told them. A master of another fleet has others. */
static void predecessors_are_what_members_name(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    struct fence_facts facts = core_facts(0);
    fence_predecessors_add(&facts.predecessors, "a");
    fleet_learn(&fleet, 0, facts);
    assert_false(fence_predecessors_have(&fleet.predecessors, "a"));
    fleet_learn(&fleet, 1, core_facts(1));
    assert_true(fence_predecessors_have(&fleet.predecessors, "a"));
    facts = core_facts(2);
    become_other(facts.fleet_id);
    fence_predecessors_add(&facts.predecessors, "b");
    fleet_learn(&fleet, 2, facts);
    assert_false(fence_predecessors_have(&fleet.predecessors, "b"));
}

static void only_master_of_a_single_fleet_is_its_majority(void **state)
{
    struct fence_fleet fleet = fleet_unmet(1);
    assert_false(fence_fleet_ready(&fleet));
    assert_int_equal(fleet_learn(&fleet, 0, core_facts(0)), 0);
    assert_true(fence_fleet_ready(&fleet));
}

static void ready_needs_a_majority_of_active_masters(void **state)
{
    struct fence_fleet fleet = fleet_active(5);
    fleet_lose(&fleet, 0);
    fleet_lose(&fleet, 3);
    assert_int_equal(fence_fleet_active_count(&fleet), 3);
    assert_true(fence_fleet_ready(&fleet));
    fleet_lose(&fleet, 4);
    assert_false(fence_fleet_ready(&fleet));
}

static void view_only_rises(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    uint64_t generation = fleet.generation;
    struct fence_facts facts = core_facts(1);
    facts.view.incarnation[1] += CORE_ADMISSIONS(10);
    fleet_learn(&fleet, 1, facts);
    assert_int_equal(fleet.view.incarnation[1], CORE_ADMISSIONS(1011));
    assert_int_equal(fleet.generation, generation + 1);

    fleet_learn(&fleet, 1, core_facts(1)); /* its old machine, back under the same address */
    assert_int_equal(fleet.view.incarnation[1], CORE_ADMISSIONS(1011));
    assert_int_equal(fleet.generation, generation + 1);
    assert_int_equal(fleet.master[1].reason, FENCE_REASON_SUPERSEDED);
}

static void views_of_other_fleets_are_not_merged(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts = core_facts(1);
    become_other(facts.fleet_id);
    facts.view.incarnation[0] += CORE_ADMISSIONS(10);
    fleet_learn(&fleet, 1, facts);
    assert_int_equal(fleet.view.incarnation[0], CORE_ADMISSIONS(1000));
    assert_int_equal(fleet.master[0].state, FENCE_MASTER_ACTIVE);
}

static void views_seen_before_the_fleet_was_known_are_merged_then(void **state)
{
    struct fence_fleet fleet = fleet_unmet(3);
    struct fence_facts facts = core_facts(0);
    facts.view.incarnation[2] += CORE_ADMISSIONS(10);
    fleet_learn(&fleet, 0, facts);
    assert_int_equal(fleet.view.incarnation[2], 0);
    struct fence_facts same = core_facts(1);
    same.view = facts.view;
    fleet_learn(&fleet, 1, same);
    assert_int_equal(fleet.view.incarnation[2], CORE_ADMISSIONS(1012));
}

static void refusal_stays_on_show_while_the_connection_is_reopened(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts = core_facts(2);
    facts.unfit = &core_unfit;
    fleet_learn(&fleet, 2, facts);
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(fleet.master[2].reason, FENCE_REASON_UNFIT);
    fleet_lose(&fleet, 2);
    assert_master(&fleet, 2, FENCE_MASTER_DOWN, FENCE_REASON_UNREACHABLE);
}

static void refused_master_is_refused_anew_at_each_handshake(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts = core_facts(2);
    facts.unfit = &core_unfit;
    assert_int_equal(fleet_learn(&fleet, 2, facts), CORE_SET(2));
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(fleet_learn(&fleet, 0, core_facts(0)), 0);
    assert_int_equal(fleet_learn(&fleet, 2, facts), CORE_SET(2));
    fence_fleet_lose(&fleet, 2, FENCE_REASON_CONNECTING);
    assert_int_equal(fleet_learn(&fleet, 2, core_facts(2)), 0);
    assert_int_equal(fleet.master[2].state, FENCE_MASTER_ACTIVE);
}

static void master_that_owes_nothing_is_never_silent(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    fence_fleet_sent(&fleet, 1, 1, 1000);
    fence_fleet_answered(&fleet, 1, 1, 2000);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    assert_int_equal(fence_fleet_silent(&fleet, 1000000000), 0);
}

static void silence_is_counted_from_the_last_progress(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    fence_fleet_sent(&fleet, 1, 1, 1000);
    fence_fleet_sent(&fleet, 1, 1, 9000); /* asking again does not put the deadline off */
    assert_int_equal(fence_fleet_deadline(&fleet), 1000 + FENCE_MASTER_DEADLINE_US);
    fleet.deadline_us = FENCE_MASTER_DEADLINE_MAX_US;
    assert_int_equal(fence_fleet_deadline(&fleet), 1000 + FENCE_MASTER_DEADLINE_MAX_US);
    fleet.deadline_us = FENCE_MASTER_DEADLINE_US;
    fence_fleet_answered(&fleet, 1, 1, 20000);
    uint64_t deadline_us = 20000 + FENCE_MASTER_DEADLINE_US;
    assert_int_equal(fence_fleet_deadline(&fleet), deadline_us);
    assert_int_equal(fence_fleet_silent(&fleet, deadline_us - 1), 0);
    assert_int_equal(fence_fleet_silent(&fleet, deadline_us), CORE_SET(1));
}

static void time_in_which_nobody_listened_is_no_silence(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    fence_fleet_sent(&fleet, 1, 1, 1000);
    fence_fleet_lagged(&fleet, 30000, 41000);
    assert_int_equal(fence_fleet_deadline(&fleet), 31000 + FENCE_MASTER_DEADLINE_US);
    fence_fleet_lagged(&fleet, 1000000, 50000); /* from before it was asked */
    assert_int_equal(fence_fleet_deadline(&fleet), 50000 + FENCE_MASTER_DEADLINE_US);
    fence_fleet_lagged(&fleet, 10, 50000);
    assert_int_equal(fence_fleet_deadline(&fleet), 50000 + FENCE_MASTER_DEADLINE_US);
}

static void process_that_always_lags_still_finds_a_dead_master(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    const uint64_t last_us = (1 + FENCE_LAG_DEADLINES) * UINT64_C(1) * FENCE_MASTER_DEADLINE_US;
    fence_fleet_sent(&fleet, 1, 1, 0);
    for (uint64_t now_us = 10000; now_us < last_us; now_us += 10000) {
        fence_fleet_lagged(&fleet, 10000, now_us);
        assert_int_equal(fence_fleet_silent(&fleet, now_us), 0);
    }
    fence_fleet_lagged(&fleet, 10000, last_us);
    assert_int_equal(fence_fleet_silent(&fleet, last_us), CORE_SET(1));
}

static void earliest_master_sets_the_deadline(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    fence_fleet_sent(&fleet, 2, 1, 3000);
    fence_fleet_sent(&fleet, 1, 1, 2000);
    fence_fleet_sent(&fleet, 0, 1, 4000);
    assert_int_equal(fence_fleet_deadline(&fleet), 2000 + FENCE_MASTER_DEADLINE_US);
}

static void new_connection_owes_nothing(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    fence_fleet_sent(&fleet, 1, 1, 1000);
    fence_fleet_lose(&fleet, 1, FENCE_REASON_SILENT);
    assert_true(fence_fleet_deadline(&fleet) == FENCE_NEVER);
    fence_fleet_answered(&fleet, 1, 1, 2000); /* lost, and said so only now */
    fence_fleet_sent(&fleet, 0, 1, 3000);
    assert_int_equal(fence_fleet_deadline(&fleet), 3000 + FENCE_MASTER_DEADLINE_US);
}

/* An older pawld took the first two back, and wrote their markers without the number. */
static void one_marker_that_names_the_seats_of_readers_is_enough(void **state)
{
    for (unsigned last = 0; last < 3; last++) {
        struct fence_fleet fleet = fleet_unmet(3);
        for (unsigned k = 0; k < 3; k++) {
            const unsigned i = (last + k) % 3;
            struct fence_facts facts = core_facts(i);
            facts.readers = i == 2 ? 8 : 0;
            fleet_learn(&fleet, i, facts);
        }
        assert_int_equal(fleet.readers, 8);
        assert_int_equal(fleet.readers_named, 8);
    }
}

static void marker_of_another_fleet_names_no_seats_of_readers(void **state)
{
    struct fence_fleet fleet = fleet_active(3);
    struct fence_facts facts = core_facts(2);
    facts.readers = 8;
    become_other(facts.fleet_id);
    fleet_learn(&fleet, 2, facts);
    assert_int_equal(fleet.readers, FENCE_READERS_DEFAULT);
}

static void every_reason_has_a_name_and_says_what_to_do(void **state)
{
    for (enum fence_reason reason = FENCE_REASON_NONE; reason <= FENCE_REASON_JOINING; reason++) {
        const struct fence_words *words = fence_reason_words(reason, NULL);
        assert_int_equal(words->text[strlen(words->text) - 1], '.');
        for (enum fence_reason other = FENCE_REASON_NONE; other < reason; other++)
            assert_string_not_equal(fence_reason_words(other, NULL)->name, words->name);
    }
}

static void unfit_server_is_told_in_its_own_words(void **state)
{
    struct fence_facts facts = core_facts(0);
    facts.unfit = &core_unfit;
    assert_ptr_equal(fence_reason_words(FENCE_REASON_UNFIT, &facts), &core_unfit);
    assert_ptr_not_equal(fence_reason_words(FENCE_REASON_FORGOT, &facts), &core_unfit);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(master_is_superseded_by_what_two_others_recorded),
    cmocka_unit_test(same_server_at_two_places_votes_once),
    cmocka_unit_test(same_server_votes_at_the_place_its_marker_names),
    cmocka_unit_test(unmarked_server_at_two_places_is_named_at_both),
    cmocka_unit_test(nobody_votes_before_a_majority_names_one_fleet),
    cmocka_unit_test(minority_of_another_fleet_has_no_say),
    cmocka_unit_test(same_marker_seen_twice_is_one_voice),
    cmocka_unit_test(voice_of_a_lost_master_does_not_count),
    cmocka_unit_test(majority_must_agree_on_the_maximum_ttl_too),
    cmocka_unit_test(masters_may_be_made_another_fleet),
    cmocka_unit_test(fleet_that_a_master_names_as_a_predecessor_is_closed),
    cmocka_unit_test(predecessors_are_what_members_name),
    cmocka_unit_test(only_master_of_a_single_fleet_is_its_majority),
    cmocka_unit_test(ready_needs_a_majority_of_active_masters),
    cmocka_unit_test(view_only_rises),
    cmocka_unit_test(views_of_other_fleets_are_not_merged),
    cmocka_unit_test(views_seen_before_the_fleet_was_known_are_merged_then),
    cmocka_unit_test(refusal_stays_on_show_while_the_connection_is_reopened),
    cmocka_unit_test(refused_master_is_refused_anew_at_each_handshake),
    cmocka_unit_test(master_that_owes_nothing_is_never_silent),
    cmocka_unit_test(silence_is_counted_from_the_last_progress),
    cmocka_unit_test(time_in_which_nobody_listened_is_no_silence),
    cmocka_unit_test(process_that_always_lags_still_finds_a_dead_master),
    cmocka_unit_test(earliest_master_sets_the_deadline),
    cmocka_unit_test(new_connection_owes_nothing),
    cmocka_unit_test(one_marker_that_names_the_seats_of_readers_is_enough),
    cmocka_unit_test(marker_of_another_fleet_names_no_seats_of_readers),
    cmocka_unit_test(every_reason_has_a_name_and_says_what_to_do),
    cmocka_unit_test(unfit_server_is_told_in_its_own_words),
};

CASE_MAIN(cases, NULL, NULL)
