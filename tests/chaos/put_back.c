/* chaos_put_back --put-backs N --restarts M --idles K --seed X
 *
 * First N folders get older files. pawld serves under load; its folder is copied at some moment.
 * More load follows, and pawld ends. Some files in the copy are put back in some way, and pawld is
 * started. pawld has to refuse files that are older than an answer. Files that pawld serves from
 * have to hold everything that was answered.
 *
 * Then pawld is restarted M times with files that were not put back. Before a restart comes a
 * clean stop, kill -9 (also of a start and of an init with a floor) or a power cut. Another boot,
 * or a change of owners and modes, may come too. pawld has to serve after each. Exit status: 0
 * pawld did all that; 1 pawld did not. */
#include "tests/chaos/numbers.h"
#include "tests/chaos/put_back_kinds.h"
#include "tests/chaos/put_back_load.h"
#include "tests/lib/case.h"
#include "tests/lib/machine.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 320,
    START_MS = 20000,
    LINES_BYTES = 700,
    IDLE_MS = 66000,
    NEWER_GRANTS = 6, /* after the copy */
    SLACK_MS = 1300,  /* after which a witness that was put back is noticed, */
    COARSE_MS = 2300, /* and where times are whole seconds */
};

static struct options {
    unsigned put_backs;
    unsigned restarts;
    unsigned idles;
    uint64_t seed;
} options = {10, 50, 0, 1};

static struct {
    char *dir;
    char folder[PATH_BYTES];
    char copy[PATH_BYTES];
    char log[PATH_BYTES];
    const char *no_machine; /* why there are no mounts; NULL: there are */
    struct machine_disk disk;
    bool on_disk;
    bool coarse;  /* its times are whole seconds */
    bool changed; /* its owners or modes, while pawld was stopped */
    uint16_t port;
    struct process *pawld;
    struct sim_rng rng;
} run;

static struct {
    unsigned tried[PUT_BACK_KINDS];
    unsigned refused;
    unsigned harmless; /* served: what was put back had all that was answered */
    unsigned believed; /* served, and was older */
    unsigned repeats;
    unsigned restarts;
    unsigned kills, stops, cuts, boots, owners, starts_killed, floors_killed;
    unsigned refused_wrongly;
} counts;

static unsigned between(unsigned low, unsigned high)
{
    return sim_rng_between(&run.rng, low, high);
}

static bool one_in(unsigned n)
{
    return sim_rng_below(&run.rng, n) == 0;
}

/* ---- pawld ----------------------------------------------------------------------------------- */

static void launch(void)
{
    char listen[32];
    char *program = pawl_program("pawld");
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)run.port);
    run.pawld = process_start(
        (const char *const[]){program, "--data", run.folder, "--listen", listen, NULL}, run.log);
    free(program);
}

static bool has_decided(void *unused)
{
    (void)unused;
    return !process_alive(run.pawld) || process_wrote(run.pawld, "listening on");
}

/* The last lines; they are not given back, as the test ends with them. */
static const char *end_of_log(void)
{
    char *text = text_read(run.log, 0);
    size_t len = strlen(text);
    return text + (len > LINES_BYTES ? len - LINES_BYTES : 0);
}

/* False: it refused. */
static bool start_serving(void)
{
    launch();
    assert_true(wait_until(has_decided, NULL, START_MS));
    if (process_alive(run.pawld)) {
        pawl_wait_ready((struct pawl_service){.process = run.pawld, .port = run.port});
        return true;
    }
    bool refused = process_wrote(run.pawld, "pawld init --token-floor T");
    if (process_wait(run.pawld, START_MS) != 1 || !refused)
        fail_msg("pawld ended, and did not refuse the folder: %s", end_of_log());
    run.pawld = NULL;
    return false;
}

static void end_serving(bool stops)
{
    if (stops)
        assert_int_equal(process_stop(run.pawld), 0);
    else
        process_kill(run.pawld);
    run.pawld = NULL;
}

/* ---- a folder -------------------------------------------------------------------------------- */

static void path_at(char ret_path[static PATH_BYTES], const char *in, const char *name)
{
    int len = snprintf(ret_path, PATH_BYTES, "%s/%s", in, name);
    assert_in_range(len, 1, PATH_BYTES - 1);
}

/* A new one, on its own disk or not. */
static void begin_folder(bool on_disk)
{
    run.dir = tempdir_new();
    run.on_disk = on_disk;
    run.coarse = on_disk && one_in(4);
    if (on_disk)
        machine_disk_make(&run.disk, run.dir, run.coarse ? 128 : 256);
    path_at(run.folder, on_disk ? run.disk.at : run.dir, "data");
    path_at(run.copy, on_disk ? run.disk.at : run.dir, "copy");
    path_at(run.log, run.dir, "pawld.log");
}

static void end_folder(void)
{
    if (run.on_disk)
        machine_disk_unmount(&run.disk);
    tempdir_remove(run.dir);
    run.dir = NULL;
}

/* ---- files that are put back ----------------------------------------------------------------- */

struct draw {
    enum put_back_kind kind;
    unsigned files;
    bool alone;
    bool stops; /* at the end; else it is killed */
    enum {
        LIVE,
        KILLED,
        STOPPED
    } moment; /* of the copy */
    enum {
        KEPT,
        FORGOTTEN,
        RESTARTED
    } memory;
};

static struct draw draw_put_back(void)
{
    const unsigned kinds = run.no_machine ? PUT_BACK_NO_MOUNTS : PUT_BACK_KINDS;
    struct draw draw = {
        .kind = (enum put_back_kind)sim_rng_below(&run.rng, kinds),
        .files = one_in(3) ? PUT_BACK_ALL : between(1, PUT_BACK_ALL),
        .alone = one_in(4),
        .stops = one_in(2),
        .moment = sim_rng_below(&run.rng, 3),
        .memory = sim_rng_below(&run.rng, 3),
    };
    if (draw.files == PUT_BACK_LOG && draw.moment == STOPPED)
        draw.alone = false; /* there is no log then, and an empty folder is a new one */
    const bool mounts_over = draw.kind == PUT_BACK_BIND && !(draw.files & PUT_BACK_DATABASE);
    if (draw.kind == PUT_BACK_SNAPSHOT || mounts_over || run.no_machine)
        draw.memory = KEPT; /* server/DATA_LOSS.md: what is not noticed */
    if (draw.memory == RESTARTED && draw.moment != STOPPED && (draw.files & PUT_BACK_WITNESS))
        draw.memory = FORGOTTEN; /* within 60 s it is not noticed either */
    return draw;
}

static void copy_at(const struct draw *draw)
{
    if (draw->moment != LIVE)
        end_serving(draw->moment == STOPPED);
    if (draw->kind == PUT_BACK_SNAPSHOT)
        machine_disk_copy(&run.disk);
    else
        machine_run("cp -a \"$0\" \"$1\"", run.folder, run.copy);
    if (draw->moment != LIVE)
        assert_true(start_serving());
}

static bool has_more_grants(void *than)
{
    return load_grants() >= *(const uint64_t *)than;
}

static void put_back(const struct draw *draw)
{
    if (draw->kind != PUT_BACK_SNAPSHOT) {
        put_back_files(draw->kind, draw->files, draw->alone, run.folder, run.copy);
        return;
    }
    machine_disk_unmount(&run.disk);
    machine_disk_put_back(&run.disk);
    machine_disk_mount(&run.disk);
}

static void start_on_what_was_put_back(const struct draw *draw)
{
    if (!start_serving()) {
        counts.refused++;
        return;
    }
    const unsigned repeats = load_check(run.port);
    counts.repeats += repeats;
    counts.harmless += repeats == 0;
    counts.believed += repeats > 0;
    if (repeats > 0)
        printf("believed: %s, files %u%s, copied %s, %s, memory %d\n", put_back_names[draw->kind],
               draw->files, draw->alone ? " alone" : "",
               draw->moment == LIVE     ? "live"
               : draw->moment == KILLED ? "killed"
                                        : "stopped",
               draw->stops ? "stopped" : "killed", (int)draw->memory);
    end_serving(one_in(2));
}

static void play_put_back(void)
{
    const struct draw draw = draw_put_back();
    begin_folder(draw.kind == PUT_BACK_SNAPSHOT || (!run.no_machine && one_in(2)));
    assert_true(start_serving());
    load_begin(run.port);
    wait_ms(between(10, 200));
    copy_at(&draw);
    const uint64_t copied_ms = wait_now_ms();
    uint64_t than = load_grants() + NEWER_GRANTS;
    assert_true(wait_until(has_more_grants, &than, START_MS));
    load_hold(run.port);
    wait_ms(between(0, 100));
    end_serving(draw.stops);
    load_end();
    while (draw.memory != KEPT && wait_now_ms() < copied_ms + (run.coarse ? COARSE_MS : SLACK_MS))
        wait_ms(20);
    if (draw.memory == FORGOTTEN)
        machine_forget();
    if (draw.memory == RESTARTED)
        machine_restart();
    put_back(&draw);
    start_on_what_was_put_back(&draw);
    counts.repeats += load_repeats();
    counts.tried[draw.kind]++;
    put_back_undo(draw.kind, run.folder);
    end_folder();
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void expect_serving(void)
{
    counts.restarts++;
    if (start_serving())
        return;
    counts.refused_wrongly++;
    fail_msg("refused wrongly after %u restarts: %s", counts.restarts, end_of_log());
}

/* Data that were not synced are lost, and the machine starts again. */
static void cut_power(void)
{
    machine_disk_cut(&run.disk, run.pawld);
    end_serving(false);
    machine_disk_unmount(&run.disk);
    machine_disk_mount(&run.disk);
    machine_restart();
    counts.cuts++;
}

static void change_owners(void)
{
    static const char *const scripts[] = {
        "chmod -R g+rX \"$0\"",
        "chmod -R go-rwx \"$0\"",
        "cp -al \"$0\" \"$1\"",
        "rm -rf \"$1\"",
    };
    const char *script = scripts[sim_rng_below(&run.rng, 4)];
    machine_run("rm -rf \"$0\"", run.copy, NULL);
    machine_run(script, run.folder, run.copy);
    counts.owners++;
    run.changed = true;
}

/* A start that is killed at any moment, or by a power cut. */
static void kill_a_start(void)
{
    launch();
    wait_ms(between(0, 25));
    if (run.on_disk && one_in(3)) {
        cut_power();
        return;
    }
    end_serving(false);
    counts.starts_killed++;
}

/* Journals the file system at its own moments, as other programs do. */
static void sync_other_file(void)
{
    if (run.on_disk)
        machine_run("echo x >>\"$0/other\" && sync \"$0/other\"", run.disk.at, NULL);
}

static void end_somehow(void)
{
    run.changed = false;
    if (one_in(3))
        sync_other_file();
    if (run.on_disk && one_in(3)) {
        cut_power();
        return;
    }
    bool stops = one_in(2);
    end_serving(stops);
    counts.stops += stops;
    counts.kills += !stops;
    if (one_in(8)) {
        change_owners();
    } else if (!run.no_machine && one_in(6)) {
        machine_restart();
        counts.boots++;
    }
}

/* The restarts of one folder; the first starts may be killed while they make it. */
static void play_restarts(unsigned n)
{
    begin_folder(!run.no_machine && !one_in(3));
    while (one_in(2))
        kill_a_start();
    expect_serving();
    load_begin(run.port);
    for (unsigned i = 1; i < n; i++) {
        wait_ms(between(0, 80));
        end_somehow();
        while (!run.changed && one_in(4)) /* another boot does not forgive a change of owners */
            kill_a_start();
        expect_serving();
    }
    load_end();
    counts.repeats += load_check(run.port) + load_repeats();
    end_serving(true);
    end_folder();
}

/* An init with a floor that is killed at any moment can be run again, and then the fleet serves. */
static void play_floor(void)
{
    char *program = pawl_program("pawld");
    const char *const init[] = {program, "init",          "--data", run.folder, "--max-ttl-ms",
                                "1000",  "--token-floor", "1000",   NULL};
    begin_folder(!run.no_machine && one_in(2));
    for (unsigned kills = between(1, 4); kills > 0; kills--) {
        struct process *process = process_start(init, run.log);
        wait_ms(between(0, 40));
        process_kill(process);
        counts.floors_killed++;
    }
    assert_int_equal(process_run(init, run.log, START_MS), 0);
    expect_serving();
    end_serving(one_in(2));
    expect_serving();
    end_serving(true);
    end_folder();
    free(program);
}

/* More than the minute that a crash of the machine is forgiven. Then the ctime of the next note may
 * reach the disk before the note does. */
static void play_idle(void)
{
    begin_folder(true);
    expect_serving();
    load_begin(run.port);
    wait_ms(100);
    load_end();
    wait_ms(IDLE_MS);
    counts.repeats += load_check(run.port);
    machine_run("echo x >>\"$0/other\" && sync \"$0/other\"", run.disk.at, NULL);
    cut_power();
    expect_serving();
    counts.repeats += load_check(run.port);
    end_serving(true);
    end_folder();
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void tell_counts(void)
{
    for (unsigned i = 0; i < PUT_BACK_KINDS; i++)
        printf("%6u  %s\n", counts.tried[i], put_back_names[i]);
    printf("put back: refused %u, served with all that was answered %u, older and believed %u\n",
           counts.refused, counts.harmless, counts.believed);
    printf("restarts %u: kill -9 %u, clean stops %u, power cuts %u, other boots after them %u, "
           "owners or modes changed %u, starts killed %u, inits with a floor killed %u; refused "
           "wrongly %u\n",
           counts.restarts, counts.kills, counts.stops, counts.cuts, counts.boots, counts.owners,
           counts.starts_killed, counts.floors_killed, counts.refused_wrongly);
    printf("tokens repeated or lower, held locks granted again: %u\n", counts.repeats);
}

static void play_all(void **state)
{
    char *own = tempdir_new();
    run.no_machine = machine_begin(own);
    if (run.no_machine)
        printf("skipped: mounts, snapshots and power cuts, as %s\n", run.no_machine);
    sim_rng_init(&run.rng, options.seed, 0);
    run.port = port_free();
    for (unsigned i = 0; i < options.put_backs; i++)
        play_put_back();
    while (counts.restarts < options.restarts) {
        play_restarts(between(5, 30));
        play_floor();
    }
    for (unsigned i = 0; i < options.idles && !run.no_machine; i++)
        play_idle();
    tell_counts();
    assert_int_equal(counts.believed, 0);
    assert_int_equal(counts.repeats, 0);
    tempdir_remove(own);
}

static int clean_up(void **state)
{
    load_end();
    process_kill_all();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct number_option list[] = {
        {"put-backs", 'p', "How many folders get older files (default 10)",
         .count = &options.put_backs},
        {"restarts", 'r', "How many restarts, at the least (default 50)",
         .count = &options.restarts},
        {"idles", 'i', "How many power cuts after an idle minute (default 0)",
         .count = &options.idles},
        {"seed", 's', "What is drawn from (default 1)", .seed = &options.seed},
        {.name = NULL},
    };
    const struct CMUnitTest cases[] = {cmocka_unit_test_teardown(play_all, clean_up)};
    numbers_parse(argc, argv, "Older files of a fleet that is a file.", list);
    return cmocka_run_group_tests_name("put_back", cases, NULL, NULL) ? 1 : 0;
}
