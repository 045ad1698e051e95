/* Believers of each language under faults: README.md. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/client/belief.h"
#include "tests/system/client/sampler.h"
#include "tests/system/client/storm.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#ifndef BELIEF_SECONDS
#error "the build says how long the believers run"
#endif

enum {
    BELIEVERS = 4,
    START_TIMEOUT_MS = 20000, /* for interpreters on a busy machine */
    END_TIMEOUT_MS = 30000,
    PATH_BYTES = 512,
    ROUNDS_MAX = 4,
    /* The least that has to have happened, or the test shows nothing: of each second of a round,
     * and in a hundred seconds. */
    OBSERVATIONS_A_SECOND = 10,
    SAMPLES_A_SECOND = 2,
    HOLDS_IN_100_S = 40,
    FAULTS_IN_100_S = 35,
    TOLD_IN_100_S = 12,
};

/* A language is one row here, and one case below. */
static const char *const python[] = {"python3", "-B", "tests/system/client/believer.py", NULL};

static const char *const node[] = {"node", "tests/system/client/believer.mjs", NULL};
static const char *const ruby[] = {"ruby", "tests/system/client/believer.rb", NULL};
static const char *const go[] = {BELIEVER_GO, "believe", NULL};
static const char *const java[] = {
    "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", JAVA_CLASSES, "Believer", NULL};

static const char *const server_options[] = {FLEET_PROBE, NULL};
static const char name[] = "belief";

static struct storm storm;

static int begin(void **state)
{
    fleet_start(SAMPLE_MASTERS, REDIS_ALWAYS);
    pawl_init_new(fleet);
    storm = (struct storm){
        .fleet = fleet,
        .server_options = server_options,
        .believers = BELIEVERS,
    };
    for (unsigned i = 0; i < STORM_SERVERS; i++) {
        storm.server[i] = pawld_start(fleet, server_options);
        pawl_wait_ready(storm.server[i]);
        masters_wait_all_active(storm.server[i].port, SAMPLE_MASTERS);
    }
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < BELIEVERS; i++)
        free(storm.belief_file[i]);
    return fleet_teardown(state);
}

/* Half of the believers ask one pawld first, and half the other one. */
static void start_believer(unsigned i, const char *const argv[])
{
    char text[PATH_BYTES];
    (void)snprintf(text, sizeof(text), "http://127.0.0.1:%u http://127.0.0.1:%u",
                   storm.server[i % 2].port, storm.server[(i + 1) % 2].port);
    setenv("PAWL_SERVER", text, 1);
    setenv("PAWL_NAME", name, 1);
    (void)snprintf(text, sizeof(text), "%d", BELIEF_SECONDS);
    setenv("PAWL_SECONDS", text, 1);
    if (asprintf(&storm.belief_file[i], "%s/belief-%u", fleet->dir, i) < 0)
        fail_msg("out of memory");
    setenv("PAWL_BELIEF_FILE", storm.belief_file[i], 1);
    (void)snprintf(text, sizeof(text), "%s/believer-%u.log", fleet->dir, i);
    storm.believer[i] = process_start(argv, text);
}

static void expect_end_of_believers(void)
{
    for (unsigned i = 0; i < BELIEVERS; i++) {
        process_signal(storm.believer[i], SIGCONT);
        char text[PATH_BYTES];
        (void)snprintf(text, sizeof(text), "%s/believer-%u.log", fleet->dir, i);
        const int status = process_wait(storm.believer[i], END_TIMEOUT_MS);
        if (status != 0) {
            char *log = text_read(text, 0);
            fail_msg("believer %u ended with %d: %s", i, status, log);
        }
    }
}

/* The other side of the comparison of beliefs, over all rounds so far. */
struct shown {
    size_t observations, holds, samples, faults, told;
};

static unsigned in_a_round(unsigned in_100_s)
{
    return in_100_s * BELIEF_SECONDS / 100;
}

static bool is_enough(const struct shown *shown)
{
    print_message("%zu observations, %zu holds, %zu samples of three voting masters during holds, "
                  "%zu faults of masters and pawlds, %zu stopped holders that said that they lost "
                  "the lock\n",
                  shown->observations, shown->holds, shown->samples, shown->faults, shown->told);
    return shown->observations >= (size_t)OBSERVATIONS_A_SECOND * BELIEF_SECONDS &&
           shown->holds >= in_a_round(HOLDS_IN_100_S) &&
           shown->samples >= (size_t)SAMPLES_A_SECOND * BELIEF_SECONDS &&
           shown->faults >= in_a_round(FAULTS_IN_100_S) && shown->told >= in_a_round(TOLD_IN_100_S);
}

static void expect_beliefs_right(const struct sample *samples, size_t sample_count,
                                 struct shown *shown)
{
    struct beliefs beliefs = {0};
    for (unsigned i = 0; i < BELIEVERS; i++)
        beliefs_read(&beliefs, storm.belief_file[i], i);
    beliefs_sort(&beliefs);
    beliefs_expect_one_holder(&beliefs);
    beliefs_expect_tokens_rise(&beliefs);
    const struct belief_masters masters = {samples, sample_count, storm.absences,
                                           storm.absence_count};
    shown->samples += beliefs_expect_masters_agree(&beliefs, &masters);
    shown->told += beliefs_expect_stopped_know(&beliefs, storm.stops, storm.stop_count,
                                               (uint64_t)STORM_LEASE_MOST_MS * 1000);
    shown->observations += beliefs.observations;
    shown->holds += beliefs.count;
    for (unsigned i = 0; i < STORM_FAULTS; i++)
        shown->faults += storm.faults[i];
    beliefs_fini(&beliefs);
}

/* The next round has its own believers and faults. */
static void forget_round(void)
{
    for (unsigned i = 0; i < BELIEVERS; i++) {
        (void)unlink(storm.belief_file[i]);
        free(storm.belief_file[i]);
        storm.belief_file[i] = NULL;
    }
    memset(storm.faults, 0, sizeof(storm.faults));
    storm.stop_count = 0;
    storm.absence_count = 0;
}

static bool somebody_holds(void *arg)
{
    for (unsigned i = 0; i < BELIEVERS; i++)
        if (access(storm.belief_file[i], F_OK) == 0)
            return true;
    return false;
}

/* @argv has the command of each believer. */
static void play_round(const char *const *const argv[], struct shown *shown)
{
    uint64_t seed;
    assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
    print_message("seed %" PRIu64 "\n", seed);
    for (unsigned i = 0; i < BELIEVERS; i++)
        start_believer(i, argv[i]);
    if (!wait_until(somebody_holds, NULL, START_TIMEOUT_MS))
        fail_msg("no believer holds the lock; see %s/believer-0.log", fleet->dir);

    size_t count;
    struct sampler *sampler = sampler_start(fleet, name);
    storm_run(&storm, BELIEF_SECONDS, seed);
    expect_end_of_believers();
    const struct sample *samples = sampler_stop(sampler, &count);
    expect_beliefs_right(samples, count, shown);
    sampler_free(sampler);
}

/* On a busy machine one round may show too little. Its output must be right in each. */
static void expect_all_right(const char *const *const argv[])
{
    struct shown shown = {0};
    bool enough = false;
    for (int round = 0; round < ROUNDS_MAX && !enough; round++) {
        if (round > 0)
            forget_round();
        play_round(argv, &shown);
        enough = is_enough(&shown);
    }
    if (!enough)
        fail_msg("that shows nothing: %d rounds were not enough", ROUNDS_MAX);
}

static const char *const python_async[] = {"python3", "-B", "tests/system/client/believer.py",
                                           "async", NULL};

static void mixed_holders_are_right_under_faults(void **state)
{
    const char *const *const argv[BELIEVERS] = {go, ruby, java, python_async};
    expect_all_right(argv);
}

#if BELIEF_SECONDS < 30 /* of seconds: languages meet each other */
static void scripted_holders_are_right_under_faults(void **state)
{
    const char *const *const argv[BELIEVERS] = {python, node, ruby, python};
    expect_all_right(argv);
}
#else
static void expect_right(const char *const argv[])
{
    const char *const *const all[BELIEVERS] = {argv, argv, argv, argv};
    expect_all_right(all);
}

static void python_holders_are_right_under_faults(void **state)
{
    expect_right(python);
}

static void node_holders_are_right_under_faults(void **state)
{
    expect_right(node);
}
#endif

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

static const struct CMUnitTest cases[] = {
    CASE(mixed_holders_are_right_under_faults),
#if BELIEF_SECONDS < 30
    CASE(scripted_holders_are_right_under_faults),
#else
    CASE(python_holders_are_right_under_faults),
    CASE(node_holders_are_right_under_faults),
#endif
};

CASE_MAIN(cases, NULL, NULL)
