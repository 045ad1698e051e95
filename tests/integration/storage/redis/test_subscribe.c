/* Waiters are told: the waiting key, what is published when a lock is released, and the second
 * connection that brings it. */
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <string.h>

#define ID_A     "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B     "bbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME     "orders/42: x"
#define LOCK     "pawl:lock:orders/42: x"
#define WAIT     "pawl:wait:orders/42: x"
#define SOMEBODY "pawl:waiting"
#define TTL_MS   30000

static struct fence_request request(enum fence_request_kind kind, const char *name, uint32_t ttl_ms,
                                    const char *id, bool waits)
{
    return (struct fence_request){
        .kind = kind,
        .tag = 1 << 16,
        .resource = name,
        .lock_id = id,
        .owner = "",
        .attempt = 7,
        .ttl_ms = ttl_ms,
        .take.waits = waits,
    };
}

static enum fence_reply_kind ask_for(struct master_fixture *fixture, enum fence_request_kind kind,
                                     const char *name, uint32_t ttl_ms, const char *id, bool waits)
{
    struct fence_request asked = request(kind, name, ttl_ms, id, waits);
    return master_fixture_ask(fixture, &asked)->kind;
}

static enum fence_reply_kind ask(struct master_fixture *fixture, enum fence_request_kind kind,
                                 const char *id, bool waits)
{
    return ask_for(fixture, kind, NAME, TTL_MS, id, waits);
}

static long long exists(struct master_fixture *fixture, const char *key)
{
    return redis_fleet_integer(fixture->fleet, 0, "EXISTS %s", key);
}

/* Waits until somebody hears what is published. */
static void listening(struct master_fixture *fixture)
{
    const uint64_t end_ms = wait_now_ms() + UINT64_C(2) * STORAGE_PROBE_MS;
    while (redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed nobody") == 0) {
        assert_true(wait_now_ms() < end_ms);
        master_fixture_flush(fixture);
        uv_run(&fixture->loop, UV_RUN_NOWAIT);
        wait_ms(5);
    }
}

static void nothing_is_kept_or_said_where_nobody_waits(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    assert_int_equal(ask(fixture, FENCE_REQUEST_TAKE, ID_A, true), FENCE_REPLY_NUMBER);
    assert_int_equal(ask(fixture, FENCE_REQUEST_TAKE, ID_B, false), FENCE_REPLY_HELD);
    assert_int_equal(exists(fixture, WAIT), 0);
    assert_int_equal(exists(fixture, SOMEBODY), 0);
    assert_int_equal(ask(fixture, FENCE_REQUEST_RELEASE, ID_A, false), FENCE_REPLY_YES);
    assert_int_equal(ask(fixture, FENCE_REQUEST_INSPECT, ID_A, false), FENCE_REPLY_NO);
    assert_int_equal(fixture->released, 0);
}

static void who_waits_leaves_a_key_that_lives_as_long_as_the_lock(void **state)
{
    struct master_fixture *fixture = *state;
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    assert_int_equal(ask(fixture, FENCE_REQUEST_TAKE, ID_B, true), FENCE_REPLY_HELD);
    long long lock_ms = redis_fleet_integer(fixture->fleet, 0, "PTTL %s", LOCK);
    long long waiting_ms = redis_fleet_integer(fixture->fleet, 0, "PTTL %s", WAIT);
    assert_in_range(waiting_ms, lock_ms - 1000, lock_ms + 1000);
}

/* Without the key that a call waits, no server looks for the key of one lock. */
static void that_somebody_waits_is_known_as_long_as_anybody_does(void **state)
{
    struct master_fixture *fixture = *state;
    static const struct {
        const char *name;
        uint32_t ttl_ms;
    } locks[] = {{"short", TTL_MS / 3}, {NAME, TTL_MS}, {"shorter", TTL_MS / 6}};
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        ask_for(fixture, FENCE_REQUEST_TAKE, locks[i].name, locks[i].ttl_ms, ID_A, false);
        assert_int_equal(
            ask_for(fixture, FENCE_REQUEST_TAKE, locks[i].name, locks[i].ttl_ms, ID_B, true),
            FENCE_REPLY_HELD);
    }
    long long one_ms = redis_fleet_integer(fixture->fleet, 0, "PTTL %s", WAIT);
    long long any_ms = redis_fleet_integer(fixture->fleet, 0, "PTTL %s", SOMEBODY);
    assert_in_range(any_ms, one_ms - 100, TTL_MS); /* it was looked at later */
}

static void release_is_silent_while_somebody_waits_for_another_lock(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    ask_for(fixture, FENCE_REQUEST_TAKE, "other", TTL_MS, ID_A, false);
    ask_for(fixture, FENCE_REQUEST_TAKE, "other", TTL_MS, ID_B, true);
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    assert_int_equal(ask(fixture, FENCE_REQUEST_RELEASE, ID_A, false), FENCE_REPLY_YES);
    assert_int_equal(exists(fixture, LOCK), 0);
    ask_for(fixture, FENCE_REQUEST_RELEASE, "other", TTL_MS, ID_A, false);
    master_fixture_await(fixture, &fixture->released, 1);
    assert_string_equal(fixture->released_resource, "other");
    assert_int_equal(fixture->released, 1);
}

/* The first release finds that no call waits; that is no longer so when the last comes. */
static void who_began_to_wait_in_the_same_script_call_is_told(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    ask_for(fixture, FENCE_REQUEST_TAKE, "other", TTL_MS, ID_A, false);
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    const struct fence_request call[] = {
        request(FENCE_REQUEST_RELEASE, "other", TTL_MS, ID_A, false),
        request(FENCE_REQUEST_TAKE, NAME, TTL_MS, ID_B, true),
        request(FENCE_REQUEST_RELEASE, NAME, TTL_MS, ID_A, false),
    };
    for (size_t i = 0; i < sizeof(call) / sizeof(call[0]); i++)
        master_fixture_submit(fixture, &call[i]);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->released, 1);
    assert_string_equal(fixture->released_resource, NAME);
}

static void release_tells_whose_lock_was_given_up(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    ask(fixture, FENCE_REQUEST_TAKE, ID_B, true);
    ask(fixture, FENCE_REQUEST_RELEASE, ID_A, false);
    master_fixture_await(fixture, &fixture->released, 1);
    assert_string_equal(fixture->released_id, ID_A);
    assert_string_equal(fixture->released_resource, NAME);
    assert_int_equal(exists(fixture, WAIT), 0);
    assert_int_equal(exists(fixture, LOCK), 0);
}

static void clean_up_of_an_attempt_tells_too(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    ask(fixture, FENCE_REQUEST_TAKE, ID_B, true);
    ask(fixture, FENCE_REQUEST_UNDO, ID_A, false);
    master_fixture_await(fixture, &fixture->released, 1);
    assert_string_equal(fixture->released_id, ID_A);
}

static void release_works_though_publishing_is_not_allowed(void **state)
{
    struct master_fixture *fixture = *state;
    ask(fixture, FENCE_REQUEST_TAKE, ID_A, false);
    ask(fixture, FENCE_REQUEST_TAKE, ID_B, true);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "ACL SETUSER default resetchannels"));
    assert_int_equal(ask(fixture, FENCE_REQUEST_RELEASE, ID_A, false), FENCE_REPLY_YES);
    assert_int_equal(exists(fixture, LOCK), 0);
}

static void what_others_publish_there_is_passed_over(void **state)
{
    struct master_fixture *fixture = *state;
    static const char *const words[] = {"", ":", "no colon", ":name"};
    listening(fixture);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed %s", words[i]),
                         1);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed %s", "id:name"), 1);
    master_fixture_await(fixture, &fixture->released, 1);
    assert_string_equal(fixture->released_id, "id");
    assert_int_equal(fixture->released, 1);
}

static void place_of_a_waiter_is_read_and_anything_else_is_passed_over(void **state)
{
    struct master_fixture *fixture = *state;
    static const char *const wrong[] = {
        ":1500:7:" ID_A ":name", /* a word less */
        ":-1:7:" ID_A "::name",  /* numbers that are none, or out of range */
        ":1.5:7:" ID_A "::name",
        "::7:" ID_A "::name",
        ":99999999999999999999:7:" ID_A "::name",
        ":1500:0:" ID_A "::name",
        ":1500:9007199254740992:" ID_A "::name",
        ":1500:7:" ID_A " ::name", /* ids that are none */
        ":1500:7:::name",
        ":1500:7:" ID_A ":-key:name",
        ":1500:7:" ID_A ID_A ID_A ID_A "::name",
        ":1500:7:" ID_A "::", /* names that are none */
        ":1500:7:" ID_A "::na\xffme",
    };
    listening(fixture);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed %s", wrong[i]);
    redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed %s",
                        ":1500:7:" ID_A "::orders/42:x");
    master_fixture_await(fixture, &fixture->places, 1);
    assert_string_equal(fixture->place, "orders/42:x " ID_A " key '' ticket 7 waited 1500");
    redis_fleet_integer(fixture->fleet, 0, "PUBLISH pawl:freed %s",
                        ":0:8:" ID_B ":key-1:orders/42:x");
    master_fixture_await(fixture, &fixture->places, 2);
    assert_string_equal(fixture->place, "orders/42:x " ID_B " key 'key-1' ticket 8 waited 0");
    assert_int_equal(fixture->released, 0);
}

static void listener_that_was_cut_is_back_with_a_later_probe(void **state)
{
    struct master_fixture *fixture = *state;
    listening(fixture);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CLIENT KILL TYPE pubsub"));
    listening(fixture);
    assert_int_equal(fixture->downs, 0);
}

static const struct CMUnitTest cases[] = {
    MASTER_VOLATILE(nothing_is_kept_or_said_where_nobody_waits),
    MASTER_VOLATILE(who_waits_leaves_a_key_that_lives_as_long_as_the_lock),
    MASTER_VOLATILE(that_somebody_waits_is_known_as_long_as_anybody_does),
    MASTER_VOLATILE(release_is_silent_while_somebody_waits_for_another_lock),
    MASTER_VOLATILE(who_began_to_wait_in_the_same_script_call_is_told),
    MASTER_VOLATILE(release_tells_whose_lock_was_given_up),
    MASTER_VOLATILE(clean_up_of_an_attempt_tells_too),
    MASTER_VOLATILE(release_works_though_publishing_is_not_allowed),
    MASTER_VOLATILE(what_others_publish_there_is_passed_over),
    MASTER_VOLATILE(place_of_a_waiter_is_read_and_anything_else_is_passed_over),
    MASTER_VOLATILE(listener_that_was_cut_is_back_with_a_later_probe),
};

CASE_MAIN(cases, NULL, NULL)
