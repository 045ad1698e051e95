#include "tests/lib/redis_clock.h"

#include "tests/chaos/clock.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    US_IN_MS = 1000,
};

static void make_file(struct redis_clock *clock, const struct redis_fleet *fleet, unsigned i)
{
    clock->path = text_make("%s/clock-%u", fleet->dir, i + 1);
    const int fd = open(clock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct chaos_clock)) != 0)
        fail_msg("cannot make %s: %s", clock->path, strerror(errno));
    void *mapped =
        mmap(NULL, sizeof(struct chaos_clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        fail_msg("cannot map %s: %s", clock->path, strerror(errno));
    clock->shown = mapped;
}

void redis_clock_restart(struct redis_clock *clock, struct redis_fleet *fleet, unsigned i,
                         bool keep_data)
{
    if (!clock->shown)
        make_file(clock, fleet, i);
    redis_fleet_kill(fleet, i);
    char *shim = pawl_beside("chaos_clock.so");
    setenv(CHAOS_CLOCK_VARIABLE, clock->path, 1);
    setenv("LD_PRELOAD", shim, 1);
    redis_fleet_restart(fleet, i, keep_data);
    unsetenv("LD_PRELOAD");
    unsetenv(CHAOS_CLOCK_VARIABLE);
    free(shim);
}

void redis_clock_set(struct redis_clock *clock, int64_t offset_ms)
{
    const uint32_t next = atomic_load(&clock->shown->turn) ^ 1;
    clock->shown->setting[next] = (struct chaos_clock_setting){.offset_us = offset_ms * US_IN_MS};
    atomic_store(&clock->shown->turn, next);
}

void redis_clock_fini(struct redis_clock *clock)
{
    if (clock->shown)
        munmap(clock->shown, sizeof(*clock->shown));
    free(clock->path);
    *clock = (struct redis_clock){0};
}
