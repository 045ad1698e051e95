/* A master of a fleet that is moved, on a real Redis: it is closed, or not. */
#include "storage/redis/keys.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdlib.h>

#define FOLLOWER "0123456789012345678901234567890123456789"

static enum fence_rejoin_outcome close_as(int64_t incarnation, int64_t floor)
{
    const struct fence_rejoin_request request = {.step = FENCE_REJOIN_CLOSE,
                                                 .incarnation = incarnation,
                                                 .fleet_id = FOLLOWER,
                                                 .floor = floor};
    return script_step(request, SCRIPT_ME).outcome;
}

static void closed_master_keeps_a_floor_and_nothing_else(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet init floor 2 17 n:orders 18");
    assert_int_equal(close_as(SCRIPT_NEXT, 9007199254740991), FENCE_REJOIN_DONE);
    script_assert_field("closed", SCRIPT_FLEET ":9007199254740991:300000:0:" FOLLOWER);
    script_assert_field("floor", "9007199254740991");
    script_assert_field("note", STORAGE_CLOSED_NOTE);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "HLEN pawl:fleet"), 3);
}

static void closed_master_keeps_the_predecessors_of_its_fleet(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet predecessors a,b");
    assert_int_equal(close_as(SCRIPT_NEXT, 17), FENCE_REJOIN_DONE);
    script_assert_field("predecessors", "a,b");
}

static void master_under_another_incarnation_is_not_closed(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet 2 17");
    assert_int_equal(close_as(SCRIPT_NEXT + 1, 17), FENCE_REJOIN_CHANGED);
    script_assert_field("2", "17");
    script_assert_field("closed", NULL);
}

static void master_that_votes_or_is_blank_is_not_closed(void **state)
{
    assert_int_equal(close_as(SCRIPT_NEXT, 17), FENCE_REJOIN_CHANGED);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "EXISTS pawl:fleet"), 0);
    script_mark_active("2", "no");
    assert_int_equal(close_as(SCRIPT_NEXT, 17), FENCE_REJOIN_CHANGED);
    script_assert_field("state", "active");
}

static void master_is_closed_once(void **state)
{
    script_mark_joining("no");
    assert_int_equal(close_as(SCRIPT_NEXT, 17), FENCE_REJOIN_DONE);
    assert_int_equal(close_as(SCRIPT_NEXT, 99), FENCE_REJOIN_CHANGED); /* a late copy */
    script_assert_field("floor", "17");
}

static struct fence_rejoin_reply survey(bool keeps)
{
    return script_step((struct fence_rejoin_request){.step = FENCE_REJOIN_SURVEY, .keeps = keeps},
                       SCRIPT_ME);
}

static void survey_of_one_that_counts_as_intact_tells_nothing_once_it_is_not(void **state)
{
    script_mark_joining("no");
    script_redis("HSET pawl:fleet 2 17");
    assert_int_equal(survey(false).highest, 17);
    assert_int_equal(survey(true).outcome, FENCE_REJOIN_CHANGED); /* its mark found it changed */
    script_redis("HSET pawl:fleet intact yes");
    assert_int_equal(survey(true).highest, 17);
    script_redis("HSET pawl:fleet lineage another:0"); /* it changed after its mark */
    assert_int_equal(survey(true).outcome, FENCE_REJOIN_CHANGED);
    assert_int_equal(survey(false).highest, 17);
}

static struct fence_rejoin_reply read_leases(int64_t incarnation)
{
    struct fence_rejoin_reply reply = {0};
    uint32_t longest_ms = 0;
    do {
        reply = script_step((struct fence_rejoin_request){.step = FENCE_REJOIN_LEASES,
                                                          .incarnation = incarnation,
                                                          .cursor = reply.cursor},
                            SCRIPT_ME);
        longest_ms = reply.left_ms > longest_ms ? reply.left_ms : longest_ms;
    } while (reply.outcome == FENCE_REJOIN_DONE && reply.cursor != 0);
    reply.left_ms = longest_ms;
    return reply;
}

static void longest_lease_is_told_of_all_locks(void **state)
{
    script_mark_joining("no");
    assert_int_equal(read_leases(SCRIPT_NEXT).left_ms, 0);
    for (unsigned i = 0; i < 1500; i++)
        script_redis("SET pawl:lock:%u lock PX 1000", i);
    script_redis("SET pawl:lock:longest lock PX 20000");
    script_redis("SET pawl:other lock PX 40000");
    assert_in_range(read_leases(SCRIPT_NEXT).left_ms, 15000, 20000);
}

static void lease_of_an_imported_lock_is_what_is_written_in_it(void **state)
{
    redisReply *time = script_reply("TIME");
    const long long now_s = strtoll(time->element[0]->str, NULL, 10);
    freeReplyObject(time);
    script_mark_joining("no");
    script_redis("SET pawl:lock:imported @%lld000@000@lock", now_s + 30);
    assert_in_range(read_leases(SCRIPT_NEXT).left_ms, 25000, 30000);
}

static void lease_without_an_end_is_the_longest_of_the_fleet(void **state)
{
    script_mark_joining("no");
    script_redis("SET pawl:lock:forever lock");
    assert_int_equal(read_leases(SCRIPT_NEXT).left_ms, SCRIPT_TTL_MAX_MS);
    script_redis("SET pawl:lock:forever lock PX 900000");
    assert_int_equal(read_leases(SCRIPT_NEXT).left_ms, SCRIPT_TTL_MAX_MS);
}

static void leases_are_told_under_the_incarnation_alone(void **state)
{
    script_mark_active("2", "no");
    assert_int_equal(read_leases(SCRIPT_NEXT).outcome, FENCE_REJOIN_CHANGED);
    script_mark_joining("no");
    assert_int_equal(read_leases(SCRIPT_NEXT + 1).outcome, FENCE_REJOIN_CHANGED);
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(closed_master_keeps_a_floor_and_nothing_else),
    SCRIPT_CASE(closed_master_keeps_the_predecessors_of_its_fleet),
    SCRIPT_CASE(master_under_another_incarnation_is_not_closed),
    SCRIPT_CASE(master_that_votes_or_is_blank_is_not_closed),
    SCRIPT_CASE(master_is_closed_once),
    SCRIPT_CASE(survey_of_one_that_counts_as_intact_tells_nothing_once_it_is_not),
    SCRIPT_CASE(longest_lease_is_told_of_all_locks),
    SCRIPT_CASE(lease_of_an_imported_lock_is_what_is_written_in_it),
    SCRIPT_CASE(lease_without_an_end_is_the_longest_of_the_fleet),
    SCRIPT_CASE(leases_are_told_under_the_incarnation_alone),
};

CASE_MAIN(cases, NULL, NULL)
