/* Several resources at once, all or none: what the script on a master does. */
#include "fence/protocol/name.h"
#include "tests/integration/master_fixture.h"
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

static void free_ones_are_all_taken_each_with_its_number(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(3);
    (void)take_one(fixture, "n2", ID_B);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "DEL pawl:lock:n2"));
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    const struct fence_reply *reply = master_fixture_ask(fixture, &asked);
    assert_int_equal(reply->kind, FENCE_REPLY_NUMBER);
    assert_false(reply->found);
    assert_int_equal(fixture->numbers[0], 1);
    assert_int_equal(fixture->numbers[1], 2);
    assert_int_equal(fixture->numbers[2], 1);
    assert_int_equal(locks(fixture), 3);
}

static void one_that_is_held_keeps_all_from_being_taken(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(3);
    (void)take_one(fixture, "n3", ID_B);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    const struct fence_reply *reply = master_fixture_ask(fixture, &asked);
    assert_int_equal(reply->kind, FENCE_REPLY_HELD);
    assert_int_equal(reply->blocked, 2);
    assert_string_equal(reply->holder, ID_B);
    assert_string_equal(reply->owner, "holder");
    assert_in_range(reply->remaining_ms, 29000, 30000);
    assert_int_equal(locks(fixture), 1);
}

static void who_waits_is_told_when_the_one_in_the_way_is_released(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    (void)take_one(fixture, "n2", ID_B);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    asked.waits = true;
    (void)master_fixture_ask(fixture, &asked);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS pawl:wait:n2"), 1);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS pawl:wait:n1"), 0);
}

static void taking_twice_for_one_attempt_changes_nothing(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    (void)master_fixture_ask(fixture, &asked);
    assert_int_equal(master_fixture_ask(fixture, &asked)->kind, FENCE_REPLY_NUMBER);
    assert_int_equal(fixture->numbers[0], 1);
    assert_int_equal(fixture->numbers[1], 1);
}

static void each_is_cleaned_up_by_itself(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    (void)master_fixture_ask(fixture, &asked);
    struct fence_request undo = asked;
    undo.kind = FENCE_REQUEST_UNDO;
    undo.group = NULL;
    undo.resource = "n2";
    assert_int_equal(master_fixture_ask(fixture, &undo)->kind, FENCE_REPLY_YES);
    assert_int_equal(locks(fixture), 1);
}

static void all_are_cleaned_up_with_one_request_where_the_attempt_is_the_same(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(3);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    (void)master_fixture_ask(fixture, &asked);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "DEL pawl:lock:n2"));
    (void)take_one(fixture, "n2", ID_B);
    struct fence_request undo = request(FENCE_REQUEST_UNDO, &group, 2);
    assert_int_equal(master_fixture_ask(fixture, &undo)->kind, FENCE_REPLY_NO);
    assert_int_equal(locks(fixture), 3);
    undo.attempt = 1;
    assert_int_equal(master_fixture_ask(fixture, &undo)->kind, FENCE_REPLY_YES);
    assert_int_equal(locks(fixture), 1);
}

static void confirming_raises_each_to_its_token(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    (void)master_fixture_ask(fixture, &asked);
    group.locks[0].token = 5;
    group.locks[1].token = 1;
    struct fence_request confirmed = request(FENCE_REQUEST_CONFIRM, &group, 1);
    assert_int_equal(master_fixture_ask(fixture, &confirmed)->kind, FENCE_REPLY_YES);
    (void)master_fixture_ask(fixture, &asked);
    assert_int_equal(fixture->numbers[0], 5);
    assert_int_equal(fixture->numbers[1], 1);
}

static void one_that_does_not_agree_leaves_all_unconfirmed(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    (void)master_fixture_ask(fixture, &asked);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "DEL pawl:lock:n2"));
    group.locks[0].token = 5;
    group.locks[1].token = 5;
    struct fence_request confirmed = request(FENCE_REQUEST_CONFIRM, &group, 1);
    assert_int_equal(master_fixture_ask(fixture, &confirmed)->kind, FENCE_REPLY_NO);
    (void)master_fixture_ask(fixture, &asked);
    assert_int_equal(fixture->numbers[0], 1);
}

static void asking_again_finds_all_or_takes_what_is_missing(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_group group = group_of(2);
    struct fence_request asked = request(FENCE_REQUEST_TAKE, &group, 1);
    asked.idempotent = true;
    assert_false(master_fixture_ask(fixture, &asked)->found);
    asked.attempt = 2;
    const struct fence_reply *reply = master_fixture_ask(fixture, &asked);
    assert_true(reply->found);
    assert_in_range(reply->remaining_ms, 29000, 30000);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "DEL pawl:lock:n2"));
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "PEXPIRE pawl:lock:n1 9000"));
    asked.attempt = 3;
    reply = master_fixture_ask(fixture, &asked);
    assert_false(reply->found);
    assert_in_range(reply->remaining_ms, 8000, 9000);
    assert_int_equal(fixture->numbers[0], 1);
    assert_int_equal(fixture->numbers[1], 2);
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
    MASTER_VOLATILE(free_ones_are_all_taken_each_with_its_number),
    MASTER_VOLATILE(one_that_is_held_keeps_all_from_being_taken),
    MASTER_VOLATILE(who_waits_is_told_when_the_one_in_the_way_is_released),
    MASTER_VOLATILE(taking_twice_for_one_attempt_changes_nothing),
    MASTER_VOLATILE(each_is_cleaned_up_by_itself),
    MASTER_VOLATILE(all_are_cleaned_up_with_one_request_where_the_attempt_is_the_same),
    MASTER_VOLATILE(confirming_raises_each_to_its_token),
    MASTER_VOLATILE(one_that_does_not_agree_leaves_all_unconfirmed),
    MASTER_VOLATILE(asking_again_finds_all_or_takes_what_is_missing),
    MASTER_VOLATILE(many_groups_share_script_calls_with_others),
};

CASE_MAIN(cases, NULL, NULL)
