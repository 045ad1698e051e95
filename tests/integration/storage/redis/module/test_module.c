/* The command of the module: what it refuses, what it leaves on the disk, and that a master which
 * has it is asked by it. Its answers are in test_alike.c and in tests/contract/. */
#include "storage/redis/keys.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/integration/storage/redis/module/alike.h"
#include "tests/integration/storage/redis/module/scene.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ID  "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TAG ID ".0000000000000001"

enum {
    IMPORTED_MS = 60000, /* is left of an imported lock */
};

/* ---- what is refused ------------------------------------------------------------------------- */

static void call_without_arguments_tells_the_version(void **state)
{
    struct scene *scene = *state;
    redisReply *reply = redisCommand(scene->redis, STORAGE_MODULE_COMMAND);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, STORAGE_MODULE_VERSION);
    freeReplyObject(reply);
}

static void expect_error(redisReply *reply, const char *what)
{
    if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "ERR", 3) != 0)
        fail_msg("%s was answered with type %d, %s", what, reply->type,
                 reply->str ? reply->str : "");
    freeReplyObject(reply);
}

static void expect_same_state(struct scene *scene, redisReply *before, const char *what)
{
    redisReply *after = alike_state(scene->redis);
    if (!alike_replies(before, after)) {
        alike_print("before", before);
        alike_print("after", after);
        fail_msg("%s changed something", what);
    }
    freeReplyObject(before);
    freeReplyObject(after);
}

static void malformed_arguments_change_nothing(void **state)
{
    static const char *const calls[] = {
        "X",
        "T",
        "T " TAG,
        "T " TAG " 7 30000",
        "T " TAG " 7 30000 - T",
        "T " TAG " 7 30000 - T " TAG " 7 30000 -", /* two requests, and a key for one */
        "T " TAG " 16384 30000 -",
        "T " TAG " -1 30000 -",
        "T " TAG " 7 0 -",
        "T " TAG " 7 86400001 -",
        "T " TAG " 7 030000 -",
        "T " ID ".1 7 30000 -",
        "T " ID " 7 30000 -",
        "T short.0000000000000001 7 30000 -",
        "T " ID ".00000000000000G1 7 30000 -",
        "T " TAG " 7 30000 \x01",
        "N " TAG " 7 30000 - 9007199254740992",
        "F " TAG " 7 30000 - x 0",
        "F " TAG " 7 30000 - aa 0",
        "G 0 - " TAG " 30000 -",
        "G 2 - " TAG " 30000 - 7 0 7 0", /* one key */
        "G 65 - " TAG " 30000 -",
        "C " TAG " 7 9007199254740992 -",
        "E " ID " 30000 4294967296 1 7",
        "A 1 7",
        "J " TAG " 30000 3 1 7 0 -",
        "R -",
        "K x 0 1",
        "B " ID " 1 7 30000",
        "TT " TAG " 7 30000 -",
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        redisReply *before = alike_state(scene->redis);
        expect_error(scene_call(scene, calls[i], SCENE_KEY), calls[i]);
        expect_same_state(scene, before, calls[i]);
    }
}

static void malformed_bytes_change_nothing(void **state)
{
    static const char *const calls[] = {
        "",
        "$",
        "$1",
        "$1\r",
        "$1\r\n",
        "$1\r\nI",
        "$1\r\nI\r",
        "$1\nI\r\n",
        "*1\r\nI\r\n",
        "$2\r\nI\r\n",
        "$01\r\nI\r\n",
        "$-1\r\nI\r\n",
        "$99999\r\nI\r\n",
        "$999999999999\r\nI\r\n",
        "$1\r\nI\r\n$",
        "$1\r\nI\r\n$1\r\nI\r\n",
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        redisReply *before = alike_state(scene->redis);
        expect_error(scene_call_bytes(scene, calls[i], strlen(calls[i]), SCENE_KEY), calls[i]);
        expect_same_state(scene, before, calls[i]);
    }
}

static void malformed_keys_and_arity_change_nothing(void **state)
{
    static const char *const keys[] = {"pawl:lock:", "pawl:fleet", "x", "pawl:lock"};
    struct scene *scene = *state;
    redisReply *before = alike_state(scene->redis);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        expect_error(scene_call(scene, "T " TAG " 7 30000 -", keys[i]), keys[i]);
    expect_error(redisCommand(scene->redis, STORAGE_MODULE_COMMAND " 10,20,30"), "arity");
    expect_error(redisCommand(scene->redis,
                              STORAGE_MODULE_COMMAND " 10,20,30 " SCENE_FLEET " 2 %b pawl:fleet",
                              "$1\r\nI\r\n", (size_t)7),
                 "no key");
    expect_error(redisCommand(scene->redis,
                              STORAGE_MODULE_COMMAND " 10,20,30 " SCENE_FLEET
                                                     " 2 %b pawl:fleet %s pawl:lock:b",
                              "$1\r\nI\r\n", (size_t)7, SCENE_KEY),
                 "a key too many");
    expect_error(redisCommand(scene->redis,
                              STORAGE_MODULE_COMMAND " 10,20,30 " SCENE_FLEET " 2 %b other %s",
                              "$1\r\nI\r\n", (size_t)7, SCENE_KEY),
                 "another hash");
    expect_error(redisCommand(scene->redis,
                              STORAGE_MODULE_COMMAND " x " SCENE_FLEET " 2 %b pawl:fleet %s",
                              "$1\r\nI\r\n", (size_t)7, SCENE_KEY),
                 "no view");
    expect_error(redisCommand(scene->redis,
                              STORAGE_MODULE_COMMAND " 10,20,30 " SCENE_FLEET " 4 %b pawl:fleet %s",
                              "$1\r\nI\r\n", (size_t)7, SCENE_KEY),
                 "no member");
    expect_same_state(scene, before, "a wrong call");
}

static void call_about_too_many_locks_changes_nothing(void **state)
{
    enum {
        TERMS = 6,
        LOCKS = 257,
    };
    static const char inspect[] = "$1\r\nI\r\n";
    const size_t inspect_len = sizeof(inspect) - 1;
    static char blob[LOCKS * sizeof(inspect)];
    const char *args[TERMS + LOCKS] = {STORAGE_MODULE_COMMAND, "10,20,30", SCENE_FLEET, "2", blob,
                                       STORAGE_FLEET_KEY};
    struct scene *scene = *state;
    for (size_t i = 0; i < LOCKS; i++) {
        memcpy(blob + i * inspect_len, inspect, inspect_len);
        args[TERMS + i] = SCENE_KEY;
    }
    expect_error(redisCommandArgv(scene->redis, TERMS + LOCKS, args, NULL), "257 locks");
    blob[(LOCKS - 1) * inspect_len] = '\0';
    redisReply *reply = redisCommandArgv(scene->redis, TERMS + LOCKS - 1, args, NULL);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, LOCKS);
    freeReplyObject(reply);
}

/* ---- what it leaves -------------------------------------------------------------------------- */

static void expect_answered(redisReply *reply, const char *what)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->element[0]->type == REDIS_REPLY_ERROR)
        fail_msg("%s was not answered", what);
    freeReplyObject(reply);
}

static void plain_server_loads_what_the_module_wrote(void **state)
{
    static const struct {
        const char *words;
        const char *key;
    } calls[] = {
        {"T " TAG " 7 60000 owner", SCENE_KEY},
        {"N " TAG " 8 60000 - 41", "pawl:lock:b"},
        {"F bbbbbbbbbbbbbbbbbbbbbbbbbbb.0000000000000002 7 60000 - w 0", SCENE_KEY},
        {"C " TAG " 7 5 -", SCENE_KEY},
        {"E " ID " 90000 3 5 7", SCENE_KEY},
        {"J " TAG " 60000 3 50 8 2 owner", "pawl:lock:c"},
        {"K 3 0 10", "pawl:lock:numbers"},
        {"B " ID " 42 8 60000 operator", "pawl:lock:b"},
        {"T " TAG " 9 60000 -", "pawl:lock:d"},
        {"R " ID, "pawl:lock:d"},
        {"U " TAG, "pawl:lock:c"},
    };
    struct scene *scene = *state;
    freeReplyObject(redisCommand(scene->redis, "SET pawl:lock:e @%lld@003@" ID ".*:4:0::owner",
                                 (long long)time(NULL) * 1000 + IMPORTED_MS));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        expect_answered(scene_call(scene, calls[i].words, calls[i].key), calls[i].words);
    expect_answered(scene_call(scene, "I", "pawl:lock:e"), "I");
    redisReply *before = alike_state(scene->redis);
    assert_in_range(before->elements, 20, 200);

    redis_fleet_kill(scene->fleet, 0);
    redisFree(scene->redis);
    scene->fleet->modules = 0;
    redis_fleet_restart(scene->fleet, 0, true);
    scene_connect(scene);
    redisReply *none = redisCommand(scene->redis, STORAGE_MODULE_COMMAND);
    assert_int_equal(none->type, REDIS_REPLY_ERROR);
    freeReplyObject(none);
    expect_same_state(scene, before, "the restart without the module");
}

/* ---- who is asked ---------------------------------------------------------------------------- */

static int start_fixture(void **state)
{
    assert_int_equal(setenv("PAWL_TEST_MODULE", "1", 1), 0);
    *state = master_fixture_new(REDIS_VOLATILE);
    assert_int_equal(unsetenv("PAWL_TEST_MODULE"), 0);
    return 0;
}

static unsigned long calls_of(struct master_fixture *fixture, const char *command)
{
    char field[64];
    snprintf(field, sizeof(field), "cmdstat_%s:calls=", command);
    redisReply *info = redis_fleet_command(fixture->fleet, 0, "INFO commandstats");
    const char *found = strstr(info->str, field);
    const unsigned long calls = found ? strtoul(found + strlen(field), NULL, 10) : 0;
    freeReplyObject(info);
    return calls;
}

static void ask_often(struct master_fixture *fixture)
{
    enum {
        TIMES = 50,
    };
    for (int i = 0; i < TIMES; i++) {
        struct fence_request take = master_fixture_take;
        struct fence_request release = master_fixture_take;
        release.kind = FENCE_REQUEST_RELEASE;
        assert_int_equal(master_fixture_ask(fixture, &take)->kind, FENCE_REPLY_NUMBER);
        assert_int_equal(master_fixture_ask(fixture, &release)->kind, FENCE_REPLY_YES);
    }
}

static void master_with_the_module_is_asked_by_it(void **state)
{
    struct master_fixture *fixture = *state;
    const unsigned long scripts = calls_of(fixture, "evalsha");
    const unsigned long batches = calls_of(fixture, "PAWL.BATCH");
    assert_true(fixture->facts.module);
    ask_often(fixture);
    master_fixture_await(fixture, &fixture->probes, fixture->probes + 1);
    assert_true(fixture->seen.module);
    assert_in_range(calls_of(fixture, "PAWL.BATCH") - batches, 100, 110);
    assert_in_range(calls_of(fixture, "evalsha") - scripts, 0, 20); /* of probes */
}

static void await_facts(struct master_fixture *fixture)
{
    master_fixture_await(fixture, &fixture->facts_seen, fixture->facts_seen + 1);
}

/* A request meets that the command is gone, and a new handshake finds none. */
static void expect_scripts_after(struct master_fixture *fixture, const char *command)
{
    master_fixture_await(fixture, &fixture->probes, 1);
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, command));
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_REFUSED);
    await_facts(fixture);
    assert_false(fixture->facts.module);
    ask_often(fixture);
}

static void module_that_is_unloaded_is_followed_by_scripts(void **state)
{
    expect_scripts_after(*state, "MODULE UNLOAD pawl-master");
}

static void command_that_is_kept_from_us_is_followed_by_scripts(void **state)
{
    expect_scripts_after(*state, "ACL SETUSER default -pawl.batch");
}

static const struct CMUnitTest cases[] = {
#define VOLATILE(name) cmocka_unit_test_setup_teardown(name, scene_start_volatile, scene_end)
#define FIXTURE(name)  cmocka_unit_test_setup_teardown(name, start_fixture, master_fixture_teardown)
    VOLATILE(call_without_arguments_tells_the_version),
    VOLATILE(malformed_arguments_change_nothing),
    VOLATILE(malformed_bytes_change_nothing),
    VOLATILE(malformed_keys_and_arity_change_nothing),
    VOLATILE(call_about_too_many_locks_changes_nothing),
    cmocka_unit_test_setup_teardown(plain_server_loads_what_the_module_wrote, scene_start_always,
                                    scene_end),
    FIXTURE(master_with_the_module_is_asked_by_it),
    FIXTURE(module_that_is_unloaded_is_followed_by_scripts),
    FIXTURE(command_that_is_kept_from_us_is_followed_by_scripts),
};

CASE_MAIN(cases, NULL, NULL)
