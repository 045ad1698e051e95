/* Taking a master back whose locks cannot be read to the end: the longest lease is waited out. */
#include "fence/protocol/lease.h"
#include "tests/unit/fence/rejoin/rejoin_fixture.h"

/* Source 1 answers no page, and all is recorded and read again. */
static void read_fails(struct core_fixture *f)
{
    rejoin_reply(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_REFUSED});
}

static void import_again(struct core_fixture *f)
{
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    rejoin_drop_late(f);
    rejoin_majority_answers(f);
    f->owed[3].count = 0;
    assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(SOURCES));
}

/* So many times the counters come, and the locks do not. */
static void locks_fail(struct core_fixture *f, unsigned times)
{
    for (unsigned time = 0; time < times; time++) {
        rejoin_counters_come(f);
        read_fails(f);
        if (time + 1 < times)
            import_again(f);
    }
}

static struct core_fixture *quarantined(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX);
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));
    return f;
}

/* Each sign of life is answered, until @at_us. */
static void quarantine_until(struct core_fixture *f, uint64_t at_us)
{
    while (fence_core_deadline(f->core) < at_us) {
        if (f->owed[MEMBER].count > 0)
            rejoin_done(f, MEMBER);
        core_tick(f);
    }
}

static void locks_that_cannot_be_read_are_waited_out(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    import_again(f);
    rejoin_counters_come(f);
    read_fails(f);
    const struct fence_rejoin_request *alive =
        assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));
    assert_int_equal(alive->page->len, 0);
    assert_int_equal(alive->incarnation, rejoin_meant(f));
    assert_int_equal(rejoin_member(f)->eligible_at_us,
                     f->now_us + fence_quarantine_us(CORE_TTL_MAX_MS));
}

/* A page that takes its source so long that its connection ends over it, each time. */
static void locks_whose_page_ends_each_connection_are_waited_out(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned time = 0; time < FENCE_REJOIN_STUCK_MAX; time++) {
        rejoin_counters_come(f);
        for (unsigned try = 1; try < FENCE_REJOIN_PAGE_TRIES_MAX; try++) {
            rejoin_cut_off(f, 1);
            core_shake_hands(f, 1, core_facts(1));
            assert_step(f, FENCE_REJOIN_READ, CORE_SET(1));
        }
        rejoin_reply(f, 1, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
        if (time + 1 < FENCE_REJOIN_STUCK_MAX)
            import_again(f);
    }
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));
    assert_true(rejoin_member(f)->eligible_at_us > f->now_us);
}

/* There are no tokens to go on from. */
static void nothing_is_waited_out_while_counters_are_missing(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    unsigned fails = 0;
    for (; fails < FENCE_REJOIN_STUCK_MAX + 1; fails++) {
        rejoin_page(f, 0, "", 0);
        rejoin_page(f, 2, "", 0);
        read_fails(f);
        import_again(f);
    }
}

/* A source that fails with its locks leaves time for the counters of others. */
static void counters_on_their_way_are_waited_for_where_locks_fail(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    import_again(f);
    rejoin_page(f, 1, "", 0);
    read_fails(f);
    rejoin_page(f, 0, "", 0);
    assert_int_equal(rejoin_sent(f, FENCE_REJOIN_RECORD), 0);
    f->owed[MEMBER].count = 0;
    rejoin_page(f, 2, "", 0);
    assert_int_equal(rejoin_sent(f, FENCE_REJOIN_INSTALL), CORE_SET(MEMBER));
}

/* Locks of other sources that are still on their way do not make its counters less complete. */
static void locks_on_their_way_do_not_keep_it_from_being_waited_out(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    for (unsigned time = 0; time < FENCE_REJOIN_STUCK_MAX; time++) {
        f->owed[MEMBER].count = 0;
        rejoin_counters_come(f);
        rejoin_page(f, 0, "locks", 7);
        rejoin_page(f, 2, "locks", 7);
        read_fails(f);
        if (time + 1 < FENCE_REJOIN_STUCK_MAX)
            import_again(f);
    }
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));
}

static void failures_count_over_all_tries_until_it_is_admitted(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    rejoin_begins(f, rejoin_marked(rejoin_meant(f)));
    rejoin_goes_well(f);
    locks_fail(f, 1);
    assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER));

    f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    import_again(f);
    rejoin_counters_come(f);
    rejoin_locks_come(f);
    rejoin_done(f, MEMBER);
    assert_shaken(f);
    rejoin_begins(f, rejoin_blank());
    rejoin_goes_well(f);
    locks_fail(f, 1);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
}

/* So that no other leader takes over. */
static void leader_in_quarantine_shows_that_it_lives(void **state)
{
    struct core_fixture *f = quarantined(state);
    for (unsigned sign = 0; sign < 5; sign++) {
        assert_int_equal(fence_core_deadline(f->core), f->now_us + FENCE_REJOIN_ALIVE_US);
        rejoin_done(f, MEMBER);
        assert_no_effects(f);
        core_tick(f);
        assert_int_equal(assert_step(f, FENCE_REJOIN_INSTALL, CORE_SET(MEMBER))->page->len, 0);
    }
}

static void member_that_does_not_take_a_sign_of_life_is_silent(void **state)
{
    struct core_fixture *f = quarantined(state);
    core_tick(f);
    assert_broken_off(f, FENCE_REASON_SILENT);
}

static void member_that_refuses_a_sign_of_life_is_looked_at_again(void **state)
{
    struct core_fixture *f = quarantined(state);
    rejoin_changed(f, MEMBER, NULL);
    assert_shaken(f);
}

static void member_that_is_lost_while_holding_is_begun_anew(void **state)
{
    struct core_fixture *f = quarantined(state);
    rejoin_cut_off(f, MEMBER);
    assert_no_effects(f);
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
    core_shake_hands(f, MEMBER, rejoin_marked(rejoin_meant(f)));
    assert_int_equal(rejoin_member(f)->eligible_at_us, 0);
    core_tick(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
}

/* Their copies were read, or waited out. */
static void sources_do_not_matter_while_holding(void **state)
{
    struct core_fixture *f = quarantined(state);
    f->owed[0].steps[0] = f->owed[0].steps[f->owed[0].count - 1];
    rejoin_page(f, 0, "late", 0);
    assert_no_effects(f);
    for (unsigned i = 0; i < SOURCES; i++) {
        rejoin_cut_off(f, i);
        assert_no_effects(f);
    }
}

static void quarantine_lasts_for_the_longest_lease_from_the_record(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    import_again(f);
    const uint64_t end_us = f->now_us + fence_quarantine_us(CORE_TTL_MAX_MS);
    core_later_us(f, FENCE_REJOIN_TIMEOUT_US / 2); /* it took a while to find out */
    locks_fail(f, 1);
    assert_int_equal(rejoin_member(f)->eligible_at_us, end_us);
    quarantine_until(f, end_us);
    assert_int_equal(fence_core_deadline(f->core), end_us);
    rejoin_done(f, MEMBER);
    core_tick(f);
    assert_int_equal(f->now_us, end_us);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
}

/* The sign went out just before, and the admission shows soon enough whether it is silent. */
static void sign_of_life_on_its_way_does_not_undo_the_quarantine(void **state)
{
    struct core_fixture *f = quarantined(state);
    const uint64_t end_us = rejoin_member(f)->eligible_at_us;
    quarantine_until(f, end_us);
    assert_int_equal(f->owed[MEMBER].count, 1);
    core_tick(f);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    rejoin_done(f, MEMBER);
    assert_no_effects(f);
    rejoin_done(f, MEMBER);
    assert_shaken(f);
}

/* Pages that were on their way when the quarantine began were merged too, like the signs of life.
 */
static void admission_after_a_quarantine_names_all_steps(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    locks_fail(f, FENCE_REJOIN_STUCK_MAX - 1);
    import_again(f);
    rejoin_counters_come(f);
    rejoin_page(f, 0, "locks", 7);
    read_fails(f);
    rejoin_done(f, MEMBER); /* the page */
    uint32_t signs = 1;
    const uint64_t end_us = rejoin_member(f)->eligible_at_us;
    while (fence_core_deadline(f->core) < end_us) {
        rejoin_done(f, MEMBER);
        core_tick(f);
        signs++;
    }
    rejoin_done(f, MEMBER);
    core_tick(f);
    const struct fence_rejoin_request *admit = assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    assert_int_equal(admit->steps, 1 + 1 + signs); /* the locks were cleared once */
}

static void higher_incarnation_recorded_meanwhile_stops_the_admission(void **state)
{
    struct core_fixture *f = quarantined(state);
    struct fence_facts facts = core_facts(3);
    facts.view.incarnation[MEMBER] = rejoin_meant(f) + CORE_ADMISSIONS(1);
    core_hear(f, 2, &facts.view);
    core_shake_hands(f, 3, facts);
    quarantine_until(f, rejoin_member(f)->eligible_at_us);
    rejoin_done(f, MEMBER);
    core_tick(f);
    assert_broken_off(f, FENCE_REASON_BLANK);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(locks_that_cannot_be_read_are_waited_out),
    CORE_CASE(locks_whose_page_ends_each_connection_are_waited_out),
    CORE_CASE(nothing_is_waited_out_while_counters_are_missing),
    CORE_CASE(counters_on_their_way_are_waited_for_where_locks_fail),
    CORE_CASE(locks_on_their_way_do_not_keep_it_from_being_waited_out),
    CORE_CASE(failures_count_over_all_tries_until_it_is_admitted),
    CORE_CASE(leader_in_quarantine_shows_that_it_lives),
    CORE_CASE(member_that_does_not_take_a_sign_of_life_is_silent),
    CORE_CASE(member_that_refuses_a_sign_of_life_is_looked_at_again),
    CORE_CASE(member_that_is_lost_while_holding_is_begun_anew),
    CORE_CASE(sources_do_not_matter_while_holding),
    CORE_CASE(quarantine_lasts_for_the_longest_lease_from_the_record),
    CORE_CASE(sign_of_life_on_its_way_does_not_undo_the_quarantine),
    CORE_CASE(admission_after_a_quarantine_names_all_steps),
    CORE_CASE(higher_incarnation_recorded_meanwhile_stops_the_admission),
};

CASE_MAIN(cases, NULL, NULL)
