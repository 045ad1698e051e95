/* chaos_embedded --seconds S --kills N --seed X
 *
 * The profile of chaos for a fleet that is a file: one pawld over a folder, the guarded ledger, and
 * clients. The faults are those of a process and of its disk. It ends after S seconds, or after N
 * kills where that is later; then the history is checked. Exit status: 0 all went well; 1 a promise
 * was broken, or pawld did not come back. */
#include "tests/chaos/numbers.h"
#include "tests/chaos/small.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TORN_MS = 2000, /* in which some write has to come */
};

enum fault {
    FAULT_KILLED,
    FAULT_TORN,
    FAULT_STOPPED,
    FAULT_FULL,
    FAULT_SYNC,
    FAULT_SLOW,
    FAULTS,
};

static const char *const fault_names[FAULTS] = {
    [FAULT_KILLED] = "killed",
    [FAULT_TORN] = "killed half-way through a write",
    [FAULT_STOPPED] = "stopped (SIGSTOP)",
    [FAULT_FULL] = "disk full",
    [FAULT_SYNC] = "fsync failed",
    [FAULT_SLOW] = "fsync slow",
};

static struct options {
    unsigned seconds;
    unsigned kills;
    uint64_t seed;
} options = {10, 0, 1};

static struct {
    struct small stage;
    char folder[SMALL_PATH_BYTES];
    char faults[SMALL_PATH_BYTES]; /* what the disk does (tests/lib/disk.c) */
    char *shim;
    struct process *pawld;
    struct sim_rng rng;
    unsigned counts[FAULTS];
} run;

/* ---- processes ------------------------------------------------------------------------------- */

static void start_embedded(void)
{
    setenv("PAWL_DISK_FAULTS", run.faults, 1);
    setenv("LD_PRELOAD", run.shim, 1);
    run.pawld = small_serve(&run.stage, run.folder);
    unsetenv("LD_PRELOAD");
}

static void set_up_stage(void)
{
    sim_rng_init(&run.rng, options.seed, 0);
    small_begin(&run.stage);
    small_path(run.folder, run.stage.dir, "data");
    small_path(run.faults, run.stage.dir, "faults");
    run.shim = pawl_beside("disk_faults.so");
    start_embedded();
    small_start_ledger(&run.stage);
    small_start_clients(&run.stage, options.seed);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void set_disk(const char *fault)
{
    char next[SMALL_PATH_BYTES];
    small_path(next, run.stage.dir, "faults.next");
    FILE *file = fopen(next, "w");
    assert_non_null(file);
    fputs(fault, file);
    fclose(file);
    assert_int_equal(rename(next, run.faults), 0);
}

static unsigned between(unsigned low, unsigned high)
{
    return sim_rng_between(&run.rng, low, high);
}

static void disk_for(const char *fault, unsigned ms)
{
    set_disk(fault);
    wait_ms(ms);
    set_disk("");
}

static void kill_and_restart(void)
{
    process_kill(run.pawld);
    start_embedded();
}

static bool is_down(void *unused)
{
    (void)unused;
    return !process_alive(run.pawld);
}

static void tear_a_write(void)
{
    set_disk("torn");
    assert_true(wait_until(is_down, NULL, TORN_MS));
    set_disk("");
    assert_int_equal(process_wait(run.pawld, SMALL_START_MS), 128 + SIGKILL);
    start_embedded();
}

static void stop_for(unsigned ms)
{
    process_signal(run.pawld, SIGSTOP);
    wait_ms(ms);
    process_signal(run.pawld, SIGCONT);
}

static enum fault draw_fault(void)
{
    static const enum fault drawn[] = {
        FAULT_KILLED, FAULT_KILLED, FAULT_KILLED, FAULT_KILLED,  FAULT_KILLED,
        FAULT_KILLED, FAULT_KILLED, FAULT_KILLED, FAULT_TORN,    FAULT_TORN,
        FAULT_TORN,   FAULT_FULL,   FAULT_SYNC,   FAULT_STOPPED, FAULT_SLOW,
    };
    return drawn[sim_rng_below(&run.rng, sizeof(drawn) / sizeof(drawn[0]))];
}

static void do_fault(enum fault fault)
{
    char slow[32];
    snprintf(slow, sizeof(slow), "slow %u", between(5, 90));
    switch (fault) {
    case FAULT_KILLED:
        kill_and_restart();
        break;
    case FAULT_TORN:
        tear_a_write();
        break;
    case FAULT_STOPPED:
        stop_for(between(50, 1500));
        break;
    case FAULT_FULL:
        disk_for("full", between(100, 500));
        break;
    case FAULT_SYNC:
        disk_for("sync", between(50, 300));
        break;
    case FAULT_SLOW:
        disk_for(slow, between(100, 600));
        break;
    case FAULTS:
        break;
    }
    run.counts[fault]++;
}

static unsigned kills(void)
{
    return run.counts[FAULT_KILLED] + run.counts[FAULT_TORN];
}

static void hurt_embedded(void)
{
    uint64_t end_ms = wait_now_ms() + (uint64_t)options.seconds * 1000;
    while (wait_now_ms() < end_ms || kills() < options.kills) {
        wait_ms(between(1, 120));
        if (!process_alive(run.pawld))
            fail_msg("pawld ended by itself; see %s/pawld.log", run.stage.dir);
        do_fault(draw_fault());
    }
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void play_embedded(void **state)
{
    set_up_stage();
    hurt_embedded();
    const uint64_t healed_us = wait_now_ms() * 1000;
    small_end(&run.stage);
    for (unsigned i = 0; i < FAULTS; i++)
        printf("%6u  %s\n", run.counts[i], fault_names[i]);
    size_t violations = small_check(&run.stage, healed_us);
    assert_int_equal(process_stop(run.pawld), 0);
    if (violations > 0)
        fail_msg("%zu violations", violations);
    small_remove(&run.stage);
    free(run.shim);
}

int main(int argc, char **argv)
{
    static const struct number_option list[] = {
        {"seconds", 't', "How long, at the least (default 10)", .count = &options.seconds},
        {"kills", 'k', "How many kills, at the least (default 0)", .count = &options.kills},
        {"seed", 's', "What faults and clients are drawn from (default 1)", .seed = &options.seed},
        {.name = NULL},
    };
    const struct CMUnitTest cases[] = {cmocka_unit_test(play_embedded)};
    numbers_parse(argc, argv, "A fleet that is a file, under faults.", list);
    int failed = cmocka_run_group_tests_name("embedded", cases, NULL, NULL);
    if (failed)
        small_keep(&run.stage);
    return failed ? 1 : 0;
}
