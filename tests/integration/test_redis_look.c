/* Looks at a real Redis on the connection that stands, and what becomes of its marker. */
#include "storage/redis_master_look.h"
#include "tests/integration/master_fixture.h"
#include "tests/lib/case.h"

#include <string.h>

enum {
    REQUESTS = 600, /* more than two script calls carry */
};

static void command(struct master_fixture *fixture, const char *text)
{
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, text));
}

/* A new connection is looked at as soon as it stands. */
static void look_again(struct master_fixture *fixture)
{
    unsigned looks = fixture->looks;
    command(fixture, "CLIENT KILL TYPE normal");
    master_fixture_await(fixture, &fixture->looks, looks + 1);
}

static void assert_marked_durable(struct master_fixture *fixture, const char *wanted)
{
    redisReply *reply = redis_fleet_command(fixture->fleet, 0, "HGET pawl:fleet durable");
    assert_string_equal(reply->str, wanted);
    freeReplyObject(reply);
}

/* What is sent after it is answered after it. */
static void disclaim(struct master_fixture *fixture)
{
    storage_redis_master_disclaim(fixture->master);
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
}

static void look_finds_what_a_handshake_does_and_the_time(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->looks, 1);
    const struct fence_facts *seen = &fixture->seen;
    assert_string_equal(seen->run_id, fixture->facts.run_id);
    assert_string_equal(seen->fleet_id, fixture->facts.fleet_id);
    assert_string_equal(seen->host, "local");
    assert_string_equal(seen->persistence, "always");
    assert_true(seen->durable);
    assert_true(seen->marked_durable);
    assert_false(seen->evicts);
    assert_int_equal(seen->replicas, 0);
    assert_in_range(seen->clock.theirs_us / 1000000, 1500000000, 100000000000);
    assert_in_range(seen->clock.after_us - seen->clock.before_us, 1, 1000000);
    assert_int_equal(fixture->facts.clock.theirs_us, 0);
}

static void look_finds_what_was_changed_since_the_start(void **state)
{
    struct master_fixture *fixture = *state;
    command(fixture, "CONFIG SET appendfsync everysec maxmemory 1gb maxmemory-policy volatile-lru");
    look_again(fixture);
    assert_false(fixture->seen.durable);
    assert_string_equal(fixture->seen.persistence, "everysec");
    assert_true(fixture->seen.evicts);
    assert_false(fixture->seen.full);
    assert_true(fixture->seen.marked_durable);
    command(fixture, "CONFIG SET maxmemory 1mb maxmemory-policy noeviction"); /* less than empty */
    look_again(fixture);
    assert_true(fixture->seen.full);
}

static void requests_around_a_look_are_all_answered_in_order(void **state)
{
    struct master_fixture *fixture = *state;
    assert_int_equal(fixture->looks, 0); /* it is due, and goes out among these */
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct fence_request request = master_fixture_take;
        request.tag = (uint64_t)(i + 1) << 16;
        master_fixture_submit(fixture, &request);
    }
    master_fixture_await(fixture, &fixture->replies, REQUESTS);
    for (unsigned i = 0; i < REQUESTS; i++) {
        assert_int_equal(fixture->reply[i].kind, FENCE_REPLY_NUMBER);
        assert_int_equal(fixture->reply[i].tag, (uint64_t)(i + 1) << 16);
    }
    master_fixture_await(fixture, &fixture->looks, 1);
    assert_int_equal(fixture->downs, 0);
}

static void look_that_a_lost_connection_cut_short_is_not_told(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    uv_run(&fixture->loop, UV_RUN_NOWAIT); /* the look becomes due */
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->replies, 1);
    assert_int_equal(fixture->looks, 0);
    redis_fleet_restart(fixture->fleet, 0, true);
    master_fixture_await(fixture, &fixture->looks, 1);
}

static void master_without_config_and_time_is_looked_at_all_the_same(void **state)
{
    struct master_fixture *fixture = *state;
    command(fixture, "ACL SETUSER default -config -time");
    look_again(fixture);
    assert_string_equal(fixture->seen.persistence, "unknown");
    assert_false(fixture->seen.durable);
    assert_int_equal(fixture->seen.clock.theirs_us, 0);
}

/* ---- the marker ------------------------------------------------------------------------------ */

static void disclaimed_marker_is_durable_no_more(void **state)
{
    struct master_fixture *fixture = *state;
    assert_marked_durable(fixture, "yes");
    disclaim(fixture);
    assert_marked_durable(fixture, "no");
    disclaim(fixture);
    assert_marked_durable(fixture, "no");
    look_again(fixture);
    assert_false(fixture->seen.marked_durable);
}

static void marker_that_is_not_the_one_that_was_seen_is_not_disclaimed(void **state)
{
    static const char *const changes[] = {
        "HSET pawl:fleet fleet fedcba9876543210fedcba9876543210fedcba98",
        "HSET pawl:fleet member 2",
        "HSET pawl:fleet run fedcba9876543210fedcba9876543210fedcba98",
    };
    struct master_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        redisReply *before = redis_fleet_command(fixture->fleet, 0, "DUMP pawl:fleet");
        command(fixture, changes[i]);
        storage_redis_master_disclaim(fixture->master);
        /* Refused where it is another's marker. */
        master_fixture_submit(fixture, &master_fixture_take);
        master_fixture_await(fixture, &fixture->replies, (unsigned)i + 1);
        assert_marked_durable(fixture, "yes");
        freeReplyObject(redis_fleet_command(fixture->fleet, 0, "RESTORE pawl:fleet 0 %b REPLACE",
                                            before->str, before->len));
        freeReplyObject(before);
        look_again(fixture);
    }
}

static void marker_that_is_gone_is_not_made_anew(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->looks, 1);
    command(fixture, "DEL pawl:fleet");
    storage_redis_master_disclaim(fixture->master);
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "DBSIZE"), 0);
}

static const struct CMUnitTest cases[] = {
    MASTER_DURABLE(look_finds_what_a_handshake_does_and_the_time),
    MASTER_DURABLE(look_finds_what_was_changed_since_the_start),
    MASTER_DURABLE(requests_around_a_look_are_all_answered_in_order),
    MASTER_DURABLE(look_that_a_lost_connection_cut_short_is_not_told),
    MASTER_DURABLE(master_without_config_and_time_is_looked_at_all_the_same),
    MASTER_DURABLE(disclaimed_marker_is_durable_no_more),
    MASTER_DURABLE(marker_that_is_not_the_one_that_was_seen_is_not_disclaimed),
    MASTER_DURABLE(marker_that_is_gone_is_not_made_anew),
};

CASE_MAIN(cases, NULL, NULL)
