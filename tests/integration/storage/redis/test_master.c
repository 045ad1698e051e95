/* The life of a connection to a real Redis: handshake, loss, return. */
#include "storage/redis/probe.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <stdlib.h>
#include <string.h>

static void handshake_of_a_durable_master_says_so(void **state)
{
    const struct master_fixture *fixture = *state;
    assert_true(fixture->facts.durable);
    assert_true(fixture->facts.marked);
    assert_true(fixture->facts.marked_durable);
    assert_true(fixture->facts.marked_active);
    assert_string_equal(fixture->facts.persistence, "always");
    assert_string_equal(fixture->facts.server_id, fixture->facts.marked_server_id);
    assert_int_equal(fixture->facts.member, 1);
    assert_int_equal(fixture->facts.ttl_max_ms, 300000);
    assert_true(fixture->facts.view.incarnation[0] > 0);
    assert_null(fixture->facts.unfit);
    assert_false(fixture->facts.replica);
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
    assert_string_not_equal(storage_master_detail(fixture->master), "");
}

static void master_that_returns_with_its_data_is_met_again_and_restamped(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->downs, 1);
    redis_fleet_restart(fixture->fleet, 0, true);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_true(fixture->facts.marked);
    assert_string_not_equal(fixture->facts.server_id, fixture->facts.marked_server_id);

    assert_string_not_equal(fixture->facts.lineage, fixture->facts.marked_lineage);
    assert_true(fixture->facts.intact);

    /* A rejoin that broke off meant it to be another incarnation. */
    struct fence_facts seen = fixture->facts;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "HSET pawl:fleet next 1"));
    storage_master_restamp(fixture->master, &seen);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 3);
    assert_string_equal(fixture->facts.server_id, fixture->facts.marked_server_id);
    assert_string_equal(fixture->facts.lineage, fixture->facts.marked_lineage);
    assert_true(fixture->facts.view.incarnation[0] == seen.view.incarnation[0]);
    assert_true(fixture->facts.next == 0);
    fixture->generation++;
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
}

/* It is paused, so neither is answered in between. */
static void master_has_the_next_call_while_it_works_on_one(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    for (unsigned i = 0; i < 2; i++) {
        master_fixture_submit(fixture, &master_fixture_take);
        assert_true(storage_master_could_send(fixture->master));
        master_fixture_flush(fixture);
        assert_false(storage_master_could_send(fixture->master));
    }
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->replies, 2);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_NUMBER);
}

static void restamp_of_a_marker_that_changed_leaves_it_alone(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_facts other = fixture->facts;
    other.marked_server_id[0] ^= 1; /* some other run's */
    storage_master_restamp(fixture->master, &other);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_string_equal(fixture->facts.marked_server_id, fixture->facts.server_id);
}

static void reset_reports_what_is_outstanding_lost_and_no_down(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    storage_master_reset(fixture->master);
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
    storage_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->downs, 1);
    assert_int_equal(fixture->reason, FENCE_REASON_SILENT);
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
}

/* Nothing but what is asked meets what changes now: a probe is due in half a second. */
static void await_no_probe(struct master_fixture *fixture)
{
    master_fixture_await(fixture, &fixture->probes, fixture->probes + 1);
}

/* While @refusal stands no handshake ends well, and @words are in the detail. */
static void expect_unwilling(struct master_fixture *fixture, const char *refusal,
                             const char *permission, const char *words)
{
    const unsigned met = fixture->facts_seen;
    fixture->downs = 0;
    await_no_probe(fixture);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, refusal));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    master_fixture_await(fixture, &fixture->downs,
                         3); /* one by the reply; by handshakes after it */
    assert_int_equal(fixture->reason, FENCE_REASON_UNWILLING);
    assert_non_null(strstr(storage_master_detail(fixture->master), words));
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
                     "script");
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
    storage_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->facts_seen, 2); /* nor does it keep the master out */
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CONFIG SET maxmemory 0"));
    assert_int_equal(master_fixture_ask(fixture, &other)->kind, FENCE_REPLY_NUMBER);
}

/* The handshake's write goes through here, so does a release, and so does a lock that is free: none
 * of them may end the backoff. */
static void a_master_that_refuses_some_calls_is_asked_less_and_less_often(void **state)
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
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "ACL SETUSER default -pttl"));
    const uint64_t began_ms = wait_now_ms();
    for (unsigned round = 1; round <= ROUNDS; round++) {
        assert_int_equal(master_fixture_ask(fixture, &held)->kind, FENCE_REPLY_REFUSED);
        assert_int_equal(fixture->reason, FENCE_REASON_UNWILLING);
        master_fixture_await(fixture, &fixture->facts_seen, 1 + round);
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind,
                         FENCE_REPLY_NUMBER);
        assert_int_equal(master_fixture_ask(fixture, &release)->kind, FENCE_REPLY_YES);
    }
    assert_true(wait_now_ms() - began_ms >= LEAST_MS);
}

/* A reply may be late by an interval, as after a pause of this process. */
static void a_master_that_falls_silent_is_noticed_though_nobody_asks(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    redis_fleet_pause(fixture->fleet, 0);
    for (int patience = 0; patience < STORAGE_PROBES_MISSED_MAX + 2 && fixture->downs == 0;
         patience++)
        master_fixture_run(fixture, STORAGE_PROBE_MS);
    assert_true(fixture->downs >= 1);
    assert_int_equal(fixture->reason, FENCE_REASON_SILENT);
    redis_fleet_resume(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
}

/* Calls of CONFIG GET, refused ones too. */
static unsigned long config_gets(struct master_fixture *fixture)
{
    redisReply *reply = redis_fleet_command(fixture->fleet, 0, "INFO commandstats");
    const char *stats = strstr(reply->str, "cmdstat_config|get:calls=");
    unsigned long calls = 0;
    unsigned long rejected = 0;
    if (stats) {
        calls = strtoul(strchr(stats, '=') + 1, NULL, 10);
        rejected = strtoul(strstr(stats, "rejected_calls=") + strlen("rejected_calls="), NULL, 10);
    }
    freeReplyObject(reply);
    return calls + rejected;
}

static unsigned long config_gets_of(struct master_fixture *fixture, unsigned calls)
{
    unsigned long before = config_gets(fixture);
    for (unsigned i = 0; i < calls; i++)
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind,
                         FENCE_REPLY_NUMBER);
    return config_gets(fixture) - before;
}

static void each_call_to_a_durable_master_is_followed_by_a_question(void **state)
{
    assert_in_range(config_gets_of(*state, 100), 100, 105); /* and looks */
}

static void no_call_to_another_master_is(void **state)
{
    assert_in_range(config_gets_of(*state, 100), 0, 5);
}

static void where_config_is_refused_nothing_is_durable_and_nothing_is_asked(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "ACL SETUSER default -config"));
    master_fixture_make_anew(fixture);
    storage_master_reset(fixture->master);
    unsigned met = fixture->facts_seen;
    master_fixture_await(fixture, &fixture->facts_seen, met + 1);
    assert_false(fixture->facts.durable);
    assert_false(fixture->facts.marked_durable);
    assert_string_equal(fixture->facts.persistence, "unknown");
    assert_in_range(config_gets_of(fixture, 100), 0, 5);
}

/* A requested act may be done; but no caller may count on that. */
static void votes_of_a_master_that_became_weaker_do_not_count(void **state)
{
    static const char *const ways[] = {
        "CONFIG SET appendfsync everysec",
        "CONFIG SET no-appendfsync-on-rewrite yes",
        "ACL SETUSER default -config",
    };
    static const char *const back[] = {
        "CONFIG SET appendfsync always",
        "CONFIG SET no-appendfsync-on-rewrite no",
        "ACL SETUSER default +config",
    };
    struct master_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        fixture->probes = 0;
        master_fixture_await(fixture, &fixture->probes, 1); /* the next one is far */
        fixture->downs = 0;
        unsigned met = fixture->facts_seen;
        freeReplyObject(redis_fleet_command(fixture->fleet, 0, ways[i]));
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_LOST);
        assert_int_equal(fixture->downs, 1);
        assert_int_equal(fixture->reason, FENCE_REASON_CHANGED);
        assert_string_equal(storage_master_detail(fixture->master), "Its persistence changed.");
        master_fixture_await(fixture, &fixture->facts_seen, met + 1);
        assert_false(fixture->facts.durable);
        assert_true(fixture->facts.marked_durable);

        freeReplyObject(redis_fleet_command(fixture->fleet, 0, back[i]));
        storage_master_reset(fixture->master);
        master_fixture_await(fixture, &fixture->facts_seen, met + 2);
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind,
                         FENCE_REPLY_NUMBER);
    }
}

/* The script itself sees this. */
static void master_that_was_a_replica_is_told_changed_with_its_words(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "REPLICAOF 127.0.0.1 1"));
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "REPLICAOF NO ONE"));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    assert_int_equal(fixture->reason, FENCE_REASON_CHANGED);
    const char *words = "It was a replica, restarted, or evicted keys: ";
    assert_int_equal(strncmp(storage_master_detail(fixture->master), words, strlen(words)), 0);
}

/* Another server acts on its new settings: what is asked behind calls depends on them. */
static void master_that_was_admitted_anew_is_met_again(void **state)
{
    struct master_fixture *fixture = *state;
    master_fixture_await(fixture, &fixture->probes, 1);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "HSET pawl:fleet durable no view %lld",
                                        (long long)fixture->facts.view.incarnation[0] + 1));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_STALE);
    assert_int_equal(fixture->reason, FENCE_REASON_CHANGED);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_false(fixture->facts.marked_durable);
}

static void replies_before_a_question_that_is_not_answered_are_lost(void **state)
{
    struct master_fixture *fixture = *state;
    redis_fleet_pause(fixture->fleet, 0);
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_submit(fixture, &master_fixture_take);
    master_fixture_flush(fixture);
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &fixture->replies, 2);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_LOST);
    assert_int_equal(fixture->reply[1].kind, FENCE_REPLY_LOST);
}

static void a_script_that_was_flushed_is_loaded_again(void **state)
{
    struct master_fixture *fixture = *state;
    for (unsigned i = 0; i < 2; i++) {
        await_no_probe(fixture);
        freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SCRIPT FLUSH"));
        assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind,
                         FENCE_REPLY_NUMBER);
    }
    assert_int_equal(fixture->downs, 0);
}

/* A call to a durable master is sent again with the question behind it. */
static void a_script_is_loaded_again_before_a_question_about_settings(void **state)
{
    a_script_that_was_flushed_is_loaded_again(state);
}

static void a_call_without_its_script_is_not_overtaken(void **state)
{
    struct master_fixture *fixture = *state;
    await_no_probe(fixture);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SCRIPT FLUSH"));
    for (unsigned i = 0; i < 2; i++) {
        master_fixture_submit(fixture, &master_fixture_take);
        master_fixture_flush(fixture);
    }
    master_fixture_await(fixture, &fixture->replies, 2);
    assert_int_equal(fixture->reply[0].kind, FENCE_REPLY_REFUSED);
    assert_int_equal(fixture->reply[1].kind, FENCE_REPLY_LOST);
    master_fixture_await(fixture, &fixture->facts_seen, 2);
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
}

static void a_password_set_meanwhile_is_told_in_the_detail(void **state)
{
    struct master_fixture *fixture = *state;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "CONFIG SET requirepass secret"));
    storage_master_reset(fixture->master);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->downs, 1);
    assert_int_equal(fixture->reason, FENCE_REASON_ERROR);
    assert_non_null(strstr(storage_master_detail(fixture->master), "NOAUTH"));
}

static const struct CMUnitTest cases[] = {
    MASTER_DURABLE(handshake_of_a_durable_master_says_so),
    MASTER_VOLATILE(handshake_of_a_volatile_master_says_so),
    MASTER_VOLATILE(kill_tells_down_once_and_each_request_lost),
    MASTER_VOLATILE(master_has_the_next_call_while_it_works_on_one),
    MASTER_DURABLE(master_that_returns_with_its_data_is_met_again_and_restamped),
    MASTER_VOLATILE(restamp_of_a_marker_that_changed_leaves_it_alone),
    MASTER_VOLATILE(reset_reports_what_is_outstanding_lost_and_no_down),
    MASTER_VOLATILE(handshake_that_is_not_answered_is_called_silent),
    MASTER_VOLATILE(a_master_that_takes_no_writes_is_unwilling_until_it_does),
    MASTER_VOLATILE(a_lock_is_released_though_memory_is_out),
    MASTER_VOLATILE(a_master_that_refuses_some_calls_is_asked_less_and_less_often),
    MASTER_VOLATILE(a_master_that_falls_silent_is_noticed_though_nobody_asks),
    MASTER_DURABLE(each_call_to_a_durable_master_is_followed_by_a_question),
    MASTER_VOLATILE(no_call_to_another_master_is),
    MASTER_DURABLE(where_config_is_refused_nothing_is_durable_and_nothing_is_asked),
    MASTER_DURABLE(votes_of_a_master_that_became_weaker_do_not_count),
    MASTER_VOLATILE(master_that_was_a_replica_is_told_changed_with_its_words),
    MASTER_DURABLE(master_that_was_admitted_anew_is_met_again),
    MASTER_DURABLE(replies_before_a_question_that_is_not_answered_are_lost),
    MASTER_VOLATILE(a_script_that_was_flushed_is_loaded_again),
    MASTER_DURABLE(a_script_is_loaded_again_before_a_question_about_settings),
    MASTER_VOLATILE(a_call_without_its_script_is_not_overtaken),
    MASTER_VOLATILE(a_password_set_meanwhile_is_told_in_the_detail),
};

CASE_MAIN(cases, NULL, NULL)
