/* Acquires that ask a majority first, where a master is slow: how it is found, left out, and taken
 * back. */
#include "tests/unit/fence/core_fixture.h"

static uint32_t taken(const struct core_fixture *f)
{
    return core_sent(f, FENCE_REQUEST_TAKE);
}

/* The one in place @k grants @number. */
static void grant(struct core_fixture *f, unsigned k, int64_t number)
{
    core_number(f, core_nth(f, k), number);
}

/* Place 1 misses as often as makes it slow. */
static struct core_fixture *one_slow(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 3);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++) {
        core_acquire(f, 1, 0);
        assert_int_equal(taken(f), core_nths(f, 0, 2));
        grant(f, 0, 7 + k);
        core_tick(f);
        grant(f, 2, 7 + k);
        assert_answer(f, 1, 0);
        core_number(f, core_nth(f, 1), 7 + k); /* late */
        core_reply_kind(f, core_nth(f, 1), FENCE_REPLY_YES);
    }
    return f;
}

static void slow_master_is_not_asked_first(void **state)
{
    struct core_fixture *f = one_slow(state);
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 1) | core_nths(f, 2, 1));
    core_tick(f); /* but later */
    assert_int_equal(taken(f), core_nths(f, 1, 1));
}

/* The one in place 1 takes @slow_us from now on, others a tenth of what is least before a hedge.
 * Returns how many acquires, one after the other, it takes until it is not asked first. */
static unsigned acquires_until_slow(struct core_fixture *f, uint64_t slow_us)
{
    enum {
        MOST = 60,
        QUICK_US = FENCE_HEDGE_LEAST_US / 10,
    };
    unsigned k = 0;
    for (; k < MOST; k++) {
        core_acquire(f, 1, 0);
        const uint64_t asked_us = f->now_us;
        if (taken(f) == (core_nths(f, 0, 1) | core_nths(f, 2, 1)))
            break;
        const int64_t number = 100 + k;
        core_later_us(f, QUICK_US);
        grant(f, 0, number);
        const bool hedged = fence_core_deadline(f->core) < asked_us + slow_us;
        if (hedged) {
            core_tick(f);
            core_later_us(f, QUICK_US);
            grant(f, 2, number);
            assert_answer(f, 1, 0);
        }
        if (f->now_us < asked_us + slow_us)
            f->now_us = asked_us + slow_us;
        grant(f, 1, number);
        if (hedged)
            core_reply_kind(f, core_nth(f, 1), FENCE_REPLY_YES);
        else
            assert_answer(f, 1, 0);
    }
    return k;
}

/* Nothing is known of any master, and no hedge comes: a spare is tried, and tells what is usual. */
static void master_that_is_slow_from_the_start_is_found(void **state)
{
    for (uint64_t slow_us = 3000; slow_us <= 16000; slow_us += 1000) {
        struct core_fixture *f = core_fixture_new_spread(state, 3);
        const uint64_t began_us = f->now_us;
        core_acquire(f, 1, 0);
        grant(f, 0, 7);
        core_later_us(f, slow_us);
        grant(f, 1, 7);
        assert_answer(f, 1, 0);
        core_later_us(f, FENCE_SLOW_TRIAL_US);
        core_acquire(f, 1, 0);
        assert_int_equal(taken(f), CORE_FIRST(3));
        core_later_us(f, 200);
        grant(f, 0, 8);
        grant(f, 2, 8);
        assert_answer(f, 1, 0);
        core_later_us(f, slow_us - 200);
        grant(f, 1, 8);
        core_reply_kind(f, core_nth(f, 1), FENCE_REPLY_YES);
        assert_in_range(acquires_until_slow(f, slow_us), FENCE_SLOW_MISSES, 12);
        assert_true(f->now_us - began_us < UINT64_C(3) * FENCE_SLOW_TRIAL_US);
    }
}

/* Also one that is slow by less than the longest delay. The spares tell what is usual. */
static void master_that_becomes_slow_is_found(void **state)
{
    for (uint64_t slow_us = 3000; slow_us <= 16000; slow_us += 1000) {
        struct core_fixture *f = core_fixture_new_spread(state, 3);
        for (unsigned k = 0; k < 20; k++) {
            core_acquire(f, 1, 0);
            core_later_us(f, 500);
            grant(f, 0, 7 + k);
            grant(f, 1, 7 + k);
            assert_answer(f, 1, 0);
        }
        assert_in_range(acquires_until_slow(f, slow_us), FENCE_SLOW_MISSES, 12);
    }
}

static void slow_master_is_asked_where_there_are_not_enough_others(void **state)
{
    struct core_fixture *f = one_slow(state);
    core_down(f, core_nth(f, 2));
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
}

static void slow_master_is_tried_beside_the_others_until_it_is_back(void **state)
{
    struct core_fixture *f = one_slow(state);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++) {
        core_later_us(f, FENCE_SLOW_TRIAL_US);
        core_acquire(f, 1, 0);
        assert_int_equal(taken(f), CORE_FIRST(3));
        grant(f, 1, 20 + k);
        grant(f, 0, 20 + k);
        assert_answer(f, 1, 0);
        assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), core_nths(f, 2, 1));
    }
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
}

/* The grant of its try is over by then: the others are quicker. */
static void slow_master_is_back_though_it_answers_after_the_others(void **state)
{
    struct core_fixture *f = one_slow(state);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++) {
        core_later_us(f, FENCE_SLOW_TRIAL_US);
        core_acquire(f, 1, 0);
        uint64_t tag = f->tag[core_nth(f, 1)];
        grant(f, 0, 20 + k);
        grant(f, 2, 20 + k);
        assert_answer(f, 1, 0);
        f->tag[core_nth(f, 1)] = tag;
        grant(f, 1, 20 + k);
    }
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 2));
}

static void lost_reply_is_no_answer_in_time(void **state)
{
    struct core_fixture *f = one_slow(state);
    for (unsigned k = 0; k < FENCE_SLOW_MISSES; k++) {
        core_later_us(f, FENCE_SLOW_TRIAL_US);
        core_acquire(f, 1, 0);
        assert_int_equal(taken(f), CORE_FIRST(3));
        core_reply_kind(f, core_nth(f, 1), FENCE_REPLY_LOST);
        grant(f, 0, 20 + k);
        grant(f, 2, 20 + k);
        assert_answer(f, 1, 0);
    }
    core_acquire(f, 1, 0);
    assert_int_equal(taken(f), core_nths(f, 0, 1) | core_nths(f, 2, 1)); /* it is slow as before */
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(slow_master_is_not_asked_first),
    CORE_CASE(master_that_becomes_slow_is_found),
    CORE_CASE(master_that_is_slow_from_the_start_is_found),
    CORE_CASE(slow_master_is_asked_where_there_are_not_enough_others),
    CORE_CASE(slow_master_is_tried_beside_the_others_until_it_is_back),
    CORE_CASE(slow_master_is_back_though_it_answers_after_the_others),
    CORE_CASE(lost_reply_is_no_answer_in_time),
};

CASE_MAIN(cases, NULL, NULL)
