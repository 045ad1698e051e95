#include "api/client/owner.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum {
    OWNED_MAX = 65536, /* descriptors. A child keeps a higher one, and does not use it */
    WORD_BITS = 64,
};

static _Atomic uint64_t owned[OWNED_MAX / WORD_BITS]; /* a bit for each descriptor */
static _Atomic unsigned forks;                        /* that led to this process */

void client_own(int fd)
{
    if (fd >= 0 && fd < OWNED_MAX)
        (void)atomic_fetch_or(&owned[fd / WORD_BITS], UINT64_C(1) << (fd % WORD_BITS));
}

void client_close(int fd)
{
    if (fd >= 0 && fd < OWNED_MAX)
        (void)atomic_fetch_and(&owned[fd / WORD_BITS], ~(UINT64_C(1) << (fd % WORD_BITS)));
    if (fd >= 0)
        (void)close(fd);
}

/* Reads from the descriptor end at once, and writes go nowhere. The number stays in use: libcurl
 * may be in the middle of a message to it. */
static void cut_off(int fd, int null_fd)
{
    if (null_fd < 0 || dup3(null_fd, fd, O_CLOEXEC) < 0)
        (void)close(fd);
}

/* Runs in a child before its first step: without locks, and with system calls only. The peer of a
 * connection notices the end of the parent if no child has the connection. */
static void after_fork(void)
{
    int null_fd = -1;
    (void)atomic_fetch_add(&forks, 1);
    for (int i = 0; i < OWNED_MAX / WORD_BITS; i++) {
        for (uint64_t word = atomic_exchange(&owned[i], 0); word != 0; word &= word - 1) {
            if (null_fd < 0)
                null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            cut_off(i * WORD_BITS + __builtin_ctzll(word), null_fd);
        }
    }
    if (null_fd >= 0)
        (void)close(null_fd);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork);
}

struct client_owner client_owner_here(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    return (struct client_owner){.pid = getpid(), .forks = atomic_load(&forks)};
}

/* The pid alone does not identify a child: in a new PID namespace it may equal its parent's. A fork
 * by a bare system call is not counted. */
bool client_owner_is_here(const struct client_owner *owner)
{
    return owner->pid == getpid() && owner->forks == atomic_load(&forks);
}
