/* Clean-ups that were not acknowledged: who still owes them, and when they are told again. */
#include "tests/unit/fence/core_fixture.h"

/* An attempt of client 1 that fails at once: 0 and 1 hold something of it, the others refuse. */
static struct core_fixture *fixture_with_a_cleanup(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_both_reply(f, FENCE_REPLY_LOST);
    assert_answer(f, 1, FENCE_ENOQUORUM);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
    return f;
}

static uint64_t undo_tag(const struct core_fixture *f, unsigned i)
{
    return core_request(f, FENCE_REQUEST_UNDO, i)->tag;
}

static void settle(struct core_fixture *f, unsigned i, uint64_t tag, enum fence_reply_kind kind)
{
    core_reply_to(f, i, tag, (struct fence_reply){.kind = kind});
}

static void come_back(struct core_fixture *f, unsigned i)
{
    core_down(f, i);
    core_shake_hands(f, i, core_facts(i));
}

static void unacknowledged_clean_up_is_told_again_when_the_master_is_back(void **state)
{
    struct core_fixture *f = fixture_with_a_cleanup(state);
    uint64_t attempt = core_request(f, FENCE_REQUEST_UNDO, 1)->attempt;
    uint64_t tag = undo_tag(f, 1);
    settle(f, 0, tag, FENCE_REPLY_YES);
    settle(f, 1, tag, FENCE_REPLY_LOST);
    settle(f, 2, tag, FENCE_REPLY_NO);
    come_back(f, 1);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(1));
    const struct fence_request *undo = core_request(f, FENCE_REQUEST_UNDO, 1);
    assert_true(undo->attempt == attempt);
    assert_string_equal(undo->lock_id, core_lock_id(1));
    assert_string_equal(undo->resource, CORE_RESOURCE);
}

static void clean_up_of_a_master_that_was_away_waits_for_it(void **state)
{
    struct core_fixture *f = core_fixture_acquiring(state, 3, 0);
    core_down(f, 2);
    core_reply_kind(f, 2, FENCE_REPLY_LOST);
    core_reply_kind(f, 1, FENCE_REPLY_LOST);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(2));
    core_shake_hands(f, 2, core_facts(2));
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_SET(2));
}

static void acknowledged_clean_up_is_not_told_again(void **state)
{
    struct core_fixture *f = fixture_with_a_cleanup(state);
    uint64_t tag = undo_tag(f, 0);
    for (unsigned i = 0; i < 3; i++)
        settle(f, i, tag, i == 1 ? FENCE_REPLY_NO : FENCE_REPLY_YES);
    come_back(f, 1);
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_TICK});
    assert_no_effects(f);
}

static void refused_clean_up_is_not_acknowledged(void **state)
{
    struct core_fixture *f = fixture_with_a_cleanup(state);
    settle(f, 1, undo_tag(f, 1), FENCE_REPLY_REFUSED);
    come_back(f, 1);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO) & CORE_SET(1), CORE_SET(1));
}

static void clean_up_is_forgotten_when_the_lease_is_over_anyway(void **state)
{
    struct core_fixture *f = fixture_with_a_cleanup(state);
    settle(f, 1, undo_tag(f, 1), FENCE_REPLY_LOST);
    core_later_us(f, CORE_TTL_MS * UINT64_C(1000) + FENCE_CLEANUP_SLACK_US);
    come_back(f, 1);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), 0);
}

static void clean_up_beyond_what_is_remembered_is_told_all_the_same(void **state)
{
    struct core_fixture *f = NULL;
    for (unsigned i = 0; i <= CORE_CALLS; i++) {
        if (i == 0)
            f = core_fixture_new(state, 3);
        core_acquire(f, i + 1, 0);
        core_both_reply(f, FENCE_REPLY_LOST);
        assert_int_equal(core_sent(f, FENCE_REQUEST_UNDO), CORE_FIRST(3));
        assert_int_equal(undo_tag(f, 0) != 0, i < CORE_CALLS);
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(unacknowledged_clean_up_is_told_again_when_the_master_is_back),
    CORE_CASE(clean_up_of_a_master_that_was_away_waits_for_it),
    CORE_CASE(acknowledged_clean_up_is_not_told_again),
    CORE_CASE(refused_clean_up_is_not_acknowledged),
    CORE_CASE(clean_up_is_forgotten_when_the_lease_is_over_anyway),
    CORE_CASE(clean_up_beyond_what_is_remembered_is_told_all_the_same),
};

CASE_MAIN(cases, NULL, NULL)
