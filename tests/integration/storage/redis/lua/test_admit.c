/* The end of taking a master back, on a real Redis: it is admitted, or not. */
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <string.h>

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
    script_assert_field("unswept", "0"); /* where sweep.lua begins */
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

static void admission_happens_once(void **state)
{
    script_mark_joining("no");
    assert_int_equal(admit_after(0), FENCE_REJOIN_DONE);
    script_redis("HSET pawl:fleet view 10,25,40");
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    script_assert_field("view", "10,25,40");
}

/* The master forgot again, and a late copy of the mark brought the incarnation back. */
static void admission_wants_every_step_since_the_mark(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet progress 2");
    assert_int_equal(admit_after(3), FENCE_REJOIN_CHANGED);
    script_assert_field("state", "joining");
    assert_int_equal(admit_after(1), FENCE_REJOIN_CHANGED); /* and no copy of the admission */
    script_redis("HSET pawl:fleet progress 3");
    assert_int_equal(admit_after(3), FENCE_REJOIN_DONE);
}

static void admission_under_another_incarnation_does_nothing(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet next 26");
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    script_assert_field("state", "joining");
    script_assert_field("view", "10,20,30");
    script_redis("HSET pawl:fleet state active next 25");
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    script_assert_field("view", "10,20,30");
}

static void admission_by_init_raises_the_floor_and_never_lowers_it(void **state)
{
    static const struct {
        int64_t named;
        const char *expected;
    } rows[] = {{4294967296, "4294967296"}, {9, "4294967296"}, {4294967297, "4294967297"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct fence_rejoin_request admit = {.step = FENCE_REJOIN_ADMIT,
                                                   .floor = rows[i].named};
        script_mark_joining("no");
        assert_int_equal(script_step(admit, SCRIPT_ME).outcome, FENCE_REJOIN_DONE);
        script_assert_field("floor", rows[i].expected);
    }
}

static void blank_master_is_not_admitted(void **state)
{
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "DBSIZE"), 0);
}

static void admission_under_another_lineage_does_nothing(void **state)
{
    script_mark_joining("no");
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
    assert_int_equal(admit_after(0), FENCE_REJOIN_CHANGED);
    script_assert_field("state", "joining");
    script_assert_field("view", "10,20,30");
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
    SCRIPT_CASE(admission_happens_once),
    SCRIPT_CASE(admission_wants_every_step_since_the_mark),
    SCRIPT_CASE(admission_under_another_incarnation_does_nothing),
    SCRIPT_CASE(admission_by_init_raises_the_floor_and_never_lowers_it),
    SCRIPT_CASE(blank_master_is_not_admitted),
    SCRIPT_CASE(admission_under_another_lineage_does_nothing),
    SCRIPT_DURABLE(master_that_is_to_be_durable_is_not_admitted_once_its_file_is_off),
};

CASE_MAIN(cases, NULL, NULL)
