/* The script on a master, on a real Redis: what it writes, and what it makes of what it did not.
 * The answers to each request are in tests/contract/. */
#include "fence/protocol/name.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME "orders/42"
#define KEY  "pawl:lock:" NAME

static int setup(void **state)
{
    master_fixture_setup_volatile(state);
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1); /* it notices a lost marker too */
    return 0;
}

static struct fence_request request(enum fence_request_kind kind, const char *id, uint64_t attempt)
{
    return (struct fence_request){.kind = kind,
                                  .tag = 1 << 16,
                                  .resource = NAME,
                                  .lock_id = id,
                                  .owner = "",
                                  .attempt = attempt,
                                  .ttl_ms = 30000,
                                  .extend.extensions_max = 3,
                                  .slot = (uint16_t)fence_slot(NAME, strlen(NAME))};
}

static const struct fence_reply *take(struct master_fixture *fixture, const char *id,
                                      uint64_t attempt)
{
    struct fence_request asked = request(FENCE_REQUEST_TAKE, id, attempt);
    return master_fixture_ask(fixture, &asked);
}

static long long counter(struct master_fixture *fixture)
{
    redisReply *reply = redis_fleet_command(fixture->fleet, 0, "HGET pawl:fleet %u",
                                            fence_slot(NAME, strlen(NAME)));
    long long value = reply->str ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return value;
}

static void set_counter(struct master_fixture *fixture, const char *value)
{
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "HSET pawl:fleet %u %s",
                                        fence_slot(NAME, strlen(NAME)), value));
}

static long long remaining_ms(struct master_fixture *fixture, const char *name)
{
    const long long left_ms = redis_fleet_integer(fixture->fleet, 0, "PTTL pawl:lock:%s", name);
    return left_ms == -1 ? redis_fleet_integer(fixture->fleet, 0, "PAWL.LEFT pawl:lock:%s", name)
                         : left_ms;
}

static void hint_that_uses_a_counter_up_leaves_it(void **state)
{
    struct fence_request asked = request(FENCE_REQUEST_TAKE, ID_A, 1);
    set_counter(*state, "9007199254740989");
    asked.take.hint = FENCE_TOKEN_MAX;
    assert_int_equal(master_fixture_ask(*state, &asked)->kind, FENCE_REPLY_SPENT);
    assert_int_equal(counter(*state), 9007199254740989);
}

static void joining_writes_the_token_its_extensions_and_its_label(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_request asked = request(FENCE_REQUEST_JOIN, ID_A, 10);
    asked.token = INT64_C(4503599627370495);
    asked.extend.extended = 2;
    asked.owner = "me: too";
    assert_int_equal(master_fixture_ask(fixture, &asked)->kind, FENCE_REPLY_YES);
    redisReply *value = redis_fleet_command(fixture->fleet, 0, "GET " KEY);
    const char *lease = strrchr(value->str, '='); /* which the module writes before it */
    assert_string_equal(lease ? lease + 1 : value->str,
                        ID_A ".000000000000000a:4503599627370495:2::me: too");
    freeReplyObject(value);
    assert_int_equal(counter(fixture), asked.token);
    assert_in_range(remaining_ms(fixture, NAME), 29000, 30000);
}

static void a_master_that_knows_another_view_refuses_everything_and_says_what_it_knows(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_request asked = request(FENCE_REQUEST_TAKE, ID_A, 1);
    struct fence_view other = fixture->facts.view;
    other.incarnation[0]++;
    struct storage_request encoded;
    storage_request_encode(&asked, &encoded);
    storage_redis_master_submit(fixture->redis, &encoded, &other, 2);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 1);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_STALE);
    assert_int_equal(fixture->known.incarnation[0], fixture->facts.view.incarnation[0]);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS " KEY), 0);
    assert_int_equal(counter(fixture), 0);
    assert_int_equal(fixture->downs, 0); /* and the connection stands */
}

static void a_master_that_became_a_replica_is_looked_at_anew(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "REPLICAOF 127.0.0.1 1"));
    assert_int_equal(take(fixture, ID_A, 1)->kind, FENCE_REPLY_REFUSED);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_true(fixture->facts.replica);
}

static void a_value_too_long_for_a_lock_is_refused_not_sent_around(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SETRANGE " KEY " 100000 x"));
    assert_int_equal(take(fixture, ID_A, 1)->kind, FENCE_REPLY_FOREIGN);
}

static void a_master_that_forgot_refuses_everything(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "FLUSHALL"));
    assert_int_equal(take(fixture, ID_A, 1)->kind, FENCE_REPLY_REFUSED);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_false(fixture->facts.marked);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "DBSIZE"), 0);
}

static void one_request_that_fails_spares_the_others_of_its_call(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "RPUSH " KEY " x"));
    struct fence_request good = request(FENCE_REQUEST_TAKE, ID_A, 1);
    good.resource = "other";
    struct fence_request bad = request(FENCE_REQUEST_TAKE, ID_A, 2);
    master_fixture_submit(fixture, &good);
    master_fixture_submit(fixture, &bad);
    good.resource = "third";
    master_fixture_submit(fixture, &good);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 3);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_NUMBER);
    assert_int_equal(fixture->reply[1].kind, FENCE_REPLY_FOREIGN);
    assert_int_equal(fixture->reply[2].kind, FENCE_REPLY_NUMBER);
}

/* A lock that was extended before, and its extension with the token 1. */
struct extended_lock {
    const char *name, *owner;
    int64_t number;
    uint32_t extensions, ttl_ms;
    enum fence_reply_kind kind;
    const char *value; /* behind the lock id */
};

#define ATTEMPT ".0000000000000001"

static const struct extended_lock extended_locks[] = {
    {"n1", "", 1, 1, 30000, FENCE_REPLY_YES, ".*:1:2::"},
    {"n2", "me", 1, 1, 30000, FENCE_REPLY_YES, ".*:1:2::me"},
    {"n3", "me", 1, 3, 30000, FENCE_REPLY_EXHAUSTED, ATTEMPT ":1:3::me"},
    {"n4", "me", 2, 3, 30000, FENCE_REPLY_SUPERSEDED, ATTEMPT ":2:3::me"},
    {"n5", "me", 1, 2, 30000, FENCE_REPLY_YES, ".*:1:3::me"},
    {"n6", "me", 1, 2, 60000, FENCE_REPLY_YES, ".*:1:3::me"},
};

static void submit_extended(struct master_fixture *fixture, enum fence_request_kind kind,
                            unsigned i)
{
    const struct extended_lock *lock = &extended_locks[i];
    struct fence_request asked = request(kind, ID_A, 1);
    asked.resource = lock->name;
    asked.slot = (uint16_t)i;
    asked.owner = lock->owner;
    asked.extend.extended = lock->extensions;
    asked.token = kind == FENCE_REQUEST_JOIN ? lock->number : 1;
    asked.ttl_ms = kind == FENCE_REQUEST_JOIN ? 20000 : lock->ttl_ms;
    master_fixture_submit(fixture, &asked);
}

static void extensions_of_one_call_leave_each_lock_what_it_has(void **state)
{
    enum {
        COUNT = sizeof(extended_locks) / sizeof(extended_locks[0]),
    };
    struct master_fixture *fixture = *state;
    for (unsigned i = 0; i < COUNT; i++)
        submit_extended(fixture, FENCE_REQUEST_JOIN, i);
    for (unsigned i = 0; i < COUNT; i++)
        submit_extended(fixture, FENCE_REQUEST_EXTEND, i);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 2 * COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        const struct extended_lock *lock = &extended_locks[i];
        redisReply *value = redis_fleet_command(fixture->fleet, 0, "GET pawl:lock:%s", lock->name);
        assert_int_equal(fixture->reply[COUNT + i].kind, lock->kind);
        const char *found = strstr(value->str, ID_A); /* behind the lease that the module writes */
        assert_non_null(found);
        assert_string_equal(found + strlen(ID_A), lock->value);
        freeReplyObject(value);
    }
    assert_in_range(remaining_ms(fixture, "n5"), 29000, 30000);
    assert_in_range(remaining_ms(fixture, "n6"), 59000, 60000);
}

static void a_value_that_pawl_did_not_write_is_refused_not_obeyed(void **state)
{
    static const char *const values[] = {
        "", "x", ":", "a.b:c:d:e", ID_A ".1:x:0::", ID_A ".1:1", ID_A ".1:1:0:", "short.1:1:0::",
    };
    struct master_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SET " KEY " %s", values[i]));
        assert_int_equal(take(fixture, ID_B, 1)->kind, FENCE_REPLY_FOREIGN);
        struct fence_request look = request(FENCE_REQUEST_INSPECT, ID_A, 0);
        assert_int_equal(master_fixture_ask(fixture, &look)->kind, FENCE_REPLY_FOREIGN);
    }
}

static void more_requests_than_a_call_takes_become_several_calls(void **state)
{
    struct master_fixture *fixture = *state;
    enum {
        COUNT = 700
    };
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%u", i);
        struct fence_request asked = request(FENCE_REQUEST_TAKE, ID_A, i);
        asked.resource = name;
        asked.tag = (uint64_t)(i + 1) << 16;
        master_fixture_submit(fixture, &asked);
    }
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(fixture->reply[i].kind, FENCE_REPLY_NUMBER);
        assert_int_equal(fixture->reply[i].tag, (uint64_t)(i + 1) << 16);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, master_fixture_teardown)

static const struct CMUnitTest cases[] = {
    CASE(hint_that_uses_a_counter_up_leaves_it),
    CASE(joining_writes_the_token_its_extensions_and_its_label),
    CASE(a_master_that_knows_another_view_refuses_everything_and_says_what_it_knows),
    CASE(a_master_that_became_a_replica_is_looked_at_anew),
    CASE(a_value_too_long_for_a_lock_is_refused_not_sent_around),
    CASE(a_master_that_forgot_refuses_everything),
    CASE(one_request_that_fails_spares_the_others_of_its_call),
    CASE(extensions_of_one_call_leave_each_lock_what_it_has),
    CASE(a_value_that_pawl_did_not_write_is_refused_not_obeyed),
    CASE(more_requests_than_a_call_takes_become_several_calls),
};

CASE_MAIN(cases, NULL, NULL)
