/* The settings of whom a call asks first: the same majority for all names, or one by the slot. */
#include "fence/protocol/name.h"
#include "tests/unit/fence/core_fixture.h"

/* The masters that an acquire of @name asks first. The acquire has then ended. */
static uint32_t asked_for(struct core_fixture *f, const char *name)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, 1);
    call.resource = name;
    core_call(f, call);
    uint32_t set = core_sent(f, FENCE_REQUEST_TAKE);
    core_client_left(f, 1);
    for (unsigned i = 0; i < f->n; i++)
        core_reply_kind(f, i, FENCE_REPLY_YES);
    return set;
}

static void other_slots_begin_with_other_masters(void **state)
{
    struct core_fixture *f = core_fixture_new_spread(state, 5);
    uint32_t seen = 0;
    char name[] = "a";
    for (; name[0] <= 'z'; name[0]++) {
        unsigned from = fence_slot(name, 1) % 5;
        assert_int_equal(asked_for(f, name),
                         CORE_SET(from) | CORE_SET((from + 1) % 5) | CORE_SET((from + 2) % 5));
        seen |= CORE_SET(from);
    }
    assert_int_equal(seen, CORE_FIRST(5));
}

static void same_majority_is_asked_for_all_slots_unless_they_are_to_spread(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 5);
    char name[] = "a";
    for (; name[0] <= 'z'; name[0]++)
        assert_int_equal(asked_for(f, name), CORE_FIRST(3));
    core_down(f, 1);
    for (name[0] = 'a'; name[0] <= 'z'; name[0]++)
        assert_int_equal(asked_for(f, name), CORE_SET(0) | CORE_SET(2) | CORE_SET(3));
}

static void least_other_is_asked_for_the_late_one_of_the_same_majority(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 5);
    core_acquire(f, 1, 0);
    core_number(f, 0, 7);
    core_number(f, 2, 7);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_SET(3));
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(other_slots_begin_with_other_masters),
    CORE_CASE(same_majority_is_asked_for_all_slots_unless_they_are_to_spread),
    CORE_CASE(least_other_is_asked_for_the_late_one_of_the_same_majority),
};

CASE_MAIN(cases, NULL, NULL)
