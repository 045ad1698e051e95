/* A first replica, or a freed backlog, gives a master another replication id, on a real Redis. Each
 * script acts on, where nothing else happened since the marker was written. */
#include "tests/integration/storage/redis/lua/acting.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <string.h>

enum {
    PATIENCE_MS = 10000,
    ID_LEN = 40,
};

static struct redis_fleet *replica;

static int stop(void **state)
{
    redis_fleet_free(replica);
    replica = NULL;
    return script_stop(state);
}

static bool has_lineage_of_marker(void *unused)
{
    (void)unused;
    redisReply *marked = script_reply("HGET pawl:fleet lineage");
    const bool same = strcmp(marked->str, script_lineage()) == 0;
    freeReplyObject(marked);
    return same;
}

static bool has_another(void *unused)
{
    return !has_lineage_of_marker(unused);
}

static void attach(void)
{
    replica = redis_fleet_new(1, REDIS_VOLATILE);
    freeReplyObject(redis_fleet_command(replica, 0, "REPLICAOF 127.0.0.1 %u",
                                        (unsigned)script_fleet->master[0].port));
    assert_true(wait_until(has_another, NULL, PATIENCE_MS));
}

/* As pawld admits a master, and notes what was counted. */
static void mark(const char *durable)
{
    redisReply *server = script_reply("INFO server");
    const char *run = strstr(server->str, "run_id:");
    assert_non_null(run);
    script_mark_active("1", durable);
    script_redis("HSET pawl:fleet run %.*s", ID_LEN, run + strlen("run_id:"));
    freeReplyObject(server);
    assert_int_equal(acting_settle(), 1);
}

static void expect_noted(void)
{
    acting_expect_all();
    assert_true(has_another(NULL));
    assert_int_equal(acting_settle(), 1);
    assert_true(has_lineage_of_marker(NULL));
    script_assert_field("answers", acting_answers(1));
    acting_expect_all();
}

static void all_act_once_a_first_replica_came(void **state)
{
    mark("no");
    attach();
    expect_noted();
}

static void all_act_once_a_durable_master_has_a_first_replica(void **state)
{
    mark("yes");
    attach();
    expect_noted();
}

static void all_act_once_the_backlog_was_freed(void **state)
{
    mark("no");
    attach();
    assert_int_equal(acting_settle(), 1);
    script_redis("CONFIG SET repl-backlog-ttl 1");
    redis_fleet_kill(replica, 0);
    assert_true(wait_until(has_another, NULL, PATIENCE_MS));
    expect_noted();
}

/* Two other ids, and no server noted the first. */
static void all_act_once_a_replica_came_and_went(void **state)
{
    mark("no");
    attach();
    char lineage[FENCE_LINEAGE_MAX + 1];
    snprintf(lineage, sizeof(lineage), "%s", script_lineage());
    script_redis("CONFIG SET repl-backlog-ttl 1");
    redis_fleet_kill(replica, 0);
    for (uint64_t end_ms = wait_now_ms() + PATIENCE_MS; strcmp(lineage, script_lineage()) == 0;) {
        assert_true(wait_now_ms() < end_ms);
        wait_ms(20);
    }
    expect_noted();
}

/* A replica that came while a master rejoins does not have that begin again. */
static void master_that_is_taken_back_is_settled_with_its_new_id(void **state)
{
    mark("no");
    script_redis("HSET pawl:fleet state joining");
    attach();
    assert_int_equal(acting_settle(), 1);
    assert_true(has_lineage_of_marker(NULL));
}

/* ---- what looks alike ------------------------------------------------------------------------ */

static bool is_forgotten_role(void *unused)
{
    (void)unused;
    redisReply *info = script_reply("INFO replication");
    const bool forgotten = strstr(info->str, "second_repl_offset:-1") != NULL;
    freeReplyObject(info);
    return forgotten;
}

static void demote_and_promote(void)
{
    script_redis("REPLICAOF 127.0.0.1 1");
    script_redis("REPLICAOF NO ONE");
}

/* The first replica has Redis forget that it was promoted: only the calls are left. */
static void demote_promote_and_attach(void)
{
    demote_and_promote();
    attach();
    assert_true(wait_until(is_forgotten_role, NULL, PATIENCE_MS));
}

static void nothing_acts_once_it_was_promoted_and_a_replica_came(void **state)
{
    mark("no");
    demote_promote_and_attach();
    acting_expect_none();
    assert_int_equal(acting_settle(), 0);
}

/* A server that counts the calls under other names. */
static void nothing_acts_once_it_was_promoted_by_calls_that_are_not_counted(void **state)
{
    mark("no");
    demote_and_promote();
    script_redis("HSET pawl:fleet sets 0::2");
    acting_expect_none();
}

static void nothing_acts_once_a_reset_hid_that_it_was_promoted(void **state)
{
    script_redis("CONFIG RESETSTAT");
    mark("no");
    demote_promote_and_attach();
    script_redis("CONFIG RESETSTAT");
    acting_expect_none();
}

/* Until the answers are noted, nothing tells for sure that there was no reset. */
static void nothing_acts_with_another_id_before_the_answers_are_noted(void **state)
{
    mark("no");
    script_redis("HSET pawl:fleet answers %s", "1");
    attach();
    acting_expect_none();
}

static void nothing_acts_once_a_key_was_evicted_before_a_replica_came(void **state)
{
    mark("no");
    script_redis("SET somebody-elses x PX 60000");
    script_redis("CONFIG SET maxmemory-policy volatile-ttl maxmemory 1");
    freeReplyObject(script_reply("SET any x"));
    script_redis("CONFIG SET maxmemory 0 maxmemory-policy noeviction");
    assert_null(strstr(script_lineage(), ":0"));
    attach();
    acting_expect_none();
}

/* A copy that was promoted in a process whose roles no command changed. */
static void nothing_acts_in_another_process_with_the_same_counts(void **state)
{
    mark("no");
    script_redis("HSET pawl:fleet run " SCRIPT_RUN);
    attach();
    acting_expect_none();
}

#define REPLICA_CASE(name)    cmocka_unit_test_setup_teardown(name, script_start, stop)
#define REPLICA_DURABLE(name) cmocka_unit_test_setup_teardown(name, script_start_durable, stop)

static const struct CMUnitTest cases[] = {
    REPLICA_CASE(all_act_once_a_first_replica_came),
    REPLICA_DURABLE(all_act_once_a_durable_master_has_a_first_replica),
    REPLICA_CASE(all_act_once_the_backlog_was_freed),
    REPLICA_CASE(all_act_once_a_replica_came_and_went),
    REPLICA_CASE(master_that_is_taken_back_is_settled_with_its_new_id),
    REPLICA_CASE(nothing_acts_once_it_was_promoted_and_a_replica_came),
    REPLICA_CASE(nothing_acts_once_it_was_promoted_by_calls_that_are_not_counted),
    REPLICA_CASE(nothing_acts_once_a_reset_hid_that_it_was_promoted),
    REPLICA_CASE(nothing_acts_with_another_id_before_the_answers_are_noted),
    REPLICA_CASE(nothing_acts_once_a_key_was_evicted_before_a_replica_came),
    REPLICA_CASE(nothing_acts_in_another_process_with_the_same_counts),
};

CASE_MAIN(cases, NULL, NULL)
