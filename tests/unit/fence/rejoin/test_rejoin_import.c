/* Taking a master back: what is read of the others, page by page, and merged into it. */
#include "tests/unit/fence/rejoin/rejoin_fixture.h"

#include <string.h>

static const struct fence_rejoin_request *assert_reads(const struct core_fixture *f, unsigned i,
                                                       enum fence_rejoin_part part, uint64_t cursor)
{
    const struct fence_rejoin_request *read = rejoin_request(f, FENCE_REJOIN_READ, i);
    assert_int_equal(read->member, MEMBER);
    assert_int_equal(read->part, part);
    assert_int_equal(read->cursor, cursor);
    return read;
}

static void assert_merges(const struct core_fixture *f, unsigned source, const char *bytes)
{
    assert_int_equal(rejoin_sent(f, FENCE_REJOIN_INSTALL), CORE_SET(MEMBER));
    const struct fence_rejoin_request *merge = rejoin_request(f, FENCE_REJOIN_INSTALL, MEMBER);
    assert_int_equal(merge->member, MEMBER);
    assert_int_equal(merge->incarnation, rejoin_meant(f));
    assert_int_equal(merge->source, source);
    assert_int_equal(merge->page->len, strlen(bytes));
    assert_memory_equal(merge->page->bytes, bytes, merge->page->len);
}

/* All is recorded again, by these masters, and nothing is asked of the member. */
static void assert_begun_anew(const struct core_fixture *f, uint32_t masters)
{
    const struct fence_rejoin_request *record = assert_step(f, FENCE_REJOIN_RECORD, masters);
    assert_int_equal(record->view->incarnation[MEMBER], rejoin_meant(f));
    assert_int_equal(rejoin_member(f)->state, FENCE_MASTER_REJOIN);
}

static void page_is_read_under_the_view_that_was_recorded(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned i = 0; i < SOURCES; i++) {
        const struct fence_rejoin_request *read = assert_reads(f, i, FENCE_REJOIN_COUNTERS, 0);
        assert_int_equal(read->incarnation, rejoin_meant(f));
        assert_int_equal(read->view->incarnation[MEMBER], rejoin_meant(f));
        assert_int_equal(read->view->incarnation[i], core_facts(0).view.incarnation[i]);
    }
    struct fence_facts facts = core_facts(3);
    facts.view.incarnation[3] += CORE_ADMISSIONS(10); /* learnt since */
    core_shake_hands(f, 3, facts);
    rejoin_page(f, 1, "", 7);
    const struct fence_rejoin_request *next = assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 7);
    assert_int_equal(next->view->incarnation[3], core_facts(0).view.incarnation[3]);
}

static void counters_are_read_before_locks_page_by_page(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 1, "", 512);
    assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 512);
    rejoin_page(f, 1, "", 1024);
    assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 1024);
    rejoin_page(f, 1, "", 0);
    assert_reads(f, 1, FENCE_REJOIN_LOCKS, 0);
    rejoin_page(f, 1, "", UINT64_MAX);
    assert_reads(f, 1, FENCE_REJOIN_LOCKS, UINT64_MAX);
    rejoin_page(f, 1, "", 0);
    assert_no_effects(f);
}

static void each_page_is_merged_into_the_member(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 2, "counters of 2", 0);
    assert_merges(f, 2, "counters of 2");
    rejoin_page(f, 0, "counters of 0", 7);
    assert_merges(f, 0, "counters of 0");
    rejoin_page(f, 2, "locks of 2", 0);
    assert_merges(f, 2, "locks of 2");
}

static void empty_page_is_not_merged(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 0, "", 7);
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(0));
}

static void only_so_many_pages_of_a_source_are_on_their_way(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned page = 1; page < FENCE_REJOIN_MERGING_MAX; page++) {
        rejoin_page(f, 0, "page", page);
        assert_reads(f, 0, FENCE_REJOIN_COUNTERS, page);
    }
    rejoin_page(f, 0, "page", 99);
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));
    rejoin_page(f, 1, "page", 7); /* which holds no other caller up */
    assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 7);
    rejoin_done(f, MEMBER); /* the first of 0 */
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(0));
    assert_reads(f, 0, FENCE_REJOIN_COUNTERS, 99);
}

static void member_is_admitted_only_when_all_sources_were_read(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_counters_come(f);
    rejoin_page(f, 0, "", 0);
    rejoin_page(f, 2, "", 0);
    assert_no_effects(f);
    rejoin_page(f, 1, "", 7);
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(1));
    rejoin_page(f, 1, "", 0);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

static void member_is_admitted_only_when_all_pages_are_merged(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_page(f, i, "counters", 0);
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_page(f, i, "locks", 0);
    for (unsigned page = 1; page < 2 * SOURCES; page++) {
        rejoin_done(f, MEMBER);
        assert_no_effects(f);
    }
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

/* To the end, but source 1. */
static void all_but_one_are_read(struct core_fixture *f)
{
    for (unsigned part = 0; part < FENCE_REJOIN_PARTS; part++) {
        rejoin_page(f, 0, "", 0);
        rejoin_page(f, 2, "", 0);
    }
}

static void source_whose_connection_ended_is_read_on_over_the_next_one(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_counters_come(f);
    rejoin_page(f, 1, "", 7);
    rejoin_cut_off(f, 1);
    assert_no_step(f);
    core_shake_hands(f, 1, core_facts(1));
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(1));
    assert_reads(f, 1, FENCE_REJOIN_LOCKS, 7);
}

/* It owes nothing at that moment: the member is the slow one. */
static void source_that_went_and_came_back_is_read_on_when_the_member_is_ready(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned page = 1; page <= FENCE_REJOIN_MERGING_MAX; page++)
        rejoin_page(f, 0, "page", page);
    rejoin_cut_off(f, 0);
    core_shake_hands(f, 0, core_facts(0));
    assert_no_step(f);
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_READ, CORE_SET(0));
    assert_reads(f, 0, FENCE_REJOIN_COUNTERS, FENCE_REJOIN_MERGING_MAX);
}

/* It counts its locks in another order, though it kept them all and votes. */
static void source_that_came_back_as_another_process_has_all_read_anew(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_counters_come(f);
    rejoin_page(f, 1, "", 7);
    rejoin_cut_off(f, 1);
    struct fence_facts facts = core_facts(1);
    memset(facts.server_id, 'e', FENCE_ID_HEX_LEN);
    memset(facts.marked_server_id, 'e', FENCE_ID_HEX_LEN);
    core_shake_hands(f, 1, facts);
    assert_begun_anew(f, CORE_FIRST(4));
}

static void source_that_stays_away_has_all_read_anew(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_cut_off(f, 1);
    all_but_one_are_read(f);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
    core_tick(f);
    assert_begun_anew(f, CORE_FIRST(4) & ~CORE_SET(1));
}

/* The same page was asked for again meanwhile, and others may follow it. */
static void page_that_comes_late_is_not_taken_for_another(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    core_down(f, 1);
    core_shake_hands(f, 1, core_facts(1));
    assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 0);
    rejoin_page(f, 1, "late", 0);
    assert_no_step(f);
    rejoin_page(f, 1, "page", 7);
    assert_merges(f, 1, "page");
    assert_reads(f, 1, FENCE_REJOIN_COUNTERS, 7);
}

static void source_that_was_read_to_the_end_may_go(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 0, "counters", 0);
    rejoin_page(f, 0, "locks", 0);
    rejoin_cut_off(f, 0);
    rejoin_done(f, MEMBER);
    rejoin_done(f, MEMBER);
    for (unsigned i = 1; i < SOURCES; i++) {
        rejoin_page(f, i, "", 0);
        rejoin_page(f, i, "", 0);
    }
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

static void source_that_is_not_active_is_read_no_more(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    struct fence_facts facts = core_facts(0);
    memset(facts.server_id, 'e', FENCE_ID_HEX_LEN);
    core_shake_hands(f, 0, facts); /* it is to rejoin itself */
    assert_int_equal(fence_core_fleet(f->core)->master[0].state, FENCE_MASTER_REJOIN);
    rejoin_page(f, 0, "page", 7);
    assert_no_step(f);
    rejoin_page(f, 1, "", 7);
    assert_begun_anew(f, CORE_FIRST(4) & ~CORE_SET(0));
}

static void silent_source_is_given_up_and_all_is_read_anew(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    all_but_one_are_read(f);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
    core_tick(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(1));
    assert_int_equal(fence_core_fleet(f->core)->master[1].reason, FENCE_REASON_SILENT);
    assert_no_step(f);
    core_tick(f);
    assert_begun_anew(f, CORE_FIRST(4) & ~CORE_SET(1));
}

static void each_page_renews_the_patience(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    core_later_us(f, FENCE_REJOIN_TIMEOUT_US - 1);
    rejoin_page(f, 0, "page", 7);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
    core_later_us(f, FENCE_REJOIN_TIMEOUT_US - 1);
    rejoin_done(f, MEMBER);
    assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_TIMEOUT_US);
}

/* It forgot, or somebody recorded another incarnation of the member there. */
static void source_that_refuses_a_page_has_all_read_anew(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_changed(f, 1, NULL);
    assert_begun_anew(f, CORE_FIRST(4));
}

static void source_that_knows_a_higher_incarnation_ends_the_try(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    const struct fence_view known = core_view_after(MEMBER, 10);
    core_hear(f, 2, &known);
    rejoin_changed(f, 1, &known);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

/* Source 1 refuses, so that all is recorded and read again; the replies of before are still owed.
 */
static struct core_fixture *importing_again(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 0, "page", 7);
    rejoin_changed(f, 1, NULL);
    assert_begun_anew(f, CORE_FIRST(4));
    return f;
}

static void late_page_of_an_earlier_round_is_dropped(void **state)
{
    struct core_fixture *f = importing_again(state);
    rejoin_page(f, 0, "late", 9);
    assert_no_effects(f);
    rejoin_page(f, 2, "late", 9);
    assert_no_effects(f);
    rejoin_majority_answers(f);
    for (unsigned i = 0; i < SOURCES; i++)
        assert_reads(f, i, FENCE_REJOIN_COUNTERS, 0); /* from the beginning */
}

static void late_merge_of_an_earlier_round_is_dropped(void **state)
{
    struct core_fixture *f = importing_again(state);
    rejoin_drop_late(f);
    rejoin_majority_answers(f);
    rejoin_page(f, 0, "page", 7);
    rejoin_done(f, MEMBER); /* the end of the earlier round */
    assert_no_effects(f);
    rejoin_page(f, 0, "page", 8);
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER)); /* two are on their way */
}

static void late_refusal_of_an_earlier_round_is_dropped(void **state)
{
    struct core_fixture *f = importing_again(state);
    rejoin_changed(f, MEMBER, NULL);
    rejoin_changed(f, 0, NULL);
    assert_no_effects(f);
}

static void reply_that_nobody_waits_for_is_dropped(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    const struct core_step asked = f->owed[0].steps[0];
    struct fence_event event = {
        .kind = FENCE_EVENT_REJOIN,
        .master = 3, /* it is not read */
        .rejoin = {.outcome = FENCE_REJOIN_DONE, .tag = asked.tag, .page = {"page", 4}},
    };
    core_give(f, event);
    assert_no_effects(f);
    event.master = MEMBER;                         /* it was sent no page of anybody, */
    for (uint64_t page = 0; page < 1024; page++) { /* whatever source and part its tag may name */
        event.rejoin.tag = asked.tag | page << 5;
        core_give(f, event);
        assert_no_effects(f);
    }
    for (unsigned page = 1; page <= FENCE_REJOIN_MERGING_MAX; page++)
        rejoin_page(f, 0, "page", page);
    event.master = 0; /* and this one owes nothing now */
    event.rejoin.tag = asked.tag;
    core_give(f, event);
    assert_no_effects(f);
}

static void member_that_merges_nothing_is_silent(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 0, "page", 7);
    core_tick(f);
    assert_broken_off(f, FENCE_REASON_SILENT);
    assert_int_equal(core_effect(f, FENCE_EFFECT_RESET), CORE_SET(MEMBER)); /* no source is */
}

static void member_that_refuses_a_page_is_looked_at_again(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_page(f, 0, "page", 7);
    rejoin_changed(f, MEMBER, NULL);
    assert_shaken(f);
}

static void page_after_the_member_was_lost_is_dropped(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_cut_off(f, MEMBER);
    rejoin_page(f, 0, "page", 7);
    assert_no_effects(f);
    core_shake_hands(f, MEMBER, rejoin_blank());
    rejoin_page(f, 1, "page", 7);
    assert_no_effects(f);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(page_is_read_under_the_view_that_was_recorded),
    CORE_CASE(counters_are_read_before_locks_page_by_page),
    CORE_CASE(each_page_is_merged_into_the_member),
    CORE_CASE(empty_page_is_not_merged),
    CORE_CASE(only_so_many_pages_of_a_source_are_on_their_way),
    CORE_CASE(member_is_admitted_only_when_all_sources_were_read),
    CORE_CASE(member_is_admitted_only_when_all_pages_are_merged),
    CORE_CASE(source_whose_connection_ended_is_read_on_over_the_next_one),
    CORE_CASE(source_that_went_and_came_back_is_read_on_when_the_member_is_ready),
    CORE_CASE(source_that_came_back_as_another_process_has_all_read_anew),
    CORE_CASE(source_that_stays_away_has_all_read_anew),
    CORE_CASE(page_that_comes_late_is_not_taken_for_another),
    CORE_CASE(source_that_was_read_to_the_end_may_go),
    CORE_CASE(source_that_is_not_active_is_read_no_more),
    CORE_CASE(silent_source_is_given_up_and_all_is_read_anew),
    CORE_CASE(each_page_renews_the_patience),
    CORE_CASE(source_that_refuses_a_page_has_all_read_anew),
    CORE_CASE(source_that_knows_a_higher_incarnation_ends_the_try),
    CORE_CASE(late_page_of_an_earlier_round_is_dropped),
    CORE_CASE(late_merge_of_an_earlier_round_is_dropped),
    CORE_CASE(late_refusal_of_an_earlier_round_is_dropped),
    CORE_CASE(reply_that_nobody_waits_for_is_dropped),
    CORE_CASE(member_that_merges_nothing_is_silent),
    CORE_CASE(member_that_refuses_a_page_is_looked_at_again),
    CORE_CASE(page_after_the_member_was_lost_is_dropped),
};

CASE_MAIN(cases, NULL, NULL)
