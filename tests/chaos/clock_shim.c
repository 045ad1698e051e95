/* Preloaded into a redis-server: its wall clock goes as the file named in its environment says
 * (tests/chaos/clock.h). Its monotonic clocks stay as they are.
 *
 * The kernel is asked directly. Looking up the C library's own functions would allocate, and the
 * allocator of Redis asks for the time before it can allocate (where libfaketime comes to grief).
 */
#include "tests/chaos/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    MILLION = 1000000,
};

static const struct chaos_clock *file;

__attribute__((constructor)) static void attach(void)
{
    const char *path = getenv(CHAOS_CLOCK_VARIABLE);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof(*file), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        file = mapped;
}

static int64_t shown_us(int64_t real_us)
{
    if (!file)
        return real_us;
    const struct chaos_clock_setting *setting = &file->setting[atomic_load(&file->turn) & 1];
    const int64_t drift_us = (real_us - setting->since_us) * setting->rate_ppm / MILLION;
    return real_us + setting->offset_us + drift_us;
}

/* The library calls its parameters by reserved names. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, id, now) != 0)
        return -1;
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
        const int64_t real_us = (int64_t)now->tv_sec * MILLION + now->tv_nsec / 1000;
        const int64_t us = shown_us(real_us);
        *now = (struct timespec){.tv_sec = us / MILLION, .tv_nsec = us % MILLION * 1000};
    }
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
        return -1;
    *now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *ret_now)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
        return -1;
    if (ret_now)
        *ret_now = exact.tv_sec;
    return exact.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
