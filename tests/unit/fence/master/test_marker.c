/* The marker of a master, where the rows of tests/contract cannot tell: each field that a step
 * compares, and each that it writes. */
#include "fence/master/marker.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    MEMBERS = 3,
    ME = 1,
    OWN = 25, /* its incarnation */
    NEXT = 35,
};

#define FLEET   "f1ee700000000000000000000000000000000000"
#define OTHER   "0000000000000000000000000000000000000000"
#define SERVER  "5e12e20000000000000000000000000000000000"
#define LINEAGE "11ea9e"

static bool has_memory;

static bool read_or_fail(void *context, const struct fence_rejoin_request *request,
                         struct fence_rejoin_reply *reply)
{
    (void)context, (void)request, (void)reply;
    return has_memory;
}

static const struct fence_master_store store = {.read_page = read_or_fail};

/* An active member. */
static struct fence_turn turn_of_member(void)
{
    return (struct fence_turn){
        .store = &store,
        .members = MEMBERS,
        .me = ME,
        .durable = true,
        .server_id = SERVER,
        .lineage = LINEAGE,
        .marker =
            {
                .present = true,
                .fleet_id = FLEET,
                .member = ME + 1,
                .server_id = SERVER,
                .lineage = LINEAGE,
                .ttl_max_ms = 300000,
                .extensions_max = 1000,
                .durable = true,
                .active = true,
                .floor = 7,
                .view = {{10, OWN, 30}},
            },
    };
}

static struct fence_facts facts_of(const struct fence_turn *turn)
{
    struct fence_facts facts = {.durable = true};
    fence_stored_marker_facts(&turn->marker, &facts);
    snprintf(facts.server_id, sizeof(facts.server_id), "%s", turn->server_id);
    snprintf(facts.lineage, sizeof(facts.lineage), "%s", turn->lineage);
    return facts;
}

/* Each differs from what the marker says in one field. */
static unsigned differences(const struct fence_facts *facts,
                            struct fence_facts ret_others[static 8])
{
    for (unsigned k = 0; k < 8; k++)
        ret_others[k] = *facts;
    memcpy(ret_others[0].fleet_id, OTHER, sizeof(OTHER));
    ret_others[1].member++;
    memcpy(ret_others[2].marked_server_id, OTHER, sizeof(OTHER));
    memcpy(ret_others[3].marked_lineage, OTHER, sizeof(OTHER));
    ret_others[4].marked_active = !facts->marked_active;
    ret_others[5].next++;
    ret_others[6].view.incarnation[2]++;
    ret_others[7].marked = false;
    return 8;
}

static enum fence_rejoin_outcome mark(struct fence_turn *turn, const struct fence_facts *seen)
{
    const struct fence_view view = {{12, NEXT - 1, 28}};
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_MARK,
        .member = ME,
        .incarnation = NEXT,
        .fleet_id = OTHER,
        .ttl_max_ms = 60000,
        .extensions_max = 9,
        .seen = seen,
        .keeps = true,
        .mark = FENCE_MARK_FLOOR,
        .view = &view,
    };
    return fence_master_rejoin(turn, &request).outcome;
}

static void marker_that_differs_from_what_was_seen_in_one_field_is_not_marked(void **state)
{
    struct fence_turn turn = turn_of_member();
    struct fence_facts seen = facts_of(&turn);
    struct fence_facts others[8];
    const unsigned count = differences(&seen, others);
    for (unsigned k = 0; k < count; k++) {
        assert_int_equal(mark(&turn, &others[k]), FENCE_REJOIN_CHANGED);
        assert_false(turn.marker_changed);
    }
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
}

static void blank_master_that_was_seen_with_a_marker_is_not_marked(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_facts seen = facts_of(&turn);
    turn.marker = (struct fence_stored_marker){.present = false};
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_CHANGED);
}

/* A late copy of a mark reached a process that restarted without its data. */
static void mark_names_the_process_that_was_judged(void **state)
{
    struct fence_turn turn = turn_of_member();
    turn.marker = (struct fence_stored_marker){0};
    struct fence_facts seen = facts_of(&turn);
    memcpy(seen.server_id, OTHER, sizeof(OTHER));
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
    assert_string_equal(turn.marker.server_id, OTHER);
}

static void mark_keeps_the_floor_and_what_was_recorded_and_the_own_incarnation(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_facts seen = facts_of(&turn);
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
    const struct fence_stored_marker *marker = &turn.marker;
    assert_true(turn.marker_changed && marker->present && !marker->active && marker->intact);
    assert_string_equal(marker->fleet_id, OTHER);
    assert_string_equal(marker->server_id, SERVER);
    assert_string_equal(marker->lineage, LINEAGE);
    assert_int_equal(marker->next, NEXT);
    assert_int_equal(marker->ttl_max_ms, 60000);
    assert_int_equal(marker->extensions_max, 9);
    assert_int_equal(marker->floor, 7);
    assert_int_equal(marker->view.incarnation[0], 12); /* that was named, */
    assert_int_equal(marker->view.incarnation[ME], OWN);
    assert_int_equal(marker->view.incarnation[2], 30); /* and that it knew */
}

static void admitted_master_has_the_view_that_was_named_and_no_trace_of_its_rejoin(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_facts seen = facts_of(&turn);
    const struct fence_view view = {{40, 0, 30}};
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_ADMIT,
        .member = ME,
        .incarnation = NEXT,
        .steps = 3,
        .floor = 5,
        .view = &view,
    };
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
    turn.marker.progress = 3;
    assert_int_equal(fence_master_rejoin(&turn, &request).outcome, FENCE_REJOIN_DONE);
    const struct fence_stored_marker *marker = &turn.marker;
    assert_true(marker->active && !marker->intact);
    assert_int_equal(marker->mark, FENCE_MARK_REJOIN);
    assert_int_equal(marker->next, 0);
    assert_int_equal(marker->progress, 0);
    assert_int_equal(marker->floor, 7); /* the higher one */
    assert_int_equal(marker->view.incarnation[0], 40);
    assert_int_equal(marker->view.incarnation[ME], NEXT);
}

/* A process that started since. */
static struct fence_turn turn_after_restart(void)
{
    struct fence_turn turn = turn_of_member();
    turn.server_id = OTHER;
    turn.lineage = "11ea9e2";
    return turn;
}

static void restamp_names_the_new_process_and_its_lineage(void **state)
{
    struct fence_turn turn = turn_after_restart();
    const struct fence_facts seen = facts_of(&turn);
    assert_true(fence_master_restamp(&turn, &seen));
    assert_true(turn.marker_changed && turn.marker.active);
    assert_string_equal(turn.marker.server_id, OTHER);
    assert_string_equal(turn.marker.lineage, "11ea9e2");
    assert_int_equal(turn.marker.view.incarnation[ME], OWN);
}

static void restamp_of_a_kept_memory_half_way_gives_the_incarnation_that_was_recorded(void **state)
{
    struct fence_turn turn = turn_of_member();
    struct fence_facts seen = facts_of(&turn);
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
    turn.marker.progress = 2;
    turn.server_id = OTHER;
    seen = facts_of(&turn);
    assert_true(fence_master_restamp(&turn, &seen));
    assert_true(turn.marker.active && !turn.marker.intact);
    assert_int_equal(turn.marker.next, 0);
    assert_int_equal(turn.marker.progress, 0);
    assert_int_equal(turn.marker.view.incarnation[ME], NEXT);
}

static void restamp_of_a_marker_or_a_process_that_was_not_seen_changes_nothing(void **state)
{
    struct fence_turn turn = turn_after_restart();
    const struct fence_facts seen = facts_of(&turn);
    struct fence_facts others[8];
    (void)differences(&seen, others);
    for (unsigned k = 0; k < 4; k++) /* the others are of what an active marker has not */
        assert_false(fence_master_restamp(&turn, &others[k]));
    memcpy(others[4].server_id, SERVER, sizeof(SERVER));
    memcpy(others[5].lineage, LINEAGE, sizeof(LINEAGE));
    assert_false(fence_master_restamp(&turn, &others[4]));
    assert_false(fence_master_restamp(&turn, &others[5]));
    turn.marker.active = false;
    assert_false(fence_master_restamp(&turn, &seen));
    assert_false(turn.marker_changed);
}

static void master_acts_for_no_other_fleet(void **state)
{
    struct fence_turn turn = turn_of_member();
    assert_int_equal(fence_master_check(&turn, FLEET, &turn.marker.view), FENCE_REFUSAL_NONE);
    assert_int_equal(fence_master_check(&turn, OTHER, &turn.marker.view), FENCE_REFUSAL_GONE);
}

static void durable_master_that_keeps_nothing_now_has_strayed(void **state)
{
    struct fence_turn turn = turn_of_member();
    turn.keeps_nothing = true;
    assert_int_equal(fence_master_check(&turn, FLEET, &turn.marker.view), FENCE_REFUSAL_FORGOT);
    turn.marker.durable = false;
    assert_int_equal(fence_master_check(&turn, FLEET, &turn.marker.view), FENCE_REFUSAL_NONE);
}

static struct fence_rejoin_reply ask(struct fence_turn *turn, enum fence_rejoin_step step,
                                     const struct fence_view *view)
{
    const struct fence_rejoin_request request = {
        .step = step, .member = 0, .incarnation = 10, .fleet_id = FLEET, .view = view};
    return fence_master_rejoin(turn, &request);
}

static void record_that_is_refused_shows_the_view_that_is_known(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_view behind = {{9, OWN, 30}};
    struct fence_rejoin_reply reply = ask(&turn, FENCE_REJOIN_RECORD, &behind);
    assert_int_equal(reply.outcome, FENCE_REJOIN_CHANGED);
    assert_ptr_equal(reply.view, &turn.marker.view);
}

static void page_without_memory_is_refused(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_view view = turn.marker.view;
    has_memory = true;
    assert_int_equal(ask(&turn, FENCE_REJOIN_READ, &view).outcome, FENCE_REJOIN_DONE);
    has_memory = false;
    assert_int_equal(ask(&turn, FENCE_REJOIN_READ, &view).outcome, FENCE_REJOIN_REFUSED);
}

static void steps_of_a_move_are_refused(void **state)
{
    struct fence_turn turn = turn_of_member();
    const struct fence_view view = turn.marker.view;
    assert_int_equal(ask(&turn, FENCE_REJOIN_LEASES, &view).outcome, FENCE_REJOIN_REFUSED);
    assert_int_equal(ask(&turn, FENCE_REJOIN_CLOSE, &view).outcome, FENCE_REJOIN_REFUSED);
}

static void facts_say_what_the_marker_says(void **state)
{
    struct fence_turn turn = turn_of_member();
    struct fence_facts seen = facts_of(&turn);
    assert_true(seen.marked && seen.marked_active && seen.marked_durable && !seen.initialising);
    assert_string_equal(seen.fleet_id, FLEET);
    assert_string_equal(seen.marked_server_id, SERVER);
    assert_string_equal(seen.marked_lineage, LINEAGE);
    assert_int_equal(seen.member, ME + 1);
    assert_int_equal(seen.ttl_max_ms, 300000);
    assert_int_equal(seen.extensions_max, 1000);
    assert_memory_equal(&seen.view, &turn.marker.view, sizeof(seen.view));
    assert_int_equal(mark(&turn, &seen), FENCE_REJOIN_DONE);
    turn.marker.progress = 4;
    seen = facts_of(&turn);
    assert_true(seen.marked && !seen.marked_active && seen.initialising && seen.issued);
    assert_int_equal(seen.next, NEXT);
    assert_int_equal(seen.progress, 4);
    turn.marker.mark = FENCE_MARK_NEW;
    seen = facts_of(&turn);
    assert_true(seen.initialising && !seen.issued);
    turn.marker.present = false;
    assert_false(facts_of(&turn).marked);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(marker_that_differs_from_what_was_seen_in_one_field_is_not_marked),
    cmocka_unit_test(blank_master_that_was_seen_with_a_marker_is_not_marked),
    cmocka_unit_test(mark_names_the_process_that_was_judged),
    cmocka_unit_test(mark_keeps_the_floor_and_what_was_recorded_and_the_own_incarnation),
    cmocka_unit_test(admitted_master_has_the_view_that_was_named_and_no_trace_of_its_rejoin),
    cmocka_unit_test(restamp_names_the_new_process_and_its_lineage),
    cmocka_unit_test(restamp_of_a_kept_memory_half_way_gives_the_incarnation_that_was_recorded),
    cmocka_unit_test(restamp_of_a_marker_or_a_process_that_was_not_seen_changes_nothing),
    cmocka_unit_test(master_acts_for_no_other_fleet),
    cmocka_unit_test(durable_master_that_keeps_nothing_now_has_strayed),
    cmocka_unit_test(record_that_is_refused_shows_the_view_that_is_known),
    cmocka_unit_test(page_without_memory_is_refused),
    cmocka_unit_test(steps_of_a_move_are_refused),
    cmocka_unit_test(facts_say_what_the_marker_says),
};

CASE_MAIN(cases, NULL, NULL)
