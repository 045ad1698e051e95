/* The life of a connection to a real Redis: handshake, loss, return. */
#include "storage/redis_master_look.h"
#include "tests/integration/master_fixture.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <string.h>

static void handshake_of_a_durable_master_says_so(void **state)
{
    const struct master_fixture *fixture = *state;
    assert_true(fixture->facts.durable);
    assert_true(fixture->facts.marked);
    assert_true(fixture->facts.marked_durable);
    assert_true(fixture->facts.marked_active);
    assert_string_equal(fixture->facts.persistence, "always");
    assert_string_equal(fixture->facts.run_id, fixture->facts.marked_run_id);
    assert_int_equal(fixture->facts.member, 1);
    assert_int_equal(fixture->facts.ttl_max_ms, 300000);
    assert_true(fixture->facts.view.incarnation[0] > 0);
    assert_true(fixture->facts.version >= 70000);
    assert_false(fixture->facts.replica);
    assert_false(fixture->facts.cluster);
}

static void handshake_of_a_volatile_master_says_so(void **state)
{
    const struct master_fixture *fixture = *state;
    assert_false(fixture->facts.durable);
    assert_false(fixture->facts.marked_durable);
    assert_string_equal(fixture->facts.persistence, "none");
}

static void kill_tells_down_once_and_each_request_lost(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    for (unsigned i = 0; i < 3; i++)
        master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    master_fixture_submit(fixture, &master_fixture_take); /* not even sent */
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->replies, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fixture->reply[i].kind, FENCE_REPLY_LOST);
        assert_int_equal(fixture->reply[i].tag, master_fixture_take.tag);
    }
    assert_true(fixture->downs >= 1);
    assert_int_equal(fixture->reason, FENCE_REASON_UNREACHABLE);
    assert_string_not_equal(storage_redis_master_detail(fixture->master), "");
}

static void master_that_returns_with_its_data_is_met_again_and_restamped(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->downs, 1);
    redis_fleet_restart(fixture->fleet, 0, true);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_true(fixture->facts.marked);
    assert_string_not_equal(fixture->facts.run_id, fixture->facts.marked_run_id);

    struct fence_facts seen = fixture->facts;
    /* A rejoin that broke off meant it to be this incarnation; others know it by that now. */
    const int64_t known = seen.view.incarnation[0] + 1;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "HSET pawl:fleet next 1"));
    storage_redis_master_restamp(fixture->master, &seen, known);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 3);
    assert_string_equal(fixture->facts.run_id, fixture->facts.marked_run_id);
    assert_true(fixture->facts.view.incarnation[0] == known);
    assert_true(fixture->facts.next == 0);
}

static void restamp_of_a_marker_that_changed_leaves_it_alone(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_facts other = fixture->facts;
    other.marked_run_id[0] ^= 1; /* some other run's */
    storage_redis_master_restamp(fixture->master, &other, 0);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_string_equal(fixture->facts.marked_run_id, fixture->facts.run_id);
}

static void reset_reports_what_is_outstanding_lost_and_no_down(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    storage_redis_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 1);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_LOST);
    assert_int_equal(fixture->downs, 0);
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_int_equal(fixture->replies, 1); /* an answer of the old connection goes nowhere */
}

static void handshake_that_is_not_answered_is_called_silent(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    storage_redis_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->downs, 1);
    assert_int_equal(fixture->reason, FENCE_REASON_SILENT);
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
}

/* While @refusal stands no handshake ends well, and @words are in the detail. */
static void expect_unwilling(struct master_fixture *fixture, const char *refusal,
                             const char *permission, const char *words)
{
    const unsigned met = fixture->facts_seen;
    fixture->downs = 0;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, refusal));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    master_fixture_await(fixture, &fixture->downs, 3); /* by the reply; by handshakes after it */
    assert_int_equal(fixture->reason, FENCE_REASON_UNWILLING);
    assert_non_null(strstr(storage_redis_master_detail(fixture->master), words));
    assert_int_equal(fixture->facts_seen, met);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, permission));
    master_fixture_await(fixture, &fixture->facts_seen, met + 1);
}

static void a_master_that_takes_no_writes_is_unwilling_until_it_does(void **state)
{
    struct master_fixture *fixture = *state;
    expect_unwilling(fixture, "CONFIG SET min-replicas-to-write 1",
                     "CONFIG SET min-replicas-to-write 0", "NOREPLICAS");
    expect_unwilling(fixture, "ACL SETUSER default -@write", "ACL SETUSER default +@write",
                     "no permissions");
}

/* It goes through, where a new lock does not: it is what makes room. */
static void a_lock_is_released_though_memory_is_out(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_request other = master_fixture_take;
    other.resource = "other";
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CONFIG SET maxmemory 1"));
    assert_int_equal(master_fixture_ask(fixture, &other)->kind, FENCE_REPLY_REFUSED);
    struct fence_request release = master_fixture_take;
    release.kind = FENCE_REQUEST_RELEASE;
    assert_int_equal(master_fixture_ask(fixture, &release)->kind, FENCE_REPLY_YES);
    storage_redis_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 2); /* nor does it keep the master out */
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CONFIG SET maxmemory 0"));
    assert_int_equal(master_fixture_ask(fixture, &other)->kind, FENCE_REPLY_NUMBER);
}

/* The handshake's empty write goes through here, so does a release, and so does the try for a lock
 * that is held: none of them may end the backoff. */
static void a_master_that_refuses_locks_alone_is_asked_less_and_less_often(void **state)
{
    enum {
        ROUNDS = 10,
        LEAST_MS = 500
    }; /* half of 5, 10, ... 160, and 4 times 250 ms */
    struct master_fixture *fixture = *state;
    struct fence_request release = master_fixture_take;
    release.kind = FENCE_REQUEST_RELEASE;
    struct fence_request held = master_fixture_take;
    held.resource = "held";
    assert_int_equal(master_fixture_ask(fixture, &held)->kind, FENCE_REPLY_NUMBER);
    held.lock_id = "bbbbbbbbbbbbbbbbbbbbbbbbbbb";
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "ACL SETUSER default -hincrby"));
    const uint64_t began_ms = wait_now_ms();
    for (unsigned round = 1; round <= ROUNDS; round++) {
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind,
                         FENCE_REPLY_REFUSED);
        assert_int_equal(fixture->reason, FENCE_REASON_UNWILLING);
        master_fixture_await(fixture, &fixture->facts_seen, 1 + round);
        assert_int_equal(master_fixture_ask(fixture, &release)->kind, FENCE_REPLY_NO);
        assert_int_equal(master_fixture_ask(fixture, &held)->kind, FENCE_REPLY_HELD);
    }
    assert_true(wait_now_ms() - began_ms >= LEAST_MS);
}

/* A reply may be late by an interval, as after a pause of this process. */
static void a_master_that_falls_silent_is_noticed_though_nobody_asks(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->looks, 1);
    redis_fleet_pause(fixture->fleet, 0);
    for (int patience = 0; patience < 4 && fixture->downs == 0; patience++)
        master_fixture_run(fixture, STORAGE_LOOK_INTERVAL_MS);
    assert_true(fixture->downs >= 1);
    assert_int_equal(fixture->reason, FENCE_REASON_SILENT);
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
}

static void a_script_that_was_flushed_is_loaded_again(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SCRIPT FLUSH"));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
}

static void a_password_set_meanwhile_is_told_in_the_detail(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CONFIG SET requirepass secret"));
    storage_redis_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->downs, 1);
    assert_int_equal(fixture->reason, FENCE_REASON_ERROR);
    assert_non_null(strstr(storage_redis_master_detail(fixture->master), "NOAUTH"));
}

static const struct CMUnitTest cases[] = {
    MASTER_DURABLE(handshake_of_a_durable_master_says_so),
    MASTER_VOLATILE(handshake_of_a_volatile_master_says_so),
    MASTER_VOLATILE(kill_tells_down_once_and_each_request_lost),
    MASTER_DURABLE(master_that_returns_with_its_data_is_met_again_and_restamped),
    MASTER_VOLATILE(restamp_of_a_marker_that_changed_leaves_it_alone),
    MASTER_VOLATILE(reset_reports_what_is_outstanding_lost_and_no_down),
    MASTER_VOLATILE(handshake_that_is_not_answered_is_called_silent),
    MASTER_VOLATILE(a_master_that_takes_no_writes_is_unwilling_until_it_does),
    MASTER_VOLATILE(a_lock_is_released_though_memory_is_out),
    MASTER_VOLATILE(a_master_that_refuses_locks_alone_is_asked_less_and_less_often),
    MASTER_VOLATILE(a_master_that_falls_silent_is_noticed_though_nobody_asks),
    MASTER_VOLATILE(a_script_that_was_flushed_is_loaded_again),
    MASTER_VOLATILE(a_password_set_meanwhile_is_told_in_the_detail),
};

CASE_MAIN(cases, NULL, NULL)
