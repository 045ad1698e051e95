#include "tests/lib/pawl.h"

#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/lib/wait.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PAWL_BIN_DIR
#error "the build says where the programs are"
#endif

enum {
    START_TIMEOUT_MS = 10000,
    READY_TIMEOUT_MS = 10000,
    INIT_TIMEOUT_MS = 15000,
    ARGS_MAX = 64,
};

/* ---- command lines --------------------------------------------------------------------------- */

struct args {
    unsigned count;
    const char *items[ARGS_MAX + 1]; /* ended by NULL, as all begins as {0} */
    char *program;
    char *log;
};

static void add(struct args *args, const char *arg)
{
    assert_in_range(args->count, 0, ARGS_MAX - 1);
    args->items[args->count++] = arg;
}

static void add_all(struct args *args, const char *const more[])
{
    for (; more && *more; more++)
        add(args, *more);
}

static void add_masters(struct args *args, const struct redis_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        add(args, "--master");
        add(args, fleet->master[i].url);
    }
}

char *pawl_program(const char *name)
{
    const char *dir = getenv("PAWL_BIN_DIR");
    return text_make("%s/%s", dir ? dir : PAWL_BIN_DIR, name);
}

char *pawl_beside(const char *name)
{
    char self[PATH_MAX] = "";
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        fail_msg("cannot find %s", name);
    return text_make("%s/%s", dirname(self), name);
}

/* For the program @name, which writes to @log with @suffix. run() or serve_on() is the end of them.
 */
static struct args begin(const char *name, const char *log, const char *suffix)
{
    struct args args = {.program = pawl_program(name), .log = text_make("%s%s", log, suffix)};
    add(&args, args.program);
    return args;
}

static void end(struct args *args)
{
    free(args->program);
    free(args->log);
}

/* Returns the exit status. */
static int run(struct args *args)
{
    const int status = process_run(args->items, args->log, INIT_TIMEOUT_MS);
    end(args);
    return status;
}

/* ---- pawld ----------------------------------------------------------------------------------- */

int pawl_init(struct redis_fleet *fleet, const char *const options[])
{
    struct args args = begin("pawld", fleet->dir, "/init.log");
    add(&args, "init");
    add_all(&args, options);
    add_masters(&args, fleet);
    return run(&args);
}

void pawl_init_new(struct redis_fleet *fleet)
{
    const int status = pawl_init(fleet, (const char *const[]){"--new", NULL});
    if (status != 0)
        fail_msg("pawld init --new ended with %d; see %s/init.log", status, fleet->dir);
}

/* Adds --listen on @port, starts what stands in @args, waits until it listens. */
static struct pawl_service serve_on(struct args *args, uint16_t port)
{
    struct pawl_service service = {.port = port};
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)service.port);
    add(args, "--listen");
    add(args, listen);
    if (tls_everywhere()) {
        add(args, "--tls-cert");
        add(args, tls_service()->cert);
        add(args, "--tls-key");
        add(args, tls_service()->key);
    }
    service.process = process_start(args->items, args->log);
    process_wait_line(service.process, "listening on 127\\.0\\.0\\.1:[0-9]+", START_TIMEOUT_MS,
                      NULL, 0);
    end(args);
    return service;
}

struct pawl_service pawld_start(struct redis_fleet *fleet, const char *const options[])
{
    return pawld_start_on(fleet, port_free(), options);
}

struct pawl_service pawld_start_on(struct redis_fleet *fleet, uint16_t port,
                                   const char *const options[])
{
    struct args args = begin("pawld", fleet->dir, "/pawld.log");
    add_masters(&args, fleet);
    add(&args, "--workers"); /* the same on any machine; @options may ask for another number */
    add(&args, "1");
    add_all(&args, options);
    return serve_on(&args, port);
}

struct pawl_service pawld_start_at(const char *folder, const char *const options[])
{
    struct args args = begin("pawld", folder, ".log");
    add(&args, "--data");
    add(&args, folder);
    add(&args, "--workers");
    add(&args, "1");
    add_all(&args, options);
    return serve_on(&args, port_free());
}

int pawld_run_at(const char *command, const char *folder, const char *const options[],
                 const char *log)
{
    struct args args = begin("pawld", log, "");
    if (command)
        add(&args, command);
    add(&args, "--data");
    add(&args, folder);
    add_all(&args, options);
    (void)remove(log);
    return run(&args);
}

static bool is_ready(void *arg)
{
    const struct pawl_service *service = arg;
    struct http_response response;
    http_once(service->port, "GET", "/readyz", NULL, NULL, &response);
    const bool ready = response.status == 200;
    http_response_fini(&response);
    return ready;
}

void pawl_wait_ready(struct pawl_service service)
{
    if (!wait_until(is_ready, &service, READY_TIMEOUT_MS))
        fail_msg("pawld on port %u did not become ready", (unsigned)service.port);
}

struct pawl_service pawld_start_new(struct redis_fleet *fleet)
{
    pawl_init_new(fleet);
    const struct pawl_service service = pawld_start(fleet, NULL);
    pawl_wait_ready(service);
    return service;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

struct pawl_service pawl_ledger_start(const char *db, const char *const options[])
{
    struct args args = begin("pawl-ledger", db, ".log");
    add(&args, "--db");
    add(&args, db);
    add_all(&args, options);
    return serve_on(&args, port_free());
}
