/* The script on a master, request by request, on a real Redis: each rule that the protocol's
 * argument leans on. */
#include "fence/protocol/name.h"
#include "tests/integration/master_fixture.h"
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
                                  .extensions = 3,
                                  .slot = (uint16_t)fence_slot(NAME, strlen(NAME))};
}

static const struct fence_reply *take(struct master_fixture *fixture, const char *id,
                                      uint64_t attempt)
{
    struct fence_request asked = request(FENCE_REQUEST_TAKE, id, attempt);
    return master_fixture_ask(fixture, &asked);
}

static enum fence_reply_kind confirm(struct master_fixture *fixture, const char *id,
                                     uint64_t attempt, int64_t token)
{
    struct fence_request asked = request(FENCE_REQUEST_CONFIRM, id, attempt);
    asked.token = token;
    return master_fixture_ask(fixture, &asked)->kind;
}

static enum fence_reply_kind extend(struct master_fixture *fixture, const char *id, int64_t token,
                                    uint32_t ttl_ms)
{
    struct fence_request asked = request(FENCE_REQUEST_EXTEND, id, 0);
    asked.token = token;
    asked.ttl_ms = ttl_ms;
    return master_fixture_ask(fixture, &asked)->kind;
}

static enum fence_reply_kind drop(struct master_fixture *fixture, enum fence_request_kind kind,
                                  const char *id, uint64_t attempt)
{
    struct fence_request asked = request(kind, id, attempt);
    return master_fixture_ask(fixture, &asked)->kind;
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

static long long remaining_ms(struct master_fixture *fixture)
{
    return redis_fleet_integer(fixture->fleet, 0, "PTTL " KEY);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void taking_a_free_lock_counts_and_locks(void **state)
{
    const struct fence_reply *reply = take(*state, ID_A, 1);
    assert_int_equal(reply->kind, FENCE_REPLY_NUMBER);
    assert_int_equal(reply->number, 1);
    assert_int_equal(counter(*state), 1);
    assert_in_range(remaining_ms(*state), 29000, 30000);
}

static void taking_twice_for_one_attempt_changes_nothing(void **state)
{
    assert_int_equal(take(*state, ID_A, 1)->number, 1);
    assert_int_equal(take(*state, ID_A, 1)->number, 1);
    assert_int_equal(counter(*state), 1);
}

static void taking_a_held_lock_names_holder_owner_and_remaining_time(void **state)
{
    struct fence_request first = request(FENCE_REQUEST_TAKE, ID_A, 1);
    first.owner = "worker 7: \xc3\xa9:1";
    assert_int_equal(master_fixture_ask(*state, &first)->kind, FENCE_REPLY_NUMBER);
    const struct fence_reply *reply = take(*state, ID_B, 2);
    assert_int_equal(reply->kind, FENCE_REPLY_HELD);
    assert_string_equal(reply->holder, ID_A);
    assert_string_equal(reply->owner, "worker 7: \xc3\xa9:1");
    assert_in_range(reply->remaining_ms, 29000, 30000);
    assert_int_equal(counter(*state), 1);
}

static void an_id_that_begins_like_the_holders_is_another(void **state)
{
    assert_int_equal(take(*state, ID_A ID_A, 1)->kind, FENCE_REPLY_NUMBER);
    assert_int_equal(drop(*state, FENCE_REQUEST_RELEASE, ID_A, 0), FENCE_REPLY_NO);
    assert_int_equal(extend(*state, ID_A, 1, 30000), FENCE_REPLY_NO);
    assert_int_equal(take(*state, ID_A, 1)->kind, FENCE_REPLY_HELD);
}

static void numbers_above_ten_to_the_fourteenth_stay_exact(void **state)
{
    set_counter(*state, "4503599627370495");
    assert_int_equal(take(*state, ID_A, 1)->number, INT64_C(4503599627370496));
    assert_int_equal(take(*state, ID_A, 1)->number, INT64_C(4503599627370496));
    assert_int_equal(confirm(*state, ID_A, 1, INT64_C(9007199254740990)), FENCE_REPLY_YES);
    assert_int_equal(counter(*state), 9007199254740990);
}

static void a_counter_that_is_used_up_refuses_and_stays(void **state)
{
    set_counter(*state, "9007199254740991");
    assert_int_equal(take(*state, ID_A, 1)->kind, FENCE_REPLY_SPENT);
    assert_int_equal(counter(*state), 9007199254740991);
    assert_int_equal(
        redis_fleet_integer(((struct master_fixture *)*state)->fleet, 0, "EXISTS " KEY), 0);
}

/* ---- confirming ------------------------------------------------------------------------------ */

static void confirming_raises_counter_and_number_and_keeps_the_ttl(void **state)
{
    struct fence_request asked = request(FENCE_REQUEST_INSPECT, ID_A, 0);
    (void)take(*state, ID_A, 1);
    assert_int_equal(confirm(*state, ID_A, 1, 9), FENCE_REPLY_YES);
    assert_int_equal(counter(*state), 9);
    assert_in_range(remaining_ms(*state), 29000, 30000);
    assert_int_equal(master_fixture_ask(*state, &asked)->number, 9);
}

static void confirming_never_lowers_a_counter(void **state)
{
    (void)take(*state, ID_A, 1);
    set_counter(*state, "50");
    assert_int_equal(confirm(*state, ID_A, 1, 9), FENCE_REPLY_YES);
    assert_int_equal(counter(*state), 50);
}

static void confirming_a_number_above_the_token_is_refused(void **state)
{
    /* A late copy of the first step locked again, after somebody else's turn. */
    set_counter(*state, "9");
    (void)take(*state, ID_A, 1);
    assert_int_equal(confirm(*state, ID_A, 1, 9), FENCE_REPLY_NO);
    assert_int_equal(counter(*state), 10);
}

static void confirming_another_attempt_or_a_lock_that_is_gone_is_refused(void **state)
{
    (void)take(*state, ID_A, 1);
    assert_int_equal(confirm(*state, ID_A, 2, 9), FENCE_REPLY_NO);
    assert_int_equal(drop(*state, FENCE_REQUEST_UNDO, ID_A, 1), FENCE_REPLY_YES);
    assert_int_equal(confirm(*state, ID_A, 1, 9), FENCE_REPLY_NO);
    assert_int_equal(counter(*state), 1);
}

/* ---- extending ------------------------------------------------------------------------------- */

static void extending_lengthens_and_never_shortens(void **state)
{
    (void)take(*state, ID_A, 1);
    assert_int_equal(extend(*state, ID_A, 1, 60000), FENCE_REPLY_YES);
    assert_in_range(remaining_ms(*state), 59000, 60000);
    assert_int_equal(extend(*state, ID_A, 1, 1000), FENCE_REPLY_YES);
    assert_in_range(remaining_ms(*state), 59000, 60000);
}

static void extending_needs_the_id_and_a_number_up_to_the_token(void **state)
{
    set_counter(*state, "9");
    (void)take(*state, ID_A, 1);
    assert_int_equal(extend(*state, ID_B, 10, 60000), FENCE_REPLY_NO);
    assert_int_equal(extend(*state, ID_A, 9, 60000), FENCE_REPLY_SUPERSEDED);
    assert_in_range(remaining_ms(*state), 29000, 30000);
    assert_int_equal(extend(*state, ID_A, 10, 60000), FENCE_REPLY_YES);
    assert_int_equal(extend(*state, ID_A, 11, 60000), FENCE_REPLY_YES);
}

static void extending_never_brings_back_a_lock_that_is_gone(void **state)
{
    struct master_fixture *fixture = *state;
    assert_int_equal(extend(fixture, ID_A, 1, 60000), FENCE_REPLY_NO);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS " KEY), 0);
}

static void extensions_are_counted_and_capped(void **state)
{
    (void)take(*state, ID_A, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(extend(*state, ID_A, 1, 30000), FENCE_REPLY_YES);
    assert_int_equal(extend(*state, ID_A, 1, 90000), FENCE_REPLY_EXHAUSTED);
    assert_in_range(remaining_ms(*state), 29000, 30000);
}

/* ---- releasing ------------------------------------------------------------------------------- */

static void releasing_needs_the_id_alone(void **state)
{
    (void)take(*state, ID_A, 1);
    assert_int_equal(drop(*state, FENCE_REQUEST_RELEASE, ID_B, 0), FENCE_REPLY_NO);
    assert_int_equal(drop(*state, FENCE_REQUEST_RELEASE, ID_A, 0), FENCE_REPLY_YES);
    assert_int_equal(drop(*state, FENCE_REQUEST_RELEASE, ID_A, 0), FENCE_REPLY_NO);
}

static void what_was_extended_is_not_taken_back_by_a_late_clean_up(void **state)
{
    struct master_fixture *fixture = *state;
    int64_t token = take(fixture, ID_A, 1)->number;
    assert_int_equal(extend(fixture, ID_A, token, 30000), FENCE_REPLY_YES);
    assert_int_equal(drop(fixture, FENCE_REQUEST_UNDO, ID_A, 1), FENCE_REPLY_NO);
    assert_int_equal(extend(fixture, ID_A, token, 30000), FENCE_REPLY_YES);
    assert_int_equal(drop(fixture, FENCE_REQUEST_RELEASE, ID_A, 0), FENCE_REPLY_YES);
}

static void undoing_takes_back_its_own_attempt_only(void **state)
{
    (void)take(*state, ID_A, 2);
    assert_int_equal(drop(*state, FENCE_REQUEST_UNDO, ID_A, 1), FENCE_REPLY_NO);
    assert_int_equal(drop(*state, FENCE_REQUEST_UNDO, ID_A, 2), FENCE_REPLY_YES);
}

/* ---- the whole call -------------------------------------------------------------------------- */

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

static void a_master_that_became_another_member_refuses_everything(void **state)
{
    /* As after it was a replica of that member for a while, on a connection that stood all along.
     */
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "HSET pawl:fleet member 2"));
    assert_int_equal(take(fixture, ID_A, 1)->kind, FENCE_REPLY_REFUSED);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS " KEY), 0);
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

static void inspecting_reads_number_and_holder(void **state)
{
    struct fence_request look = request(FENCE_REQUEST_INSPECT, ID_A, 0);
    assert_int_equal(master_fixture_ask(*state, &look)->kind, FENCE_REPLY_NO);
    (void)take(*state, ID_A, 1);
    const struct fence_reply *reply = master_fixture_ask(*state, &look);
    assert_int_equal(reply->kind, FENCE_REPLY_HELD);
    assert_string_equal(reply->holder, ID_A);
    assert_int_equal(reply->number, 1);
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
    CASE(taking_a_free_lock_counts_and_locks),
    CASE(taking_twice_for_one_attempt_changes_nothing),
    CASE(taking_a_held_lock_names_holder_owner_and_remaining_time),
    CASE(an_id_that_begins_like_the_holders_is_another),
    CASE(numbers_above_ten_to_the_fourteenth_stay_exact),
    CASE(a_counter_that_is_used_up_refuses_and_stays),
    CASE(confirming_raises_counter_and_number_and_keeps_the_ttl),
    CASE(confirming_never_lowers_a_counter),
    CASE(confirming_a_number_above_the_token_is_refused),
    CASE(confirming_another_attempt_or_a_lock_that_is_gone_is_refused),
    CASE(extending_lengthens_and_never_shortens),
    CASE(extending_needs_the_id_and_a_number_up_to_the_token),
    CASE(extending_never_brings_back_a_lock_that_is_gone),
    CASE(extensions_are_counted_and_capped),
    CASE(releasing_needs_the_id_alone),
    CASE(what_was_extended_is_not_taken_back_by_a_late_clean_up),
    CASE(undoing_takes_back_its_own_attempt_only),
    CASE(a_master_that_knows_another_view_refuses_everything_and_says_what_it_knows),
    CASE(a_master_that_became_another_member_refuses_everything),
    CASE(a_master_that_became_a_replica_is_looked_at_anew),
    CASE(a_value_too_long_for_a_lock_is_refused_not_sent_around),
    CASE(a_master_that_forgot_refuses_everything),
    CASE(one_request_that_fails_spares_the_others_of_its_call),
    CASE(a_value_that_pawl_did_not_write_is_refused_not_obeyed),
    CASE(inspecting_reads_number_and_holder),
    CASE(more_requests_than_a_call_takes_become_several_calls),
};

CASE_MAIN(cases, NULL, NULL)
