#include "tests/chaos/master.h"

#include "tests/chaos/clock.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum {
    UP_TIMEOUT_MS = 20000,
    FLUSH_TIMEOUT_S = 2,
};

static char *join(const char *first, const char *second, const char *third)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", first, second, third) < 0)
        fail_msg("out of memory");
    return text;
}

/* ---- its clock ------------------------------------------------------------------------------- */

static struct chaos_clock *make_clock(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct chaos_clock)) != 0)
        fail_msg("cannot make %s: %s", path, strerror(errno));
    void *mapped =
        mmap(NULL, sizeof(struct chaos_clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        fail_msg("cannot map %s: %s", path, strerror(errno));
    return mapped;
}

void chaos_master_set_clock(struct chaos_master *master, int64_t offset_us, int64_t rate_ppm)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct chaos_clock *clock = master->clock;
    const uint32_t next = atomic_load(&clock->turn) ^ 1;
    clock->setting[next] = (struct chaos_clock_setting){
        .offset_us = offset_us,
        .since_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000,
        .rate_ppm = rate_ppm,
    };
    atomic_store(&clock->turn, next);
}

/* ---- its life -------------------------------------------------------------------------------- */

void chaos_master_init(struct chaos_master *master, const char *dir, const char *name,
                       enum redis_persistence persistence, const char *shim)
{
    *master = (struct chaos_master){.port = port_free(), .persistence = persistence};
    master->dir = join(dir, "/", name);
    master->clock_path = join(master->dir, ".clock", "");
    if (mkdir(master->dir, 0700) != 0)
        fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
    master->clock = make_clock(master->clock_path);
    chaos_master_start(master, shim);
}

void chaos_master_fini(struct chaos_master *master)
{
    process_kill(master->process);
    if (master->clock)
        munmap(master->clock, sizeof(*master->clock));
    free(master->dir);
    free(master->clock_path);
    *master = (struct chaos_master){0};
}

void chaos_master_start(struct chaos_master *master, const char *shim)
{
    char port[8];
    snprintf(port, sizeof(port), "%u", (unsigned)master->port);
    char *preload = join("LD_PRELOAD=", shim, "");
    char *clock = join(CHAOS_CLOCK_VARIABLE, "=", master->clock_path);
    char *log = join(master->dir, ".log", "");
    const char *const argv[] = {
        "env",
        preload,
        clock,
        "redis-server",
        "--port",
        port,
        "--bind",
        "127.0.0.1",
        "--dir",
        master->dir,
        "--save",
        "",
        "--appendonly",
        master->persistence == REDIS_VOLATILE ? "no" : "yes",
        "--appendfsync",
        master->persistence == REDIS_ALWAYS ? "always" : "everysec",
        "--aof-load-truncated",
        "yes",
        NULL,
    };
    assert_null(master->process);
    master->process = process_start(argv, log);
    free(preload);
    free(clock);
    free(log);
}

void chaos_master_wait_up(struct chaos_master *master)
{
    process_wait_line(master->process, "[Rr]eady to accept connections", UP_TIMEOUT_MS, NULL, 0);
}

void chaos_master_kill(struct chaos_master *master)
{
    process_kill(master->process);
    master->process = NULL;
}

bool chaos_master_flush(const struct chaos_master *master)
{
    const struct timeval timeout = {.tv_sec = FLUSH_TIMEOUT_S};
    redisContext *redis = redisConnectWithTimeout("127.0.0.1", master->port, timeout);
    redisReply *reply = NULL;
    if (redis && !redis->err && redisSetTimeout(redis, timeout) == REDIS_OK)
        reply = redisCommand(redis, "FLUSHALL");
    const bool flushed = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (redis)
        redisFree(redis);
    return flushed;
}

/* ---- its disk -------------------------------------------------------------------------------- */

void chaos_master_empty(struct chaos_master *master)
{
    tempdir_remove_tree(master->dir);
    if (mkdir(master->dir, 0700) != 0)
        fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
}

static unsigned long part_number(const char *name)
{
    static const char prefix[] = "appendonly.aof.";
    return strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".incr.")
               ? strtoul(name + strlen(prefix), NULL, 10)
               : 0;
}

/* The newest of the files that Redis appends to; NULL if there is none. The caller frees it. */
static char *newest_part(const char *dir)
{
    unsigned long newest = 0;
    char *path = NULL;
    char *parts = join(dir, "/", "appendonlydir");
    DIR *listing = opendir(parts);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (part_number(entry->d_name) <= newest)
            continue;
        newest = part_number(entry->d_name);
        free(path);
        path = join(parts, "/", entry->d_name);
    }
    if (listing)
        closedir(listing);
    free(parts);
    return path;
}

void chaos_master_cut_tail(struct chaos_master *master, size_t bytes)
{
    struct stat file;
    char *path = newest_part(master->dir);
    if (path && stat(path, &file) == 0) {
        const off_t left = file.st_size > (off_t)bytes ? file.st_size - (off_t)bytes : 0;
        if (truncate(path, left) != 0)
            fail_msg("cannot cut %s: %s", path, strerror(errno));
    }
    free(path);
}
