/* chaos_module --kills N --rounds R --seed X
 *
 * Three masters with appendfsync always, a pawld, the guarded ledger and clients. First N times a
 * master with the module is killed (SIGKILL) under load. Each tenth time the
 * master starts without the module, and another kill, of the script's master, brings the module
 * back. Then R times each master in turn is stopped and started with what it lacked, scripts to
 * module and back. After each start the master must have every value of a counter that it had
 * answered. At the end the history is checked. Exit status: 0 all went well; 1 a promise was
 * broken, or an answer was lost. */
#include "tests/chaos/numbers.h"
#include "tests/chaos/small.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    ALL = (1 << MASTERS) - 1,
    PLAIN_EACH = 10, /* kills: one start without the module */
    QUIET_MIN_MS = 5,
    QUIET_MAX_MS = 150,
    PATIENCE_MS = 20000,
    TEXT_MAX = 256,
    TOMBSTONES_MS = 2 * SMALL_TTL_MAX_MS + 200, /* a lease, which a restart may begin again */
    WINDOWS_MAX = 8192,
};

static struct options {
    unsigned kills;
    unsigned rounds;
    uint64_t seed;
} options = {20, 1, 1};

static struct {
    struct small stage;
    struct redis_fleet *fleet;
    struct process *pawld;
    struct sim_rng rng;
    long long answered[MASTERS]; /* the last value that the counter of this run had there */
    uint64_t absent_us[MASTERS]; /* when each master last lacked a vote */
    struct history_window windows[WINDOWS_MAX];
    unsigned kills;
    unsigned plain;           /* starts without the module */
    unsigned changes;         /* stops and starts with another kind */
    unsigned long long calls; /* of this run to the module */
} run;

/* ---- the service ----------------------------------------------------------------------------- */

static bool all_vote(void *unused)
{
    uint32_t modules = 0;
    (void)unused;
    return small_active(&run.stage, &modules) == MASTERS && modules == run.fleet->modules;
}

static void wait_all_vote(void)
{
    if (!wait_until(all_vote, NULL, PATIENCE_MS))
        fail_msg("a master does not vote %d ms after its start; see %s", PATIENCE_MS,
                 run.fleet->dir);
}

static void set_up_stage(void)
{
    static const char *const settings[] = {"--probe-ms", "50", "--workers", "2", NULL};
    sim_rng_init(&run.rng, options.seed, 0);
    run.fleet = redis_fleet_new_mixed(MASTERS, REDIS_ALWAYS, ALL);
    assert_int_equal(
        pawl_init(run.fleet, (const char *const[]){"--new", "--max-ttl-ms", "1000", NULL}), 0);
    run.pawld = pawld_start_on(run.fleet, run.stage.port, settings).process;
    wait_all_vote();
    small_start_ledger(&run.stage);
    small_start_clients(&run.stage, options.seed);
}

/* ---- what the module answered ---------------------------------------------------------------- */

/* A field of the marker of master @i. */
static void read_field(redisContext *redis, const char *field, char ret_text[static TEXT_MAX])
{
    redisReply *reply = redisCommand(redis, "HGET pawl:fleet %s", field);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    (void)snprintf(ret_text, TEXT_MAX, "%s", reply->str);
    freeReplyObject(reply);
}

/* Counts one more value. False: the master answered none, as it knows a later view. */
static bool count_once(redisContext *redis, unsigned i)
{
    static const char arguments[] = "$1\r\nK\r\n$1\r\n1\r\n$1\r\n0\r\n$3\r\n100\r\n";
    char view[TEXT_MAX], id[TEXT_MAX], member[TEXT_MAX];
    read_field(redis, "view", view);
    read_field(redis, "fleet", id);
    read_field(redis, "member", member);
    redisReply *reply = redisCommand(redis, "PAWL.BATCH %s %s %s %b pawl:fleet pawl:lock:chaos/one",
                                     view, id, member, arguments, sizeof(arguments) - 1);
    assert_non_null(reply);
    const bool counted = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                         reply->element[0]->type == REDIS_REPLY_INTEGER;
    if (counted)
        run.answered[i] = reply->element[0]->integer;
    run.calls += counted;
    freeReplyObject(reply);
    return counted;
}

/* Has the module of master @i answer calls for a while. */
static void count_for(unsigned i, unsigned ms)
{
    redisContext *redis = redisConnect("127.0.0.1", run.fleet->master[i].port);
    assert_int_equal(redis->err, 0);
    for (uint64_t end_ms = wait_now_ms() + ms; wait_now_ms() < end_ms;)
        (void)count_once(redis, i);
    redisFree(redis);
}

static void expect_all_answered(unsigned i)
{
    char text[TEXT_MAX] = "0";
    redisContext *redis = redisConnect("127.0.0.1", run.fleet->master[i].port);
    assert_int_equal(redis->err, 0);
    if (run.answered[i] > 0)
        read_field(redis, "n:chaos/one", text);
    redisFree(redis);
    if (strtoll(text, NULL, 10) < run.answered[i])
        fail_msg("master %u answered %lld, and has %s after its start", i + 1, run.answered[i],
                 text);
}

/* ---- kills and changes ----------------------------------------------------------------------- */

static bool has_module(unsigned i)
{
    return run.fleet->modules >> i & 1;
}

/* An import makes a tombstone of two locks of a name. While a majority of masters may have some, a
 * holder may be told that its own lock is held. Master @i was down since @down_us, and votes. */
static void note_tombstones(unsigned i, uint64_t down_us)
{
    struct history_times *times = &run.stage.times;
    for (unsigned j = 0; j < MASTERS; j++) {
        const uint64_t till_us = run.absent_us[j] + UINT64_C(1000) * TOMBSTONES_MS;
        if (j == i || run.absent_us[j] == 0 || till_us < down_us)
            continue;
        assert_true(times->tombstones_count < WINDOWS_MAX);
        run.windows[times->tombstones_count++] = (struct history_window){down_us, till_us};
    }
    times->tombstones = run.windows;
    run.absent_us[i] = wait_now_ms() * 1000;
}

static void kill_master(unsigned i)
{
    redis_fleet_kill(run.fleet, i);
    run.kills++;
}

static void start_again(unsigned i, bool module)
{
    run.fleet->modules = (run.fleet->modules & ~(UINT32_C(1) << i)) | (uint32_t)module << i;
    const uint64_t down_us = wait_now_ms() * 1000;
    run.plain += !module;
    redis_fleet_restart(run.fleet, i, true);
    expect_all_answered(i);
    wait_all_vote();
    note_tombstones(i, down_us);
}

static void kill_often(void)
{
    for (unsigned k = 1; k <= options.kills; k++) {
        const unsigned i = sim_rng_below(&run.rng, MASTERS);
        count_for(i, sim_rng_between(&run.rng, QUIET_MIN_MS, QUIET_MAX_MS));
        kill_master(i);
        start_again(i, k % PLAIN_EACH != 0);
        if (has_module(i))
            continue;
        wait_ms(sim_rng_between(&run.rng, QUIET_MIN_MS, QUIET_MAX_MS));
        kill_master(i);
        start_again(i, true);
    }
}

/* As an operator changes a fleet over: one master after the other, each stopped in order. */
static void change_over(bool module)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        if (has_module(i))
            count_for(i, QUIET_MAX_MS);
        else
            wait_ms(QUIET_MAX_MS);
        assert_int_equal(process_stop(run.fleet->master[i].process), 0);
        run.fleet->master[i].process = NULL;
        start_again(i, module);
        run.changes++;
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void play_kills(void **state)
{
    (void)state;
    set_up_stage();
    kill_often();
    for (unsigned round = 0; round < options.rounds; round++) {
        change_over(false);
        change_over(true);
    }
    const uint64_t healed_us = wait_now_ms() * 1000;
    small_end(&run.stage);
    printf("seed %" PRIu64 ": masters killed %u times, started without the module %u times, "
           "changed over %u times; %llu counts answered, 0 lost\n",
           options.seed, run.kills, run.plain, run.changes, run.calls);
    const size_t violations = small_check(&run.stage, healed_us);
    printf("violations: %zu\n", violations);
    process_kill(run.pawld);
    if (violations > 0)
        fail_msg("%zu violations", violations);
    if (options.kills > 0 && run.calls < options.kills)
        fail_msg("the module answered %llu counts: the run shows nothing", run.calls);
    redis_fleet_free(run.fleet);
    small_remove(&run.stage);
}

int main(int argc, char **argv)
{
    static const struct number_option list[] = {
        {"kills", 'k', "How often a master is killed (default 20)", .count = &options.kills},
        {"rounds", 'r', "How often the fleet changes over and back (default 1)",
         .count = &options.rounds},
        {"seed", 's', "What kills and clients are drawn from (default 1)", .seed = &options.seed},
        {.name = NULL},
    };
    const struct CMUnitTest cases[] = {cmocka_unit_test(play_kills)};
    numbers_parse(argc, argv, "Masters with the module, killed and changed over under load.", list);
    char *module = pawl_beside("../storage/pawl-master.so");
    setenv("PAWL_TEST_MODULE_FILE", module, 0);
    free(module);
    small_begin(&run.stage);
    int failed = cmocka_run_group_tests_name("module", cases, NULL, NULL);
    if (failed)
        small_keep(&run.stage);
    return failed ? 1 : 0;
}
