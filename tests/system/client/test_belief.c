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
#include <sys/random.h>
#include <unistd.h>

#ifndef BELIEF_SECONDS
#error "the build says how long the believers run"
#endif

enum {
    BELIEVERS = 4,
    START_TIMEOUT_MS = 20000, /* of interpreters on a busy machine */
    END_TIMEOUT_MS = 30000,
    PATH_BYTES = 512,
    /* The least that has to have happened, or the test shows nothing: of each second, and in a
     * hundred seconds. */
    OBSERVATIONS_A_SECOND = 10,
    SAMPLES_A_SECOND = 2,
    HOLDS_IN_100_S = 40,
    FAULTS_IN_100_S = 35,
    TOLD_IN_100_S = 12,
};

/* A language is one row here, and one case below. */
static const char *const python[] = {"python3", "-B", "tests/system/client/believer.py", NULL};

static const char *const node[] = {"node", "tests/system/client/believer.mjs", NULL};

static const char *const server_options[] = {FLEET_PROBE, NULL};
static const char name[] = "belief";

static struct storm storm;

/* ---- the stage ------------------------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
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

/* ---- the case -------------------------------------------------------------------------------- */

static void expect_at_least(const char *what, size_t came, unsigned least)
{
    print_message("%zu %s\n", came, what);
    if (came < least)
        fail_msg("that shows nothing: there should be %u %s at least", least, what);
}

static unsigned in_this_run(unsigned in_100_s)
{
    return in_100_s * BELIEF_SECONDS / 100;
}

static void expect_beliefs_right(const struct sample *samples, size_t sample_count)
{
    struct beliefs beliefs = {0};
    for (unsigned i = 0; i < BELIEVERS; i++)
        beliefs_read(&beliefs, storm.belief_file[i], i);
    beliefs_sort(&beliefs);
    beliefs_expect_one_holder(&beliefs);
    beliefs_expect_tokens_rise(&beliefs);
    const struct belief_masters masters = {samples, sample_count, storm.absences,
                                           storm.absence_count};
    const size_t inside = beliefs_expect_masters_agree(&beliefs, &masters);
    const size_t told = beliefs_expect_stopped_know(&beliefs, storm.stops, storm.stop_count,
                                                    (uint64_t)STORM_LEASE_MOST_MS * 1000);

    unsigned faults = 0;
    for (unsigned i = 0; i < STORM_FAULTS; i++)
        faults += storm.faults[i];
    expect_at_least("observations", beliefs.observations, OBSERVATIONS_A_SECOND * BELIEF_SECONDS);
    expect_at_least("holds", beliefs.count, in_this_run(HOLDS_IN_100_S));
    expect_at_least("samples of three voting masters during holds", inside,
                    SAMPLES_A_SECOND * BELIEF_SECONDS);
    expect_at_least("faults of masters and pawlds", faults, in_this_run(FAULTS_IN_100_S));
    expect_at_least("stopped holders that said that they lost the lock", told,
                    in_this_run(TOLD_IN_100_S));
    beliefs_fini(&beliefs);
}

static bool somebody_holds(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < BELIEVERS; i++)
        if (access(storm.belief_file[i], F_OK) == 0)
            return true;
    return false;
}

static void expect_right(const char *const argv[])
{
    uint64_t seed;
    assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
    print_message("seed %" PRIu64 "\n", seed);
    for (unsigned i = 0; i < BELIEVERS; i++)
        start_believer(i, argv);
    if (!wait_until(somebody_holds, NULL, START_TIMEOUT_MS))
        fail_msg("no believer holds the lock; see %s/believer-0.log", fleet->dir);

    size_t count;
    struct sampler *sampler = sampler_start(fleet, name);
    storm_run(&storm, BELIEF_SECONDS, seed);
    expect_end_of_believers();
    const struct sample *samples = sampler_stop(sampler, &count);
    expect_beliefs_right(samples, count);
    sampler_free(sampler);
}

static void python_holders_are_right_under_faults(void **state)
{
    (void)state;
    expect_right(python);
}

#if BELIEF_SECONDS < 60 /* the same client: the short run is enough */
static const char *const python_async[] = {"python3", "-B", "tests/system/client/believer.py",
                                           "async", NULL};

static void python_async_holders_are_right_under_faults(void **state)
{
    (void)state;
    expect_right(python_async);
}
#endif

static void node_holders_are_right_under_faults(void **state)
{
    (void)state;
    expect_right(node);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

static const struct CMUnitTest cases[] = {
    CASE(python_holders_are_right_under_faults),
#if BELIEF_SECONDS < 60
    CASE(python_async_holders_are_right_under_faults),
#endif
    CASE(node_holders_are_right_under_faults),
};

CASE_MAIN(cases, NULL, NULL)
