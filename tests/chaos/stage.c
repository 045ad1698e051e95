#include "tests/chaos/stage.h"

#include "tests/chaos/call.h"
#include "tests/chaos/observer.h"
#include "tests/chaos/proxy.h"
#include "tests/chaos/record.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    START_TIMEOUT_MS = 20000,
    FLEET_TIMEOUT_MS = 500,
    ARGS_MAX = 32,
    NUMBER_MAX = 24,
};

/* Two keep everything, two may lose the last second, one keeps nothing. */
static const enum redis_persistence persistence[STAGE_MASTERS] = {
    REDIS_ALWAYS, REDIS_ALWAYS, REDIS_EVERYSEC, REDIS_EVERYSEC, REDIS_VOLATILE,
};

/* ---- texts ----------------------------------------------------------------------------------- */

static char *in_dir(const struct stage *stage, const char *name)
{
    return text_make("%s/%s", stage->dir, name);
}

char *stage_history_path(const struct stage *stage)
{
    return in_dir(stage, "history");
}

char *stage_database_path(const struct stage *stage)
{
    return in_dir(stage, "ledger.db");
}

/* The arguments of a program, kept until args_fini(). */
struct args {
    unsigned count;
    char *items[ARGS_MAX + 1];
};

__attribute__((format(printf, 2, 3))) static void add(struct args *args, const char *format, ...)
{
    va_list values;
    assert_in_range(args->count, 0, ARGS_MAX - 1);
    va_start(values, format);
    const int len = vasprintf(&args->items[args->count++], format, values);
    va_end(values);
    assert_true(len >= 0);
}

static void args_fini(struct args *args)
{
    for (unsigned i = 0; i < args->count; i++)
        free(args->items[i]);
}

static void add_program(struct args *args, char *path)
{
    add(args, "%s", path);
    free(path);
}

static struct process *start(const struct stage *stage, const struct args *args, const char *log)
{
    char *path = in_dir(stage, log);
    struct process *process = process_start((const char *const *)args->items, path);
    free(path);
    return process;
}

/* ---- masters and pawld ----------------------------------------------------------------------- */

static void make_master(struct stage *stage, unsigned i)
{
    char name[NUMBER_MAX];
    snprintf(name, sizeof(name), "redis-%u-%u", i + 1, stage->masters_made++);
    chaos_master_init(&stage->master[i], stage->dir, name, persistence[i], stage->shim);
}

void stage_master_replace(struct stage *stage, unsigned i, struct chaos_master *ret_old)
{
    *ret_old = stage->master[i];
    make_master(stage, i);
    chaos_master_wait_up(&stage->master[i]);
    proxy_point(stage->proxy, stage->feed[i], stage->master[i].port);
}

void stage_master_add(struct stage *stage, unsigned i, enum redis_persistence kept,
                      struct chaos_master *ret_other)
{
    char name[NUMBER_MAX];
    snprintf(name, sizeof(name), "other-%u-%u", i + 1, stage->masters_made++);
    chaos_master_init(ret_other, stage->dir, name, kept, stage->shim);
}

/* The port by which pawld comes to the server at @port, which is master @i. */
static uint16_t way_to(const struct stage *stage, unsigned i, uint16_t port)
{
    return stage->observer ? observer_port(stage->observer, i, port) : port;
}

void stage_master_point(struct stage *stage, unsigned i, unsigned pawlds, uint16_t port)
{
    for (unsigned j = 0; j < STAGE_PAWLDS; j++) {
        if (!(pawlds & 1U << j))
            continue;
        proxy_point(stage->proxy, stage->pawld[j].link[i], way_to(stage, i, port));
        proxy_reset(stage->proxy, stage->pawld[j].link[i]);
    }
}

static void init_fleet(struct stage *stage)
{
    struct args args = {0};
    add_program(&args, pawl_program("pawld"));
    add(&args, "init");
    add(&args, "--new");
    add(&args, "--max-ttl-ms=%d", STAGE_TTL_MAX_MS);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        add(&args, "--master=redis://127.0.0.1:%u", (unsigned)stage->master[i].port);
    const int status = process_wait(start(stage, &args, "init.log"), START_TIMEOUT_MS);
    if (status != 0)
        fail_msg("pawld init ended with %d", status);
    args_fini(&args);
}

void stage_pawld_start(struct stage *stage, unsigned i)
{
    struct stage_pawld *pawld = &stage->pawld[i];
    struct args args = {0};
    char log[NUMBER_MAX];
    snprintf(log, sizeof(log), "pawld-%u.log", i + 1);
    add_program(&args, pawl_program("pawld"));
    add(&args, "--listen=127.0.0.1:%u", (unsigned)pawld->port);
    for (unsigned j = 0; j < STAGE_MASTERS; j++)
        add(&args, "--master=redis://127.0.0.1:%u",
            (unsigned)proxy_port(stage->proxy, pawld->link[j]));
    if (stage->observer)
        add(&args, "--log-level=trace");
    pawld->process = start(stage, &args, log);
    process_wait_line(pawld->process, "listening on 127", START_TIMEOUT_MS, NULL, 0);
    args_fini(&args);
}

void stage_pawld_kill(struct stage *stage, unsigned i)
{
    process_kill(stage->pawld[i].process);
    stage->pawld[i].process = NULL;
}

static void make_pawld(struct stage *stage, unsigned i)
{
    struct stage_pawld *pawld = &stage->pawld[i];
    pawld->port = port_free();
    pawld->door = proxy_add(stage->proxy, pawld->port);
    for (unsigned j = 0; j < STAGE_MASTERS; j++)
        pawld->link[j] = proxy_add(stage->proxy, way_to(stage, j, stage->master[j].port));
    stage_pawld_start(stage, i);
    pawl_wait_ready((struct pawl_service){pawld->process, pawld->port});
}

static struct call_answer ask_for_fleet(const struct stage *stage, unsigned i)
{
    const struct call_request request = {
        .port = stage->pawld[i].port,
        .method = "GET",
        .path = "/v1/fleet",
        .timeout_ms = FLEET_TIMEOUT_MS,
    };
    struct call_answer answer;
    call(&request, &answer);
    return answer;
}

static const char *said_of(const struct call_answer *fleet, unsigned i, const char *name)
{
    const json_t *masters = json_object_get(fleet->json, "masters");
    const char *text = json_string_value(json_object_get(json_array_get(masters, i), name));
    return text ? text : "";
}

void stage_look(const struct stage *stage, unsigned i, struct stage_sight *ret_sight)
{
    struct call_answer fleet = ask_for_fleet(stage, i);
    *ret_sight = (struct stage_sight){.answered = fleet.status == 200};
    for (unsigned j = 0; j < STAGE_MASTERS; j++) {
        if (strcmp(said_of(&fleet, j, "state"), "active") == 0)
            ret_sight->active |= 1U << j;
        snprintf(ret_sight->reason[j], sizeof(ret_sight->reason[j]), "%s",
                 said_of(&fleet, j, "reason"));
    }
    call_answer_fini(&fleet);
}

unsigned stage_active(const struct stage *stage, unsigned i)
{
    struct stage_sight sight;
    stage_look(stage, i, &sight);
    return sight.active;
}

void stage_print_masters(const struct stage *stage, unsigned i)
{
    struct call_answer fleet = ask_for_fleet(stage, i);
    printf("pawld %u says of the masters:", i + 1);
    for (unsigned j = 0; j < STAGE_MASTERS; j++)
        printf(" %u %s %s%s", j + 1, said_of(&fleet, j, "state"), said_of(&fleet, j, "reason"),
               j + 1 < STAGE_MASTERS ? "," : "\n");
    call_answer_fini(&fleet);
}

/* ---- the ledger and its clients -------------------------------------------------------------- */

static void make_ledger(struct stage *stage, bool guarded)
{
    char *db = stage_database_path(stage);
    stage->ledger =
        pawl_ledger_start(db, guarded ? NULL : (const char *const[]){"--unguarded", NULL});
    record_install(db);
    free(db);
}

void stage_client_start(struct stage *stage, unsigned i)
{
    struct args args = {0};
    char *history = stage_history_path(stage);
    add_program(&args, pawl_beside("chaos_client"));
    for (unsigned j = 0; j < STAGE_PAWLDS; j++)
        add(&args, "--door=%u", (unsigned)proxy_port(stage->proxy, stage->pawld[j].door));
    add(&args, "--ledger=%u", (unsigned)stage->ledger.port);
    add(&args, "--history=%s", history);
    add(&args, "--first=%u", stage->clients_made++ * STAGE_THREADS);
    add(&args, "--threads=%d", STAGE_THREADS);
    add(&args, "--counting=%d", STAGE_COUNTING);
    add(&args, "--names=%d", STAGE_NAMES);
    add(&args, "--seed=%" PRIu64, stage->seed);
    stage->client[i] = start(stage, &args, "clients.log");
    args_fini(&args);
    free(history);
}

void stage_client_kill(struct stage *stage, unsigned i)
{
    process_kill(stage->client[i]);
    stage->client[i] = NULL;
}

void stage_end_clients(struct stage *stage)
{
    for (unsigned i = 0; i < STAGE_CLIENTS; i++)
        stage_client_kill(stage, i);
    process_stop(stage->ledger.process);
    stage->ledger.process = NULL;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void begin_to_observe(struct stage *stage)
{
    char *path = in_dir(stage, "masters");
    stage->observer = observer_new(path);
    free(path);
}

struct stage *stage_new(bool guarded, uint64_t seed, bool traced)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    assert_non_null(stage);
    stage->dir = tempdir_new();
    stage->shim = pawl_beside("chaos_clock.so");
    stage->seed = seed;
    stage->proxy = proxy_new();
    if (traced)
        begin_to_observe(stage);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        make_master(stage, i);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        chaos_master_wait_up(&stage->master[i]);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        stage->feed[i] = proxy_add(stage->proxy, stage->master[i].port);
    sentinel_start(&stage->sentinel, stage->dir);
    init_fleet(stage);
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        make_pawld(stage, i);
    make_ledger(stage, guarded);
    for (unsigned i = 0; i < STAGE_CLIENTS; i++)
        stage_client_start(stage, i);
    return stage;
}

void stage_free(struct stage *stage)
{
    if (!stage)
        return;
    stage_end_clients(stage);
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        stage_pawld_kill(stage, i);
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        chaos_master_fini(&stage->master[i]);
    observer_free(stage->observer);
    sentinel_stop(&stage->sentinel);
    proxy_free(stage->proxy);
    tempdir_remove(stage->dir);
    free(stage->shim);
    free(stage);
}

static bool fell(struct process *process)
{
    return process && !process_alive(process);
}

const char *stage_fallen(const struct stage *stage)
{
    for (unsigned i = 0; i < STAGE_MASTERS; i++)
        if (fell(stage->master[i].process))
            return "a master";
    for (unsigned i = 0; i < STAGE_PAWLDS; i++)
        if (fell(stage->pawld[i].process))
            return "a pawld";
    for (unsigned i = 0; i < STAGE_CLIENTS; i++)
        if (fell(stage->client[i]))
            return "a client";
    if (fell(stage->sentinel.process))
        return "the Sentinel";
    return fell(stage->ledger.process) ? "the ledger" : NULL;
}
