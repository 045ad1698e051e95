/* A disk with faults, put before the C library's calls in a program (LD_PRELOAD). It concerns files
 * called pawl.db*. The file that $PAWL_DISK_FAULTS names has one of these words:
 *
 *     full        A write fails with ENOSPC.
 *     sync        A write succeeds. Its fsync fails with EIO.
 *     slow N      An fsync takes N milliseconds more.
 *     torn        Half of the next write is done. Then the process is killed.
 *
 * Nothing happens with any other word, and without that file. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FAULT_MAX = 32,
    NAME_MAX_BYTES = 4096,
};

/* It keeps no state: a call costs two system calls more, and sees a new fault at once. */
static bool read_fault(char fault[static FAULT_MAX])
{
    const char *path = getenv("PAWL_DISK_FAULTS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    ssize_t len = read(fd, fault, FAULT_MAX - 1);
    close(fd);
    fault[len > 0 ? len : 0] = '\0';
    return len > 0;
}

static bool is_of_database(int fd)
{
    char link[64];
    char name[NAME_MAX_BYTES];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof(name) - 1);
    if (len < 0)
        return false;
    name[len] = '\0';
    return strstr(name, "/pawl.db") != NULL;
}

static bool has_fault(int fd, char fault[static FAULT_MAX])
{
    int why = errno;
    bool has = read_fault(fault) && is_of_database(fd);
    errno = why;
    return has;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

typedef ssize_t pwrite_fn(int fd, const void *bytes, size_t len, off_t offset);
typedef int sync_fn(int fd);

static ssize_t faulty_pwrite(pwrite_fn *real, int fd, const void *bytes, size_t len, off_t offset)
{
    char fault[FAULT_MAX];
    if (!has_fault(fd, fault))
        return real(fd, bytes, len, offset);
    if (strncmp(fault, "full", 4) == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (strncmp(fault, "torn", 4) == 0) {
        (void)real(fd, bytes, len / 2, offset);
        (void)raise(SIGKILL);
    }
    return real(fd, bytes, len, offset);
}

static int faulty_sync(sync_fn *real, int fd)
{
    char fault[FAULT_MAX];
    bool has = has_fault(fd, fault);
    if (has && strncmp(fault, "sync", 4) == 0) {
        errno = EIO;
        return -1;
    }
    if (has && strncmp(fault, "slow ", 5) == 0)
        sleep_ms(strtol(fault + 5, NULL, 10));
    return real(fd);
}

static void *real_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs begin with "__" */

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    return faulty_pwrite((pwrite_fn *)real_of("pwrite"), fd, bytes, len, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t offset)
{
    return faulty_pwrite((pwrite_fn *)real_of("pwrite64"), fd, bytes, len, offset);
}

int fsync(int fd)
{
    return faulty_sync((sync_fn *)real_of("fsync"), fd);
}

int fdatasync(int fd)
{
    return faulty_sync((sync_fn *)real_of("fdatasync"), fd);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
