/* The module ends a lock by the monotonic clock: on a Redis whose wall clock leaps, whose locks
 * come from a file, whose keys others change, and which loads or unloads the module. */
#include "storage/redis/lua/lineage_check.lua.h"
#include "storage/redis/lua/sweep.lua.h"
#include "storage/redis/requests_script.h"
#include "tests/integration/storage/redis/module/scene.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_clock.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID    "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TAG   ID ".0000000000000001"
#define OTHER "bbbbbbbbbbbbbbbbbbbbbbbbbbb.0000000000000002"

enum {
    EXPIRY_MS = 250, /* Redis looks for expired keys ten times a second */
    SHORT_MS = 600,
    LONG_MS = 60000,
    SLACK_MS = 5000,
    REMOVED_MS = 2000,
    MANY = 3000,
    GONE = -1, /* the answer of PAWL.LEFT for no lock */
};

static const int64_t year_ms = INT64_C(365) * 86400 * 1000;

static struct redis_clock wall;

/* ---- a server whose wall clock is ours ------------------------------------------------------- */

static void start_again(struct scene *scene, bool keep_data)
{
    redisFree(scene->redis);
    redis_clock_restart(&wall, scene->fleet, 0, keep_data);
    scene_connect(scene);
    scene_admit(scene);
}

static int start_volatile(void **state)
{
    scene_start_volatile(state);
    start_again(*state, false);
    return 0;
}

static int start_always(void **state)
{
    scene_start_always(state);
    start_again(*state, false);
    return 0;
}

static int end(void **state)
{
    redis_clock_fini(&wall);
    return scene_end(state);
}

static redisReply *answered(redisReply *reply, const char *what)
{
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", what, reply ? reply->str : "no answer");
    return reply;
}

static void command(struct scene *scene, const char *text)
{
    freeReplyObject(answered(redisCommand(scene->redis, text), text));
}

static long long number(struct scene *scene, const char *text)
{
    redisReply *reply = answered(redisCommand(scene->redis, text), text);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    const long long integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

static long long left_ms(struct scene *scene)
{
    return number(scene, "PAWL.LEFT " SCENE_KEY);
}

/* Reports whether the first request was answered with a number, as a take or a release is. */
static bool does(struct scene *scene, const char *words)
{
    redisReply *reply = answered(scene_call(scene, words, SCENE_KEY), words);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    const bool done =
        reply->element[0]->type == REDIS_REPLY_INTEGER && reply->element[0]->integer > 0;
    freeReplyObject(reply);
    return done;
}

static void take(struct scene *scene, const char *lease)
{
    char words[128];
    snprintf(words, sizeof(words), "T " TAG " 7 %s -", lease);
    assert_true(does(scene, words));
}

static bool is_free_for_another(void *scene)
{
    return does(scene, "T " OTHER " 7 60000 -");
}

/* The same by the script that carries requests: a letter and what it takes, apart by spaces. */
static redisReply *script_call(struct scene *scene, const char *words)
{
    const char *args[16] = {"EVAL",    NULL,       "2",         "pawl:fleet",
                            SCENE_KEY, "10,20,30", SCENE_FLEET, "2"};
    int n = 8;
    size_t len = 0;
    char text[256];
    char *script = storage_requests_script(&len);
    args[1] = script;
    snprintf(text, sizeof(text), "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        args[n++] = strcmp(word, "-") == 0 ? "" : word;
    redisReply *reply = redisCommandArgv(scene->redis, n, args, NULL);
    free(script);
    assert_non_null(reply);
    return reply;
}

static void sweep(struct scene *scene)
{
    redisReply *reply = redisCommand(scene->redis, "EVAL %s%s 1 pawl:fleet 100",
                                     storage_redis_lua_lineage_check, storage_redis_lua_sweep);
    freeReplyObject(answered(reply, "a sweep"));
}

static void expect_kept(struct scene *scene, const char *expected)
{
    redisReply *reply = answered(redisCommand(scene->redis, "GET " SCENE_KEY), "GET");
    assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
    freeReplyObject(reply);
}

static void expect_field(struct scene *scene, const char *field, const char *expected)
{
    redisReply *reply = redisCommand(scene->redis, "HGET pawl:fleet %s", field);
    assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
    freeReplyObject(reply);
}

/* ---- leaps ----------------------------------------------------------------------------------- */

static void lock_outlives_a_leap(void **state)
{
    static const int leaps[] = {1, -1};
    for (int i = 0; i < 2; i++) {
        take(*state, "60000");
        redis_clock_set(&wall, leaps[i] * year_ms);
        wait_ms(EXPIRY_MS);
        assert_false(is_free_for_another(*state));
        assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
        redis_clock_set(&wall, 0);
        wait_ms(EXPIRY_MS);
        assert_false(is_free_for_another(*state));
        assert_true(does(*state, "R " ID));
    }
}

static void lock_ends_with_its_lease_after_a_leap(void **state)
{
    static const int leaps[] = {1, -1};
    for (int i = 0; i < 2; i++) {
        take(*state, "600");
        redis_clock_set(&wall, leaps[i] * year_ms);
        assert_false(is_free_for_another(*state));
        wait_ms(SHORT_MS);
        assert_true(is_free_for_another(*state));
        command(*state, "DEL " SCENE_KEY);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool are_removed(void *scene)
{
    return number(scene, "DBSIZE") == 1; /* the marker */
}

static void locks_that_ended_are_removed_with_nobody_asking(void **state)
{
    struct scene *scene = *state;
    for (unsigned i = 0; i < MANY; i++) {
        char key[32];
        snprintf(key, sizeof(key), "pawl:lock:%u", i);
        freeReplyObject(scene_call(scene, "T " TAG " 7 500 -", key));
    }
    assert_true(number(scene, "DBSIZE") > 1);
    assert_true(wait_until(are_removed, scene, REMOVED_MS));
    start_again(scene, true); /* the file says so too */
    assert_true(are_removed(scene));
}

/* ---- locks that came from a file ------------------------------------------------------------- */

static void lease_begins_anew_after_a_restart(void **state)
{
    take(*state, "60000");
    redis_clock_set(&wall, year_ms);
    start_again(*state, true);
    assert_false(is_free_for_another(*state));
    assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
}

static void lease_after_a_restart_ends(void **state)
{
    take(*state, "600");
    start_again(*state, true);
    assert_false(is_free_for_another(*state));
    wait_ms(SHORT_MS);
    assert_true(is_free_for_another(*state));
}

static bool is_rewritten(void *scene)
{
    redisReply *info = redisCommand(((struct scene *)scene)->redis, "INFO persistence");
    const bool done = strstr(info->str, "aof_rewrite_in_progress:0") != NULL &&
                      strstr(info->str, "aof_rewrite_scheduled:0") != NULL;
    freeReplyObject(info);
    return done;
}

static void rewritten_file_keeps_a_lock_over_a_leap(void **state)
{
    take(*state, "60000");
    command(*state, "BGREWRITEAOF");
    assert_true(wait_until(is_rewritten, *state, SLACK_MS));
    redis_clock_set(&wall, year_ms);
    start_again(*state, true);
    assert_false(is_free_for_another(*state));
}

/* ---- keys that others change ----------------------------------------------------------------- */

/* As install.lua writes a lock where a lease of that name had begun. */
static void lease_of_another_value_begins_anew(void **state)
{
    take(*state, "600");
    command(*state, "SET " SCENE_KEY " =0000000060000@003@" ID ".*:4:0::");
    assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
    wait_ms(SHORT_MS);
    assert_false(is_free_for_another(*state));
    redis_clock_set(&wall, year_ms);
    wait_ms(EXPIRY_MS);
    assert_false(is_free_for_another(*state));
}

static void lock_that_is_deleted_is_free(void **state)
{
    static const char *const ways[] = {"DEL " SCENE_KEY, "UNLINK " SCENE_KEY,
                                       "RENAME " SCENE_KEY " other", "PEXPIRE " SCENE_KEY " -1"};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        take(*state, "60000");
        command(*state, ways[i]);
        assert_int_equal(left_ms(*state), GONE);
        assert_true(is_free_for_another(*state));
        command(*state, "DEL " SCENE_KEY);
    }
}

/* ---- scripts beside the module --------------------------------------------------------------- */

static void marker_tells_who_keeps_the_leases(void **state)
{
    expect_field(*state, "leases", "");
    assert_false(does(*state, "I"));
    expect_field(*state, "leases", "monotonic");
    expect_field(*state, "unswept", "0");
}

static void lock_that_a_script_takes_outlives_a_leap(void **state)
{
    static const char *const words[] = {"T " TAG " 7 60000 -", "E " ID " 60000 9 1 7",
                                        "F " ID ".0000000000000009 7 60000 - a 0"};
    assert_false(does(*state, "I"));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        freeReplyObject(answered(script_call(*state, words[i]), words[i]));
        redis_clock_set(&wall, i % 2 ? 0 : year_ms);
        wait_ms(EXPIRY_MS);
        assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
        assert_false(is_free_for_another(*state));
    }
}

static void script_that_may_not_ask_the_module_takes_no_lock(void **state)
{
    assert_false(does(*state, "I"));
    command(*state, "ACL SETUSER default -pawl.left -pawl.keep");
    redisReply *reply = script_call(*state, "T " TAG " 7 60000 -");
    assert_true(reply->type == REDIS_REPLY_ERROR || reply->element[0]->type == REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    assert_int_equal(number(*state, "EXISTS " SCENE_KEY), 0);
}

/* It was loaded into a server that had the lock. */
static void lock_of_a_script_becomes_the_modules(void **state)
{
    command(*state, "SET " SCENE_KEY " " TAG ":1:0:: PX 60000");
    assert_false(does(*state, "I"));
    sweep(*state);
    assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
    redis_clock_set(&wall, year_ms);
    wait_ms(EXPIRY_MS);
    assert_false(is_free_for_another(*state));
}

static void lock_goes_back_to_expire_where_the_module_is_unloaded(void **state)
{
    take(*state, "60000");
    command(*state, "MODULE UNLOAD pawl-master");
    redisReply *reply = script_call(*state, "T " OTHER " 7 60000 -");
    assert_int_equal(answered(reply, "T")->element[0]->type, REDIS_REPLY_ARRAY); /* it is held */
    freeReplyObject(reply);
    assert_in_range(number(*state, "PTTL " SCENE_KEY), LONG_MS - SLACK_MS, LONG_MS);
    expect_kept(*state, TAG ":1:0::");
}

static void server_without_the_module_sweeps_its_locks(void **state)
{
    struct scene *scene = *state;
    take(scene, "600");
    scene->fleet->modules = 0;
    start_again(scene, true);
    assert_int_equal(number(scene, "PTTL " SCENE_KEY), -1);
    sweep(scene);
    assert_in_range(number(scene, "PTTL " SCENE_KEY), 1, SHORT_MS);
    expect_field(scene, "leases", "");
}

static void lock_that_was_imported_ends_where_the_module_is_unloaded(void **state)
{
    command(*state, "SET " SCENE_KEY " =0000000600@003@" TAG ":1:0::");
    assert_false(does(*state, "I"));
    command(*state, "SET " SCENE_KEY " =0000000600@003@" TAG ":1:0::");
    command(*state, "MODULE UNLOAD pawl-master");
    sweep(*state);
    assert_in_range(number(*state, "PTTL " SCENE_KEY), 1, SHORT_MS);
}

/* The masters gave different numbers, and a pawld that uses scripts confirms the token. */
static void lock_that_a_script_confirms_keeps_its_lease(void **state)
{
    take(*state, "60000");
    redisReply *reply = script_call(*state, "C " TAG " 7 5 -");
    assert_int_equal(answered(reply, "C")->element[0]->integer, 1);
    freeReplyObject(reply);
    assert_in_range(left_ms(*state), LONG_MS - SLACK_MS, LONG_MS);
}

/* A server whose clients are paused aborts where a module writes to its file. */
static void lease_may_end_while_clients_are_paused(void **state)
{
    take(*state, "300");
    command(*state, "CLIENT PAUSE 1200 WRITE");
    wait_ms(2 * SHORT_MS);
    command(*state, "PING");
    assert_true(wait_until(is_free_for_another, *state, REMOVED_MS));
}

static bool is_removed(void *scene)
{
    return number(scene, "EXISTS " SCENE_KEY) == 0;
}

static void lock_is_removed_though_another_database_was_flushed(void **state)
{
    take(*state, "300");
    command(*state, "SELECT 5");
    command(*state, "FLUSHDB");
    command(*state, "SELECT 0");
    redisReply *reply = scene_call(*state, "I", SCENE_KEY "/another");
    freeReplyObject(answered(reply, "I"));
    expect_field(*state, "unswept", "0");
    sweep(*state);
    assert_true(wait_until(is_removed, *state, REMOVED_MS));
}

static void key_that_is_no_lock_has_no_lease(void **state)
{
    command(*state, "SET other =100=" TAG ":1:0::");
    assert_int_equal(number(*state, "PAWL.LEFT other"), GONE);
    freeReplyObject(answered(
        redisCommand(((struct scene *)*state)->redis, "SET %s =100=" TAG ":1:0::", ""), "SET"));
    redisReply *reply = redisCommand(((struct scene *)*state)->redis, "PAWL.LEFT %s", "");
    assert_int_equal(answered(reply, "PAWL.LEFT")->integer, GONE);
    freeReplyObject(reply);
}

static const struct CMUnitTest cases[] = {
#define VOLATILE(name) cmocka_unit_test_setup_teardown(name, start_volatile, end)
#define ALWAYS(name)   cmocka_unit_test_setup_teardown(name, start_always, end)
    VOLATILE(lock_outlives_a_leap),
    VOLATILE(lock_ends_with_its_lease_after_a_leap),
    ALWAYS(locks_that_ended_are_removed_with_nobody_asking),
    ALWAYS(lease_begins_anew_after_a_restart),
    ALWAYS(lease_after_a_restart_ends),
    ALWAYS(rewritten_file_keeps_a_lock_over_a_leap),
    VOLATILE(lease_of_another_value_begins_anew),
    VOLATILE(lock_that_is_deleted_is_free),
    VOLATILE(marker_tells_who_keeps_the_leases),
    VOLATILE(lock_that_a_script_takes_outlives_a_leap),
    VOLATILE(script_that_may_not_ask_the_module_takes_no_lock),
    VOLATILE(lock_of_a_script_becomes_the_modules),
    VOLATILE(lock_goes_back_to_expire_where_the_module_is_unloaded),
    ALWAYS(server_without_the_module_sweeps_its_locks),
    VOLATILE(lock_that_was_imported_ends_where_the_module_is_unloaded),
    VOLATILE(lock_that_a_script_confirms_keeps_its_lease),
    ALWAYS(lease_may_end_while_clients_are_paused),
    VOLATILE(lock_is_removed_though_another_database_was_flushed),
    VOLATILE(key_that_is_no_lock_has_no_lease),
};

CASE_MAIN(cases, NULL, NULL)
