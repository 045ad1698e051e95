#include "tests/chaos/master.h"

#include "tests/chaos/clock.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    UP_TIMEOUT_MS = 20000,
};

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
    master->dir = text_make("%s/%s", dir, name);
    master->clock_path = text_make("%s.clock", master->dir);
    if (mkdir(master->dir, 0700) != 0)
        fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
    master->clock = make_clock(master->clock_path);
    chaos_master_start(master, shim);
}

void chaos_master_fini(struct chaos_master *master)
{
    chaos_master_kill(master);
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
    char *preload = text_make("LD_PRELOAD=%s", shim);
    char *clock = text_make("%s=%s", CHAOS_CLOCK_VARIABLE, master->clock_path);
    char *log = text_make("%s.log", master->dir);
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
        "--repl-diskless-sync-delay",
        "0",
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

size_t chaos_master_children(const struct chaos_master *master,
                             pid_t ret_children[CHAOS_CHILDREN_MAX])
{
    char path[64];
    size_t count = 0;
    const int pid = (int)process_id(master->process);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    char *text = text_read(path, 0), *at = text, *end;
    for (long child; count < CHAOS_CHILDREN_MAX && (child = strtol(at, &end, 10)) > 0; at = end)
        ret_children[count++] = (pid_t)child;
    free(text);
    return count;
}

/* Its children would end with it only when they next write to it. */
void chaos_master_kill(struct chaos_master *master)
{
    pid_t children[CHAOS_CHILDREN_MAX];
    if (!master->process)
        return;
    const size_t count = chaos_master_children(master, children);
    process_kill(master->process);
    for (size_t i = 0; i < count; i++)
        kill(children[i], SIGKILL);
    master->process = NULL;
}
