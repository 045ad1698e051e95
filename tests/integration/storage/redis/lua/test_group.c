/* Several resources at once, all or none: what the script on a master does. */
#include "fence/protocol/name.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* The names n1, n2, ... up to @count. */
static struct fence_group group_of(unsigned count)
{
    struct fence_group group = {.count = count};
    for (unsigned k = 0; k < count; k++) {
        struct fence_group_lock *lock = &group.locks[k];
        int len = snprintf(lock->resource, sizeof(lock->resource), "n%u", k + 1);
        lock->slot = (uint16_t)fence_slot(lock->resource, (size_t)len);
    }
    return group;
}

static struct fence_request request(enum fence_request_kind kind, const struct fence_group *group,
                                    uint64_t attempt)
{
    return (struct fence_request){
        .kind = kind,
        .tag = 1 << 16,
        .resource = group->locks[0].resource,
        .lock_id = ID_A,
        .owner = "worker",
        .attempt = attempt,
        .ttl_ms = 30000,
        .group = group,
    };
}

static const struct fence_reply *take_one(void *fixture, const char *name, const char *id)
{
    struct fence_request asked = {
        .kind = FENCE_REQUEST_TAKE,
        .tag = 1 << 16,
        .resource = name,
        .lock_id = id,
        .owner = "holder",
        .attempt = 77,
        .ttl_ms = 30000,
        .slot = (uint16_t)fence_slot(name, strlen(name)),
    };
    return master_fixture_ask(fixture, &asked);
}

static long long locks(struct master_fixture *fixture)
{
    return redis_fleet_integer(fixture->fleet, 0, "DBSIZE") - 1; /* but for the fleet hash */
}

static void who_waits_is_told_when_the_one_in_the_way_is_freed(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    (void)take_one(fixture, "n2", ID_B);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    asked.take.waits = true;
    (void)master_fixture_ask(fixture, &asked);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS pawl:wait:n2"), 1);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS pawl:wait:n1"), 0);
}

static void many_groups_share_script_calls_with_others(void **state)
{
    enum {
        GROUPS = 12,
    };
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(FENCE_GROUP_MAX);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    struct fence_request single = master_fixture_take;
    for (unsigned i = 0; i < GROUPS; i++) {
        asked.tag = (uint64_t)(2 * i + 1) << 16;
        single.tag = (uint64_t)(2 * i + 2) << 16;
        master_fixture_submit(fixture, &asked);
        master_fixture_submit(fixture, &single);
    }
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 2 * GROUPS);
    for (unsigned i = 0; i < 2 * GROUPS; i++) {
        assert_int_equal(fixture->reply[i].kind, FENCE_REPLY_NUMBER);
        assert_int_equal(fixture->reply[i].tag, (uint64_t)(i + 1) << 16);
    }
    assert_int_equal(locks(fixture), FENCE_GROUP_MAX + 1);
}

static const struct CMUnitTest cases[] = {
    MASTER_VOLATILE(who_waits_is_told_when_the_one_in_the_way_is_freed),
    MASTER_VOLATILE(many_groups_share_script_calls_with_others),
};

CASE_MAIN(cases, NULL, NULL)
