/* The accidents of a master befall a real one. */
#include "tests/chaos/master.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

enum {
    TIMEOUT_S = 10,
    HOUR_S = 3600,
};

static char *dir;
static struct chaos_master master;

static int begin(void **state)
{
    dir = tempdir_new();
    chaos_master_init(&master, dir, "redis", *(const enum redis_persistence *)*state,
                      CHAOS_CLOCK_SHIM);
    chaos_master_wait_up(&master);
    return 0;
}

static int end(void **state)
{
    (void)state;
    chaos_master_fini(&master);
    tempdir_remove(dir);
    process_kill_all();
    return 0;
}

static redisReply *ask(const char *command)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", master.port, timeout);
    assert_true(redis && !redis->err && redisSetTimeout(redis, timeout) == REDIS_OK);
    redisReply *reply = redisCommand(redis, command);
    assert_non_null(reply);
    redisFree(redis);
    return reply;
}

static void expect_stored(const char *key, const char *value)
{
    char command[64];
    snprintf(command, sizeof(command), "GET %s", key);
    redisReply *reply = ask(command);
    if (value)
        assert_string_equal(reply->str, value);
    else
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
}

static long long shown_s(void)
{
    redisReply *reply = ask("TIME");
    const long long seconds = strtoll(reply->element[0]->str, NULL, 10);
    freeReplyObject(reply);
    return seconds;
}

static void restart(void)
{
    chaos_master_start(&master, CHAOS_CLOCK_SHIM);
    chaos_master_wait_up(&master);
}

static void its_clock_jumps_and_comes_back(void **state)
{
    (void)state;
    const long long before_s = shown_s();
    assert_in_range(before_s - time(NULL) + HOUR_S, HOUR_S - 60, HOUR_S + 60);
    chaos_master_set_clock(&master, (int64_t)-HOUR_S * 1000000, 0);
    assert_in_range(before_s - shown_s(), HOUR_S - 60, HOUR_S);
    chaos_master_set_clock(&master, 0, 0);
    assert_true(shown_s() >= before_s);
}

static void a_key_expires_by_its_clock(void **state)
{
    (void)state;
    freeReplyObject(ask("SET k v EX 1000"));
    expect_stored("k", "v");
    chaos_master_set_clock(&master, (int64_t)HOUR_S * 1000000, 0);
    expect_stored("k", NULL);
}

static void its_clock_runs_at_another_rate(void **state)
{
    (void)state;
    const long long before_s = shown_s();
    chaos_master_set_clock(&master, 0, 1000000000); /* a thousand seconds in each */
    wait_ms(100);
    assert_true(shown_s() - before_s >= 50);
}

static void killed_it_keeps_what_was_on_its_disk(void **state)
{
    (void)state;
    freeReplyObject(ask("SET k v"));
    chaos_master_kill(&master);
    restart();
    expect_stored("k", "v");
}

static void emptied_it_knows_nothing(void **state)
{
    (void)state;
    freeReplyObject(ask("SET k v"));
    chaos_master_kill(&master);
    chaos_master_empty(&master);
    restart();
    expect_stored("k", NULL);
}

static void without_its_tail_it_knows_what_came_before(void **state)
{
    (void)state;
    freeReplyObject(ask("SET k1 v"));
    freeReplyObject(ask("SET k2 v"));
    chaos_master_kill(&master);
    chaos_master_cut_tail(&master, 3);
    restart();
    expect_stored("k1", "v");
    expect_stored("k2", NULL);
}

static void flushed_it_knows_nothing(void **state)
{
    (void)state;
    freeReplyObject(ask("SET k v"));
    assert_true(chaos_master_flush(&master));
    expect_stored("k", NULL);
}

static enum redis_persistence always = REDIS_ALWAYS;

#define CASE(name) cmocka_unit_test_prestate_setup_teardown(name, begin, end, &always)

static const struct CMUnitTest cases[] = {
    CASE(its_clock_jumps_and_comes_back), CASE(a_key_expires_by_its_clock),
    CASE(its_clock_runs_at_another_rate), CASE(killed_it_keeps_what_was_on_its_disk),
    CASE(emptied_it_knows_nothing),       CASE(without_its_tail_it_knows_what_came_before),
    CASE(flushed_it_knows_nothing),
};

CASE_MAIN(cases, NULL, NULL)
