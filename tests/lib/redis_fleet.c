#include "tests/lib/redis_fleet.h"

#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    START_TIMEOUT_MS = 10000,
    COMMAND_TIMEOUT_S = 5,
};

/* ---- starting -------------------------------------------------------------------------------- */

static void master_init(struct redis_fleet *fleet, unsigned i)
{
    struct redis_master *master = &fleet->master[i];
    char name[24];
    snprintf(name, sizeof(name), "redis-%u", i + 1);
    master->dir = text_make("%s/%s", fleet->dir, name);
    if (mkdir(master->dir, 0700) != 0)
        fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
    master->socket = text_make("%s/sock", master->dir);
    master->port = port_free();
    master->url = text_make("redis://127.0.0.1:%u", (unsigned)master->port);
}

/* Does not wait until it is up, so that all of a fleet start side by side. */
static void spawn(struct redis_fleet *fleet, unsigned i)
{
    struct redis_master *master = &fleet->master[i];
    assert_null(master->process);
    char port[8];
    snprintf(port, sizeof(port), "%u", (unsigned)master->port);
    const bool append = fleet->persistence != REDIS_VOLATILE;
    const bool always = fleet->persistence == REDIS_ALWAYS;
    const bool module = fleet->modules >> i & 1;
    const char *build = getenv("PAWL_BUILD");
    const char *file = getenv("PAWL_TEST_MODULE_FILE"); /* a whole path: servers change folders */
    char *path = file ? text_make("%s", file)
                      : text_make("%s/storage/pawl-master.so", build ? build : "build");
    const char *const argv[] = {
        "redis-server",
        "--port",
        port,
        "--bind",
        "127.0.0.1",
        "--unixsocket",
        master->socket,
        "--dir",
        master->dir,
        "--save",
        "",
        "--appendonly",
        append ? "yes" : "no",
        "--appendfsync",
        always ? "always" : "everysec",
        module ? "--enable-module-command" : NULL,
        "local",
        "--loadmodule",
        path,
        NULL,
    };
    char *log = text_make("%s/log", master->dir);
    master->process = process_start(argv, log);
    free(log);
    free(path);
}

static void wait_up(struct redis_fleet *fleet, unsigned i)
{
    process_wait_line(fleet->master[i].process, "[Rr]eady to accept connections", START_TIMEOUT_MS,
                      NULL, 0);
}

struct redis_fleet *redis_fleet_new(unsigned n, enum redis_persistence persistence)
{
    return redis_fleet_new_mixed(n, persistence, getenv("PAWL_TEST_MODULE") ? UINT32_MAX : 0);
}

struct redis_fleet *redis_fleet_new_mixed(unsigned n, enum redis_persistence persistence,
                                          uint32_t modules)
{
    assert_in_range(n, 1, FENCE_MASTERS_MAX);
    struct redis_fleet *fleet = calloc(1, sizeof(*fleet));
    assert_non_null(fleet);
    fleet->n = n;
    fleet->persistence = persistence;
    fleet->modules = modules;
    fleet->dir = tempdir_new();
    for (unsigned i = 0; i < n; i++) {
        master_init(fleet, i);
        spawn(fleet, i);
    }
    for (unsigned i = 0; i < n; i++)
        wait_up(fleet, i);
    return fleet;
}

struct redis_fleet *redis_fleet_attach(unsigned n, const uint16_t ports[])
{
    assert_in_range(n, 1, FENCE_MASTERS_MAX);
    struct redis_fleet *fleet = calloc(1, sizeof(*fleet));
    assert_non_null(fleet);
    fleet->n = n;
    fleet->attached = true;
    fleet->dir = tempdir_new();
    for (unsigned i = 0; i < n; i++) {
        fleet->master[i].port = ports[i];
        fleet->master[i].url = text_make("redis://127.0.0.1:%u", (unsigned)ports[i]);
    }
    return fleet;
}

bool redis_fleet_runs(const struct redis_fleet *fleet, unsigned i)
{
    return fleet->attached || fleet->master[i].process;
}

void redis_fleet_free(struct redis_fleet *fleet)
{
    if (!fleet)
        return;
    for (unsigned i = 0; i < fleet->n; i++) {
        struct redis_master *master = &fleet->master[i];
        process_kill(master->process);
        free(master->url);
        free(master->socket);
        free(master->dir);
    }
    tempdir_remove(fleet->dir);
    free(fleet);
}

/* ---- what can happen to a master ------------------------------------------------------------- */

void redis_fleet_kill(struct redis_fleet *fleet, unsigned i)
{
    process_kill(fleet->master[i].process);
    fleet->master[i].process = NULL;
}

void redis_fleet_restart(struct redis_fleet *fleet, unsigned i, bool keep_data)
{
    struct redis_master *master = &fleet->master[i];
    if (!keep_data) {
        tempdir_remove_tree(master->dir);
        if (mkdir(master->dir, 0700) != 0)
            fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
    }
    spawn(fleet, i);
    wait_up(fleet, i);
}

void redis_fleet_pause(struct redis_fleet *fleet, unsigned i)
{
    process_signal(fleet->master[i].process, SIGSTOP);
}

void redis_fleet_resume(struct redis_fleet *fleet, unsigned i)
{
    process_signal(fleet->master[i].process, SIGCONT);
}

void redis_fleet_readdress(struct redis_fleet *fleet, unsigned i, const char *url)
{
    char *copy = strdup(url); /* first: @url may be the old one */
    assert_non_null(copy);
    free(fleet->master[i].url);
    fleet->master[i].url = copy;
}

/* ---- looking into a master ------------------------------------------------------------------- */

static redisReply *command(struct redis_fleet *fleet, unsigned i, const char *format, va_list args)
{
    const struct timeval timeout = {.tv_sec = COMMAND_TIMEOUT_S};
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", fleet->master[i].port, timeout);
    assert_non_null(redis);
    if (redis->err || redisSetTimeout(redis, timeout) != REDIS_OK)
        fail_msg("cannot connect to master %u: %s", i + 1, redis->errstr);
    redisReply *reply = redisvCommand(redis, format, args);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("master %u on %s: %s", i + 1, format, reply ? reply->str : redis->errstr);
    redisFree(redis);
    return reply;
}

redisReply *redis_fleet_command(struct redis_fleet *fleet, unsigned i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = command(fleet, i, format, args);
    va_end(args);
    return reply;
}

long long redis_fleet_integer(struct redis_fleet *fleet, unsigned i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = command(fleet, i, format, args);
    va_end(args);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    const long long integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}
