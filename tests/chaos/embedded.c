/* chaos_embedded --seconds S --kills N --seed X
 *
 * The profile of chaos for a fleet that is a file: one pawld over a folder, the guarded ledger, and
 * clients. The faults are those of a process and of its disk. It ends after S seconds, or after N
 * kills where that is later; then the history is checked. Exit status: 0 all went well; 1 a promise
 * was broken, or pawld did not come back. */
#include "tests/chaos/history.h"
#include "tests/chaos/names.h"
#include "tests/chaos/record.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLIENTS = 4, /* processes, */
    THREADS = 5, /* and clients in each */
    NAMES = 8,
    START_MS = 10000,
    TORN_MS = 2000, /* in which some write has to come */
    TTL_MAX_MS = 1000,
    PATH_BYTES = 320,
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
    char *dir;
    char folder[PATH_BYTES];
    char history[PATH_BYTES];
    char database[PATH_BYTES];
    char faults[PATH_BYTES]; /* what the disk does (tests/lib/disk.c) */
    char *shim;
    char *client_program;
    uint16_t port;
    struct process *pawld;
    struct pawl_service ledger;
    struct process *client[CLIENTS];
    struct sim_rng rng;
    unsigned counts[FAULTS];
} run;

/* ---- processes ------------------------------------------------------------------------------- */

static void path_at(char ret_path[static PATH_BYTES], const char *in, const char *name)
{
    int len = snprintf(ret_path, PATH_BYTES, "%s/%s", in, name);
    assert_in_range(len, 1, PATH_BYTES - 1);
}

static void start_embedded(void)
{
    char *program = pawl_program("pawld");
    char listen[32];
    char log[PATH_BYTES];
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)run.port);
    path_at(log, run.dir, "pawld.log");
    setenv("PAWL_DISK_FAULTS", run.faults, 1);
    setenv("LD_PRELOAD", run.shim, 1);
    run.pawld =
        process_start((const char *const[]){program, "--data", run.folder, "--listen", listen,
                                            "--workers", "2", "--max-ttl-ms", "1000", NULL},
                      log);
    unsetenv("LD_PRELOAD");
    process_wait_line(run.pawld, "listening on", START_MS, NULL, 0);
    free(program);
}

static void start_clients(void)
{
    char log[PATH_BYTES], door[32], ledger[32], history[PATH_BYTES + 16], seed[40];
    path_at(log, run.dir, "clients.log");
    snprintf(door, sizeof(door), "--door=%u", (unsigned)run.port);
    snprintf(ledger, sizeof(ledger), "--ledger=%u", (unsigned)run.ledger.port);
    snprintf(history, sizeof(history), "--history=%s", run.history);
    snprintf(seed, sizeof(seed), "--seed=%" PRIu64, options.seed);
    for (unsigned i = 0; i < CLIENTS; i++) {
        char first[32];
        snprintf(first, sizeof(first), "--first=%u", i * THREADS);
        run.client[i] = process_start(
            (const char *const[]){run.client_program, door, door, ledger, history, first,
                                  "--threads=5", "--counting=1", "--names=8", seed, NULL},
            log);
    }
}

static void set_up_stage(void)
{
    sim_rng_init(&run.rng, options.seed, 0);
    run.dir = tempdir_new();
    run.port = port_free();
    path_at(run.folder, run.dir, "data");
    path_at(run.history, run.dir, "history");
    path_at(run.database, run.dir, "ledger.db");
    path_at(run.faults, run.dir, "faults");
    run.shim = pawl_beside("disk_faults.so");
    run.client_program = pawl_beside("chaos_client");
    start_embedded();
    run.ledger = pawl_ledger_start(run.database, NULL);
    record_install(run.database);
    start_clients();
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void set_disk(const char *fault)
{
    char next[PATH_BYTES];
    path_at(next, run.dir, "faults.next");
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
    assert_int_equal(process_wait(run.pawld, START_MS), 128 + SIGKILL);
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
            fail_msg("pawld ended by itself; see %s/pawld.log", run.dir);
        do_fault(draw_fault());
    }
}

/* ---- what must hold -------------------------------------------------------------------------- */

static size_t check_all(uint64_t healed_us)
{
    struct history history = {0};
    struct history_findings findings = {.told = stdout};
    struct history_entry *entries = NULL;
    size_t count = 0, grants = 0, counted = 0;
    assert_int_equal(history_read(&history, run.history), 0);
    history_check_order(&history, &findings);
    history_check_exclusion(&history, NULL, 0, &findings);
    history_check_asking(&history, &(struct history_times){0}, &findings);
    history_check_counters(&history, &findings);
    record_read(run.database, &entries, &count);
    history_check_fencing(entries, count, &findings);
    for (size_t i = 0; i < history.count; i++) {
        const struct history_call *call = &history.calls[i];
        grants += history_is_new_grant(call);
        counted += call->kind == HISTORY_COUNT && call->status == 200;
    }
    const struct names names = {NAMES, TTL_MAX_MS, {run.port, run.port}};
    size_t missing = names_not_granted(&names, &history, healed_us);
    size_t lost = history_lost_updates(entries, count);
    printf("%zu calls, %zu grants, %zu leases compared, %zu entries of the ledger, %zu values of "
           "counters told\n",
           history.count, grants, findings.leases, count, counted);
    printf(
        "tokens granted twice %zu, out of order %zu, overlaps %zu, refused its own %zu, accepted "
        "after a higher one %zu, updates lost %zu, names not granted at the end %zu, values given "
        "twice %zu, told less later %zu\n",
        findings.twice, findings.disorder, findings.overlaps, findings.shut_out, findings.fell,
        lost, missing, findings.values_twice, findings.values_fell);
    assert_true(grants > 0 && findings.leases > 0 && counted > 0);
    free(entries);
    history_fini(&history);
    return history_violations(&findings) + lost + missing;
}

static void play_embedded(void **state)
{
    set_up_stage();
    hurt_embedded();
    const uint64_t healed_us = wait_now_ms() * 1000;
    wait_ms(NAMES_WATCHED_MS);
    for (unsigned i = 0; i < CLIENTS; i++)
        process_kill(run.client[i]);
    process_stop(run.ledger.process);
    for (unsigned i = 0; i < FAULTS; i++)
        printf("%6u  %s\n", run.counts[i], fault_names[i]);
    size_t violations = check_all(healed_us);
    assert_int_equal(process_stop(run.pawld), 0);
    if (violations > 0)
        fail_msg("%zu violations", violations);
    tempdir_remove(run.dir);
    free(run.shim);
    free(run.client_program);
}

static void keep_all_files(void)
{
    char kept[64];
    snprintf(kept, sizeof(kept), "/tmp/pawl-chaos-%d", (int)getpid());
    if (run.dir && rename(run.dir, kept) == 0)
        printf("the history, the databases and all logs are in %s\n", kept);
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_embedded(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 't':
        options.seconds = (unsigned)strtoul(text, NULL, 10);
        return 0;
    case 'k':
        options.kills = (unsigned)strtoul(text, NULL, 10);
        return 0;
    case 's':
        options.seed = strtoull(text, NULL, 10);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"seconds", 't', "S", 0, "How long, at the least (default 10)", 0},
        {"kills", 'k', "N", 0, "How many kills, at the least (default 0)", 0},
        {"seed", 's', "X", 0, "What faults and clients are drawn from (default 1)", 0},
        {0},
    };
    static const struct argp argp = {
        list, parse_embedded, NULL, "A fleet that is a file, under faults.", NULL, NULL, NULL};
    const struct CMUnitTest cases[] = {cmocka_unit_test(play_embedded)};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    int failed = cmocka_run_group_tests_name("embedded", cases, NULL, NULL);
    if (failed)
        keep_all_files();
    return failed ? 1 : 0;
}
