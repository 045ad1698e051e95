/* The end of taking a master back, on a real Redis: it is admitted, or not. */
#include "tests/integration/storage/redis/lua/script_fixture.h"

static enum fence_rejoin_outcome admit_after(uint32_t steps)
{
    static const struct fence_view view = {{10, 25, 31}};
    const struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_ADMIT, .view = &view, .steps = steps};
    return script_step(request, SCRIPT_ME).outcome;
}

static void admission_makes_it_active_under_its_new_incarnation(void **state)
{
    script_mark_joining("no");
    script_redis(
        "HSET pawl:fleet intact yes progress 9 init new closed a:1:2:b 2 9007199254740991 floor 3");
    assert_int_equal(admit_after(9), FENCE_REJOIN_DONE);
    script_assert_field("state", "active");
    script_assert_field("view", "10,25,31");
    script_assert_field("next", NULL);
    script_assert_field("progress", NULL);
    script_assert_field("init", NULL);
    script_assert_field("closed", NULL);
    script_assert_field("intact", NULL);
    script_assert_field("unswept", "0"); /* the place where sweep.lua begins */
    script_assert_field("2", "9007199254740991");
    script_assert_field("floor", "3"); /* a server names none, and lowers none */
    script_assert_field("lineage", script_lineage());
}

static void admission_keeps_higher_incarnations_of_others(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet view 11,26,30");
    assert_int_equal(admit_after(0), FENCE_REJOIN_DONE);
    script_assert_field("view", "11,25,31"); /* its own is the one it is admitted as */
}

static void master_that_is_to_be_durable_is_not_admitted_once_its_file_is_off(void **state)
{
    script_mark_joining("yes");
    script_redis("CONFIG SET appendonly no");
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    script_assert_field("state", "joining");
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(admission_makes_it_active_under_its_new_incarnation),
    SCRIPT_CASE(admission_keeps_higher_incarnations_of_others),
    SCRIPT_DURABLE(master_that_is_to_be_durable_is_not_admitted_once_its_file_is_off),
};

CASE_MAIN(cases, NULL, NULL)
