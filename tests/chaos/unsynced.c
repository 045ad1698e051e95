/* chaos_unsynced --on always|everysec|file --losses N --seed X [--lying]
 *
 * Losses of power under load: what is killed has synced what it answered, or loses it for real
 * (tests/lib/unsynced.c). One pawld serves from three Redis masters, or from a file; clients write
 * to the guarded ledger. A loss takes masters, the file's pawld, the ledger, or several at once.
 * After N losses the history is checked.
 *
 *     always      Masters with appendfsync always: one, two or all lose power at once, all also
 * with pawld and the ledger. everysec    Masters with appendfsync everysec lose power one at a
 * time; at the end all at once, and then pawld has to grant nothing. file        pawld over its
 * file, and the ledger.
 *     --lying     A sync of a master keeps nothing, and all lose power. The run has to find a
 * broken promise.
 *
 * Exit status: 0 all went well; 1 a promise was broken, or nothing was lost where it should. */
#include "tests/chaos/small.h"
#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/machine.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"

#include <argp.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MASTERS = 3,
    ALL = (1 << MASTERS) - 1,
    LEDGER = 1 << MASTERS, /* beside the bits of masters */
    PAWLD = 1 << (MASTERS + 1),
    QUIET_MIN_MS = 20, /* between two losses */
    QUIET_MAX_MS = 600,
    PATIENCE_MS = 20000,
    LAST_GRANTS = 200, /* before all lose power, and more until some are unsynced */
    LAST_GRANTS_MAX = 5000,
    REFUSED_MS = 2000, /* for which nothing is granted afterwards */
};

enum on {
    ON_ALWAYS,
    ON_EVERYSEC,
    ON_FILE,
    ON_KINDS
};

static const char *const on_names[ON_KINDS] = {"always", "everysec", "file"};

static struct options {
    enum on on;
    unsigned losses;
    uint64_t seed;
    bool lying;
} options = {ON_ALWAYS, 20, 1, false};

static struct {
    struct small stage;
    struct redis_fleet *fleet; /* NULL: a file */
    struct process *pawld;
    char folder[SMALL_PATH_BYTES]; /* of the file */
    char lies[SMALL_PATH_BYTES];   /* while this file is there, a disk may lie */
    char *library;
    struct sim_rng rng;
    unsigned of_masters[MASTERS + 1]; /* losses of so many at once */
    unsigned of_ledger, of_pawld;
    unsigned short_of;        /* masters that lost something they had acknowledged, ... */
    unsigned long long bytes; /* ... and how much, together */
    unsigned long long most;
} run;

/* ---- the disk -------------------------------------------------------------------------------- */

static void preload(const char *folder)
{
    setenv("PAWL_UNSYNCED", folder, 1);
    setenv("LD_PRELOAD", run.library, 1);
    if (options.lying)
        setenv("PAWL_UNSYNCED_LIES", run.lies, 1);
}

static void preload_no_more(void)
{
    unsetenv("LD_PRELOAD");
    unsetenv("PAWL_UNSYNCED_LIES");
}

static void data_of(char ret_path[static SMALL_PATH_BYTES], unsigned i)
{
    small_path(ret_path, run.fleet->master[i].dir, "appendonlydir");
}

/* The bytes that the append-only files of master @i have on disk. */
static unsigned long long bytes_kept(unsigned i)
{
    char folder[SMALL_PATH_BYTES], path[SMALL_PATH_BYTES];
    unsigned long long kept = 0;
    data_of(folder, i);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat file;
        small_path(path, folder, entry->d_name);
        if (strstr(entry->d_name, ".aof.") && !strstr(entry->d_name, "manifest") &&
            stat(path, &file) == 0)
            kept += (unsigned long long)file.st_size;
    }
    if (dir)
        closedir(dir);
    return kept;
}

/* The bytes that master @i has appended for commands that it has answered. */
static unsigned long long bytes_answered(unsigned i)
{
    static const char field[] = "aof_current_size:";
    redisReply *info = redis_fleet_command(run.fleet, i, "INFO persistence");
    const char *found = strstr(info->str, field);
    assert_non_null(found);
    const unsigned long long bytes = strtoull(found + strlen(field), NULL, 10);
    freeReplyObject(info);
    return bytes;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void start_master(unsigned i)
{
    char folder[SMALL_PATH_BYTES];
    data_of(folder, i);
    preload(folder);
    redis_fleet_restart(run.fleet, i, true);
    preload_no_more();
}

static void start_ledger(void)
{
    preload(run.stage.database);
    small_start_ledger(&run.stage);
    preload_no_more();
}

static void start_file(void)
{
    preload(run.folder);
    run.pawld = small_serve(&run.stage, run.folder);
    preload_no_more();
}

static void start_masters(void)
{
    run.fleet = redis_fleet_new(MASTERS, options.on == ON_ALWAYS ? REDIS_ALWAYS : REDIS_EVERYSEC);
    for (unsigned i = 0; i < MASTERS; i++) {
        redis_fleet_kill(run.fleet, i);
        start_master(i);
    }
    assert_int_equal(
        pawl_init(run.fleet, (const char *const[]){"--new", "--max-ttl-ms", "1000", NULL}), 0);
}

static void start_pawld(void)
{
    static const char *const settings[] = {"--probe-ms", "50", "--workers", "2", NULL};
    if (options.on == ON_FILE)
        start_file();
    else
        run.pawld = pawld_start_on(run.fleet, run.stage.port, settings).process;
}

static bool all_are_active(void *unused)
{
    (void)unused;
    return small_active(&run.stage, NULL) == MASTERS;
}

static void wait_served(void)
{
    if (run.fleet && !wait_until(all_are_active, NULL, PATIENCE_MS))
        fail_msg("a master is not active %d ms after its power was back; see %s", PATIENCE_MS,
                 run.fleet->dir);
}

static void set_up_stage(void)
{
    sim_rng_init(&run.rng, options.seed, 0);
    run.library = pawl_beside("unsynced.so");
    small_path(run.folder, run.stage.dir, "data");
    small_path(run.lies, run.stage.dir, "lies");
    if (options.on != ON_FILE)
        start_masters();
    start_pawld();
    wait_served();
    start_ledger();
    small_start_clients(&run.stage, options.seed);
    if (!options.lying)
        return;
    FILE *lies = fopen(run.lies, "w");
    assert_non_null(lies);
    fclose(lies);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* The machines that lose power next, as bits. */
static unsigned draw_victims(void)
{
    const unsigned first = 1u << sim_rng_below(&run.rng, MASTERS);
    const unsigned drawn = sim_rng_below(&run.rng, 4);
    if (options.lying) /* what runs on would know better than the disks */
        return (run.fleet ? ALL : 0) | PAWLD | LEDGER;
    if (options.on == ON_FILE)
        return drawn == 0 ? LEDGER : drawn == 1 ? LEDGER | PAWLD : PAWLD;
    if (drawn == 0)
        return LEDGER;
    if (options.on == ON_EVERYSEC || drawn == 1)
        return first;
    if (drawn == 2)
        return ALL & ~first;
    return sim_rng_chance(&run.rng, 500) ? ALL : ALL | PAWLD | LEDGER;
}

static void count_short(unsigned i, unsigned long long answered)
{
    const unsigned long long kept = bytes_kept(i);
    const unsigned long long missing = answered > kept ? answered - kept : 0;
    run.short_of += missing > 0;
    run.bytes += missing;
    run.most = missing > run.most ? missing : run.most;
}

static void lose_masters(unsigned victims)
{
    unsigned long long answered[MASTERS] = {0};
    unsigned count = 0;
    for (unsigned i = 0; i < MASTERS; i++)
        if (victims >> i & 1)
            answered[i] = bytes_answered(i);
    for (unsigned i = 0; i < MASTERS; i++)
        if (victims >> i & 1)
            redis_fleet_kill(run.fleet, i);
    for (unsigned i = 0; i < MASTERS; i++) {
        if (!(victims >> i & 1))
            continue;
        count++;
        count_short(i, answered[i]);
        start_master(i);
    }
    run.of_masters[count]++;
}

static void lose(unsigned victims)
{
    if (victims & LEDGER)
        process_kill(run.stage.ledger.process);
    if (victims & PAWLD)
        process_kill(run.pawld);
    if ((victims & PAWLD) && options.on == ON_FILE)
        machine_restart(); /* on a machine that runs on nothing was lost, and pawld knows it */
    if (victims & ALL)
        lose_masters(victims & ALL);
    if (victims & PAWLD)
        start_pawld();
    if (victims & LEDGER)
        start_ledger();
    run.of_ledger += (victims & LEDGER) != 0;
    run.of_pawld += (victims & PAWLD) != 0;
}

static void lose_often(void)
{
    for (unsigned i = 0; i < options.losses; i++) {
        wait_ms(sim_rng_between(&run.rng, QUIET_MIN_MS, QUIET_MAX_MS));
        lose(draw_victims());
        wait_served();
    }
}

static int status_of(const char *method, const char *path)
{
    struct http_response response;
    http_once(run.stage.port, method, path, NULL, NULL, &response);
    const int status = response.status;
    http_response_fini(&response);
    return status;
}

static bool is_all_synced(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        if (bytes_answered(i) > bytes_kept(i))
            return false;
    return true;
}

/* Masters that sync each second, all at once: pawld has to say that it does not know. */
static unsigned lose_all_and_ask(void)
{
    unsigned granted_before = 0, granted = 0, refused = 0;
    for (unsigned i = 0; i < LAST_GRANTS_MAX && (i < LAST_GRANTS || is_all_synced()); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/v1/locks/unsynced/last/%u", i);
        granted_before += status_of("POST", path) == 201;
    }
    const unsigned long long before = run.bytes;
    lose_masters(ALL);
    for (uint64_t end_ms = wait_now_ms() + REFUSED_MS; wait_now_ms() < end_ms; wait_ms(20))
        if (status_of("POST", "/v1/locks/unsynced/last/0") == 201)
            granted++;
        else
            refused++;
    printf("all masters at once, after %u grants: %llu bytes lost; then %u locks granted, %u "
           "refused, /readyz %d\n",
           granted_before, run.bytes - before, granted, refused, status_of("GET", "/readyz"));
    return granted;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void tell_losses(void)
{
    printf("%s, seed %" PRIu64 ": power lost %u times: ", on_names[options.on], options.seed,
           options.losses);
    if (run.fleet)
        printf("one master %u, two %u, three %u, ", run.of_masters[1], run.of_masters[2],
               run.of_masters[3]);
    printf("pawld %u, the ledger %u\n", run.of_pawld, run.of_ledger);
    if (run.fleet)
        printf("answered and lost by masters: %u times, %llu bytes, %llu at most\n", run.short_of,
               run.bytes, run.most);
}

static void play_losses(void **state)
{
    (void)state;
    set_up_stage();
    lose_often();
    const uint64_t healed_us = wait_now_ms() * 1000;
    small_end(&run.stage);
    tell_losses();
    size_t violations = small_check(&run.stage, healed_us);
    if (options.on == ON_EVERYSEC)
        violations += lose_all_and_ask();
    printf("violations: %zu\n", violations);
    process_kill(run.pawld);
    if (options.lying && violations == 0)
        fail_msg("a disk that lies broke no promise: the run shows nothing");
    if (!options.lying && violations > 0)
        fail_msg("%zu violations", violations);
    if (options.on == ON_ALWAYS && !options.lying && run.bytes > 0)
        fail_msg("masters that sync always lost %llu bytes", run.bytes);
    if (options.on == ON_EVERYSEC && run.bytes == 0)
        fail_msg("nothing unsynced was lost: the run shows nothing");
    redis_fleet_free(run.fleet);
    small_remove(&run.stage);
    free(run.library);
}

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse_losses(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'o':
        for (int on = 0; on < ON_KINDS; on++)
            if (strcmp(text, on_names[on]) == 0) {
                options.on = (enum on)on;
                return 0;
            }
        argp_error(state, "--on takes always, everysec or file");
        return 0;
    case 'l':
        options.losses = (unsigned)strtoul(text, NULL, 10);
        return 0;
    case 's':
        options.seed = strtoull(text, NULL, 10);
        return 0;
    case 'y':
        options.lying = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"on", 'o', "KIND", 0, "always, everysec or file (default always)", 0},
        {"losses", 'l', "N", 0, "How often power is lost (default 20)", 0},
        {"seed", 's', "X", 0, "What losses and clients are drawn from (default 1)", 0},
        {"lying", 'y', NULL, 0, "A sync keeps nothing: the run has to find it", 0},
        {0},
    };
    static const struct argp argp = {list, parse_losses, NULL, "Losses of power under load.",
                                     NULL, NULL,         NULL};
    const struct CMUnitTest cases[] = {cmocka_unit_test(play_losses)};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    small_begin(&run.stage);
    const char *why = options.on == ON_FILE ? machine_begin(run.stage.dir) : NULL;
    if (why) {
        printf("skipped: %s\n", why);
        small_remove(&run.stage);
        return CASE_SKIPPED;
    }
    int failed = cmocka_run_group_tests_name("unsynced", cases, NULL, NULL);
    if (failed)
        small_keep(&run.stage);
    return failed ? 1 : 0;
}
