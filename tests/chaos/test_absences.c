/* How long masters are out is measured by kind of fault. */
#include "tests/chaos/absences.h"
#include "tests/lib/case.h"

enum {
    KINDS = 2,
    KIND = 1,
    M = 3, /* the master */
    OLD = 10,
    NEW = 11,
};

static struct absences_figures figures[KINDS];
static struct absences absences;

static int begin(void **state)
{
    for (unsigned i = 0; i < KINDS; i++)
        figures[i] = (struct absences_figures){0};
    absences = (struct absences){.figures = figures};
    return 0;
}

static bool look(bool active, const char *reason, uint64_t incarnation, uint64_t now_ms)
{
    const struct absences_sight sight = {
        .active = active, .reason = reason, .incarnation = incarnation};
    return absences_look(&absences, M, &sight, now_ms);
}

static bool look_disturbed(bool active, uint64_t incarnation, uint64_t now_ms)
{
    const struct absences_sight sight = {
        .active = active, .disturbed = true, .incarnation = incarnation};
    return absences_look(&absences, M, &sight, now_ms);
}

static void assert_seconds(double seconds, double expected)
{
    assert_in_range(seconds * 1000 + 0.5, expected * 1000, expected * 1000 + 1);
}

static void one_that_forgot_is_out_until_it_has_a_new_incarnation(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    assert_int_equal(absences_out(&absences), 1U << M);
    absences_end(&absences, M, 1500);
    assert_false(look(true, NULL, OLD, 1600));
    assert_false(look(false, "forgot", 0, 1700));
    assert_false(look(true, NULL, OLD, 1800));
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_true(look(true, NULL, NEW, 1900));
    assert_int_equal(absences_out(&absences), 0);
    assert_int_equal(absences_open(&absences), 0);
    assert_int_equal(absences.taken_back, 1);
    assert_seconds(absences.mean_s, 0.4);
}

static void one_that_is_not_shown_as_active_is_not_back(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    absences_end(&absences, M, 1000);
    assert_false(look(false, "joining", NEW, 1200));
    assert_false(look(false, "joining", NEW, 9000));
    assert_true(look(true, NULL, NEW, 9100));
}

static void no_one_is_back_before_its_fault_ended(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    assert_false(look(true, NULL, NEW, 9000));
    absences_end(&absences, M, 9100);
    assert_true(look(true, NULL, NEW, 9200));
}

static void one_that_was_never_noticed_counts_as_back_after_a_time(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    absences_end(&absences, M, 1100);
    assert_false(look(true, NULL, OLD, 1100 + ABSENCES_UNNOTICED_MS - 1));
    assert_true(look(true, NULL, OLD, 1100 + ABSENCES_UNNOTICED_MS));
    assert_int_equal(figures[KIND].seen, 1);
    assert_int_equal(figures[KIND].noticed, 0);
    assert_int_equal(figures[KIND].back, 0);
}

static void one_that_forgot_nothing_is_not_out_and_back_once_active(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_KEPT, OLD, 1000);
    assert_int_equal(absences_out(&absences), 0);
    assert_int_equal(absences_open(&absences), 1U << M);
    assert_false(look(false, "undurable", 0, 1050));
    absences_end(&absences, M, 1200);
    assert_true(look(true, NULL, OLD, 1300));
    assert_int_equal(absences.taken_back, 0);
    assert_int_equal(figures[KIND].back, 1);
    assert_seconds(figures[KIND].back_s, 0.1);
}

static void one_that_nobody_sees_is_not_back(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_KEPT, OLD, 1000);
    assert_false(look(false, "unreachable", 0, 1050));
    absences_end(&absences, M, 1200);
    assert_false(look_disturbed(true, OLD, 1300));
    assert_true(look(true, NULL, OLD, 1400));
}

static void one_that_is_said_to_have_forgotten_is_out(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_KEPT, OLD, 1000);
    absences_end(&absences, M, 1200);
    assert_false(look(false, "forgot", 0, 1300));
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_false(look(true, NULL, OLD, 1400));
    assert_true(look(true, NULL, NEW, 1500));
}

static void what_was_noticed_is_told_by_kind(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
        assert_false(look(false, i == 0 ? "replica" : "forgot", 0, 1100 + i * 200));
        assert_false(look(false, "joining", 0, 1500));
        absences_end(&absences, M, 2000);
        assert_true(look(true, NULL, NEW, 2200 + i * 200));
    }
    assert_int_equal(figures[0].times, 0);
    assert_int_equal(figures[KIND].times, 2);
    assert_int_equal(figures[KIND].noticed, 2);
    assert_seconds(figures[KIND].noticed_s, 0.2);
    assert_seconds(figures[KIND].back_s, 0.3);
    assert_seconds(figures[KIND].back_most_s, 0.4);
    assert_string_equal(figures[KIND].reason[0].name, "replica");
    assert_string_equal(figures[KIND].reason[1].name, "forgot");
    assert_int_equal(figures[KIND].reason[1].times, 1);
    assert_int_equal(figures[KIND].reason[2].times, 0);
}

static void a_new_incarnation_between_two_looks_was_noticed(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    absences_end(&absences, M, 1000);
    assert_true(look(true, NULL, NEW, 1040));
    assert_int_equal(figures[KIND].noticed, 1);
    assert_string_equal(figures[KIND].reason[0].name, "taken back");
}

static void harm_that_comes_later_is_what_is_measured(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    assert_false(look(false, "replica", 0, 1100));
    absences_harm(&absences, M, NEW, 5000);
    absences_end(&absences, M, 5100);
    assert_false(look(true, NULL, NEW, 5150));
    assert_false(look(false, "forgot", 0, 5200));
    assert_true(look(true, NULL, NEW + 1, 5400));
    assert_seconds(figures[KIND].noticed_s, 0.2);
    assert_string_equal(figures[KIND].reason[0].name, "forgot");
}

static void what_another_fault_disturbed_is_not_measured(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    assert_false(look_disturbed(true, 0, 1100));
    absences_end(&absences, M, 1200);
    assert_true(look(true, NULL, NEW, 1300));
    assert_int_equal(figures[KIND].times, 1);
    assert_int_equal(figures[KIND].seen, 0);
    assert_int_equal(figures[KIND].back, 0);
    assert_int_equal(absences.taken_back, 1);
}

static void time_says_nothing_while_nobody_can_see(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_FORGOT, OLD, 1000);
    absences_end(&absences, M, 1000);
    assert_false(look_disturbed(true, OLD, 9000));
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_true(look_disturbed(true, NEW, 9100));
}

static void one_that_may_be_doubted_is_out_until_it_is_back(void **state)
{
    absences_begin(&absences, M, KIND, ABSENCES_DOUBTED, OLD, 1000);
    absences_end(&absences, M, 1000);
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_false(look(false, "undurable", 0, 1100));
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_true(look(true, NULL, OLD, 1200));
    assert_int_equal(absences_out(&absences), 0);
    assert_int_equal(absences.taken_back, 0);
}

static void what_it_forgot_before_counts_on_over_the_next_fault(void **state)
{
    absences_begin(&absences, M, 0, ABSENCES_FORGOT, OLD, 1000);
    absences_end(&absences, M, 1000);
    absences_begin(&absences, M, KIND, ABSENCES_KEPT, OLD, 1100);
    absences_end(&absences, M, 1200);
    assert_int_equal(absences_out(&absences), 1U << M);
    assert_true(look(true, NULL, NEW, 1300));
    assert_int_equal(figures[KIND].seen, 0);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

static const struct CMUnitTest cases[] = {
    CASE(one_that_forgot_is_out_until_it_has_a_new_incarnation),
    CASE(one_that_is_not_shown_as_active_is_not_back),
    CASE(no_one_is_back_before_its_fault_ended),
    CASE(one_that_was_never_noticed_counts_as_back_after_a_time),
    CASE(one_that_forgot_nothing_is_not_out_and_back_once_active),
    CASE(one_that_nobody_sees_is_not_back),
    CASE(one_that_is_said_to_have_forgotten_is_out),
    CASE(what_was_noticed_is_told_by_kind),
    CASE(a_new_incarnation_between_two_looks_was_noticed),
    CASE(harm_that_comes_later_is_what_is_measured),
    CASE(what_another_fault_disturbed_is_not_measured),
    CASE(time_says_nothing_while_nobody_can_see),
    CASE(one_that_may_be_doubted_is_out_until_it_is_back),
    CASE(what_it_forgot_before_counts_on_over_the_next_fault),
};

CASE_MAIN(cases, NULL, NULL)
