/* Replication between real masters. */
#include "tests/chaos/master_replica.h"
#include "tests/chaos/redis_call.h"
#include "tests/chaos/test_masters.h"
#include "tests/lib/case.h"

#include <stdlib.h>
#include <string.h>

static bool follows(void *arg)
{
    return chaos_master_follows(arg);
}

/* Returns a copy that stands by itself. */
static struct chaos_master *copy(void)
{
    struct chaos_master *other = masters_add();
    chaos_master_follow(other, master.port);
    masters_wait(follows, other);
    chaos_master_lead(other);
    return other;
}

static void a_copy_that_was_detached_stays_as_it_is(void **state)
{
    masters_set(&master, "k", "old");
    struct chaos_master *other = copy();
    masters_set(&master, "k", "new");
    assert_false(chaos_master_follows(other));
    masters_expect(other, "k", "old");
}

/* On a connection that stands. */
static void expect_on(redisContext *redis, const char *value)
{
    redisReply *reply = redisCommand(redis, "GET k");
    assert_non_null(reply);
    assert_string_equal(reply->str, value);
    freeReplyObject(reply);
}

static void demoted_to_a_copy_and_back_it_has_the_old_data_in_the_same_process(void **state)
{
    char *run = redis_info(master.port, "server", "run_id");
    redisContext *redis = redisConnect("127.0.0.1", master.port);
    masters_set(&master, "k", "old");
    struct chaos_master *other = copy();
    masters_set(&master, "k", "new");
    expect_on(redis, "new");
    chaos_master_follow(&master, other->port);
    masters_wait(follows, &master);
    assert_false(chaos_master_leads(&master));
    chaos_master_lead(&master);
    expect_on(redis, "old");
    assert_true(redis_info_is(master.port, "server", "run_id", run));
    assert_true(chaos_master_leads(&master));
    masters_set(&master, "k", "newer");
    redisFree(redis);
    free(run);
}

static void a_dump_changes_the_replication_id_and_nothing_else(void **state)
{
    char *before = chaos_master_replication_id(&master);
    masters_set(&master, "k", "v");
    chaos_master_dump(&master);
    char *after = chaos_master_replication_id(&master);
    assert_string_not_equal(before, after);
    masters_expect(&master, "k", "v");
    free(before);
    free(after);
}

static const struct CMUnitTest cases[] = {
    MASTERS_CASE(a_copy_that_was_detached_stays_as_it_is),
    MASTERS_CASE(demoted_to_a_copy_and_back_it_has_the_old_data_in_the_same_process),
    MASTERS_CASE(a_dump_changes_the_replication_id_and_nothing_else),
};

CASE_MAIN(cases, NULL, NULL)
