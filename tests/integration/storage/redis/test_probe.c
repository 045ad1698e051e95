/* Looks at a real Redis on the connection that stands, and what they notice. */
#include "storage/redis/probe.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    REQUESTS = 600, /* more than two script calls carry */
};

static void command(struct master_fixture *fixture, const char *text)
{
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, text));
}

/* A new connection is probed as soon as it stands. */
static void probe_again(struct master_fixture *fixture)
{
    unsigned probes = fixture->probes;
    command(fixture, "CLIENT KILL TYPE normal");
    master_fixture_await(fixture, &fixture->probes, probes + 1);
}

static void probe_finds_what_a_handshake_does_and_the_time(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    const struct fence_facts *seen = &fixture->seen;
    assert_string_equal(seen->server_id, fixture->facts.server_id);
    assert_string_equal(seen->fleet_id, fixture->facts.fleet_id);
    assert_string_equal(seen->host, "local");
    assert_string_equal(seen->persistence, "always");
    assert_true(seen->durable);
    assert_true(seen->marked_durable);
    assert_null(seen->unfit);
    assert_int_equal(seen->replicas, 0);
    assert_in_range(seen->clock.theirs_us / 1000000, 1500000000, 100000000000);
    assert_in_range(seen->clock.after_us - seen->clock.before_us, 1, 1000000);
    assert_int_equal(fixture->facts.clock.theirs_us, 0);
}

static void probe_finds_what_was_changed_since_the_start(void **state)
{
    struct master_fixture *fixture = *state;
    command(fixture, "CONFIG SET appendfsync everysec maxmemory 1gb maxmemory-policy volatile-lru");
    probe_again(fixture);
    assert_false(fixture->seen.durable);
    assert_string_equal(fixture->seen.persistence, "everysec");
    assert_string_equal(fixture->seen.unfit->name, "evicts");
    assert_false(fixture->seen.full);
    assert_true(fixture->seen.marked_durable);
    command(fixture, "CONFIG SET maxmemory 1mb maxmemory-policy noeviction"); /* less than empty */
    probe_again(fixture);
    assert_true(fixture->seen.full);
}

static void requests_around_a_probe_are_all_answered_in_order(void **state)
{
    struct master_fixture *fixture = *state;
    assert_int_equal(fixture->probes, 0); /* it is due, and goes out among these */
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
    master_fixture_await(fixture, &fixture->probes, 1);
    assert_int_equal(fixture->downs, 0);
}

static void probe_that_a_lost_connection_cut_short_is_not_told(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    uv_run(&fixture->loop, UV_RUN_NOWAIT); /* the probe becomes due */
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->replies, 1);
    assert_int_equal(fixture->probes, 0);
    redis_fleet_restart(fixture->fleet, 0, true);
    master_fixture_await(fixture, &fixture->probes, 1);
}

static void master_without_config_and_time_is_probed_all_the_same(void **state)
{
    struct master_fixture *fixture = *state;
    command(fixture, "ACL SETUSER default -config -time");
    probe_again(fixture);
    assert_string_equal(fixture->seen.persistence, "unknown");
    assert_false(fixture->seen.durable);
    assert_int_equal(fixture->seen.clock.theirs_us, 0);
}

/* No call asks for locks meanwhile: the next probe tells, and the handshake after it what it is
 * now.
 */
static void expect_change(struct master_fixture *fixture, const char *commands, const char *detail)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", commands);
    master_fixture_await(fixture, &fixture->probes, 1);
    fixture->downs = 0;
    unsigned met = fixture->facts_seen;
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        command(fixture, one);
    master_fixture_await(fixture, &fixture->downs, 1);
    assert_int_equal(fixture->reason, FENCE_REASON_CHANGED);
    assert_string_equal(storage_master_detail(fixture->master), detail);
    master_fixture_await(fixture, &fixture->facts_seen, met + 1);
    fixture->probes = 0;
    master_fixture_await(fixture, &fixture->probes, 1);
}

static void probe_notices_that_the_marker_is_gone(void **state)
{
    expect_change(*state, "DEL pawl:fleet", "Its marker was removed.");
}

static void probe_notices_a_replica_and_its_end(void **state)
{
    struct master_fixture *fixture = *state;
    expect_change(fixture, "REPLICAOF 127.0.0.1 1", "It has become a replica.");
    assert_true(fixture->facts.replica);
    expect_change(fixture, "REPLICAOF NO ONE", "It is no longer a replica.");
    assert_false(fixture->facts.replica);
    assert_false(fixture->facts.intact);
}

static void probe_notices_that_it_was_a_replica_meanwhile(void **state)
{
    struct master_fixture *fixture = *state;
    expect_change(fixture, "REPLICAOF 127.0.0.1 1;REPLICAOF NO ONE",
                  "It was a replica, or evicted keys, or its replication id changed.");
    assert_string_not_equal(fixture->facts.lineage, fixture->facts.marked_lineage);
    assert_string_equal(fixture->facts.server_id, fixture->facts.marked_server_id);
    assert_false(fixture->facts.intact);
}

static void probe_notices_a_policy_that_evicts_and_its_end(void **state)
{
    struct master_fixture *fixture = *state;
    expect_change(fixture, "CONFIG SET maxmemory 1gb maxmemory-policy volatile-lru",
                  "Its maxmemory-policy changed.");
    assert_string_equal(fixture->facts.unfit->name, "evicts");
    expect_change(fixture, "CONFIG SET maxmemory-policy noeviction",
                  "Its maxmemory-policy changed.");
    assert_null(fixture->facts.unfit);
}

static void probe_notices_that_a_durable_master_is_not_and_that_it_is_again(void **state)
{
    struct master_fixture *fixture = *state;
    static const struct {
        const char *weaken;
        const char *mend;
    } rows[] = {
        {"CONFIG SET appendfsync everysec", "CONFIG SET appendfsync always"},
        {"CONFIG SET appendonly no", "CONFIG SET appendonly yes"},
        {"CONFIG SET no-appendfsync-on-rewrite yes", "CONFIG SET no-appendfsync-on-rewrite no"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_change(fixture, rows[i].weaken, "Its persistence changed.");
        assert_false(fixture->facts.durable);
        assert_true(fixture->facts.marked_durable); /* it stays what it is to be */
        expect_change(fixture, rows[i].mend, "Its persistence changed.");
        assert_true(fixture->facts.durable);
    }
}

static void master_that_is_not_marked_durable_may_change_its_persistence(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    command(fixture, "CONFIG SET appendonly yes appendfsync always");
    master_fixture_await(fixture, &fixture->probes, 3);
    assert_true(fixture->seen.durable);
    assert_int_equal(fixture->downs, 0);
}

/* Another server took it back meanwhile, on settings that it has now. */
static void probe_notices_that_the_master_was_admitted_anew(void **state)
{
    struct master_fixture *fixture = *state;
    expect_change(fixture, "HSET pawl:fleet durable no", "Its marker was rewritten.");
    assert_false(fixture->facts.marked_durable);
}

/* It would restart each second, and would never end where it takes longer. */
static void probe_leaves_a_master_alone_that_this_server_takes_back(void **state)
{
    struct master_fixture *fixture = *state;
    expect_change(fixture, "DEL pawl:fleet", "Its marker was removed.");
    const struct fence_view view = {{3}};
    const struct fence_rejoin_request mark = {
        .step = FENCE_REJOIN_MARK,
        .incarnation = 7,
        .fleet_id = "0123456789abcdef0123456789abcdef01234567",
        .ttl_max_ms = 60000,
        .seen = &fixture->facts,
        .view = &view,
    };
    storage_master_rejoin(fixture->master, &mark);
    fixture->downs = 0;
    master_fixture_await(fixture, &fixture->probes, fixture->probes + 3);
    assert_true(fixture->seen.marked);
    assert_int_equal(fixture->seen.next, 7);
    assert_int_equal(fixture->downs, 0);
}

static bool is_settled(void *context)
{
    struct master_fixture *fixture = context;
    redisReply *reply = redis_fleet_command(fixture->fleet, 0, "HGET pawl:fleet sets");
    bool settled = reply->str && strcmp(reply->str, "1::0") == 0;
    freeReplyObject(reply);
    return settled;
}

static void probe_notes_that_the_file_is_complete_after_config_set(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    command(fixture, "CONFIG SET hz 11");
    assert_false(is_settled(fixture));
    master_fixture_await(fixture, &fixture->probes, 2);
    master_fixture_run(fixture, 100);
    assert_true(is_settled(fixture));
    assert_int_equal(fixture->downs, 0);
}

static void probe_has_imported_locks_swept(void **state)
{
    struct master_fixture *fixture = *state;
    command(fixture, "SET pawl:lock:a @0000000000001@005@aaaaaaaaaaaaaaaaaaaaaa.1:7:2::");
    command(fixture, "HSET pawl:fleet unswept 0");
    master_fixture_await(fixture, &fixture->probes, 2);
    master_fixture_run(fixture, 200);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "EXISTS pawl:lock:a"), 0);
    assert_int_equal(redis_fleet_integer(fixture->fleet, 0, "HEXISTS pawl:fleet unswept"), 0);
    assert_int_equal(fixture->downs, 0);
}

static const struct CMUnitTest cases[] = {
    MASTER_DURABLE(probe_finds_what_a_handshake_does_and_the_time),
    MASTER_DURABLE(probe_finds_what_was_changed_since_the_start),
    MASTER_DURABLE(requests_around_a_probe_are_all_answered_in_order),
    MASTER_DURABLE(probe_that_a_lost_connection_cut_short_is_not_told),
    MASTER_DURABLE(master_without_config_and_time_is_probed_all_the_same),
    MASTER_VOLATILE(probe_notices_that_the_marker_is_gone),
    MASTER_VOLATILE(probe_notices_a_replica_and_its_end),
    MASTER_VOLATILE(probe_notices_that_it_was_a_replica_meanwhile),
    MASTER_VOLATILE(probe_notices_a_policy_that_evicts_and_its_end),
    MASTER_DURABLE(probe_notices_that_a_durable_master_is_not_and_that_it_is_again),
    MASTER_VOLATILE(master_that_is_not_marked_durable_may_change_its_persistence),
    MASTER_DURABLE(probe_notices_that_the_master_was_admitted_anew),
    MASTER_VOLATILE(probe_leaves_a_master_alone_that_this_server_takes_back),
    MASTER_VOLATILE(probe_has_imported_locks_swept),
    MASTER_DURABLE(probe_notes_that_the_file_is_complete_after_config_set),
};

CASE_MAIN(cases, NULL, NULL)
