#include "storage/sqlite/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- its life -------------------------------------------------------------------------------- */

/* An open file description's lock goes with it, whatever else of this process opens the file. */
static int lock_whole(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? FENCE_EBUSY : FENCE_EIO;
}

static int holder_of(int fd)
{
    struct storage_seen seen = {0};
    return pread(fd, &seen, sizeof(seen), 0) == (ssize_t)sizeof(seen) ? seen.pid : 0;
}

static int read_seen(int fd, struct storage_seen *ret_seen)
{
    struct storage_seen seen = {0};
    ssize_t len = pread(fd, &seen, sizeof(seen), 0);
    if (len < 0)
        return FENCE_EIO;
    *ret_seen = len == (ssize_t)sizeof(seen) ? seen : (struct storage_seen){0};
    return 0;
}

int storage_witness_open(const char *path, struct storage_witness *ret_witness, int *ret_pid)
{
    struct storage_witness witness = {.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (witness.fd < 0)
        return FENCE_EIO;
    int error = lock_whole(witness.fd);
    if (error == FENCE_EBUSY)
        *ret_pid = holder_of(witness.fd);
    if (!error)
        error = read_seen(witness.fd, &witness.seen);
    if (!error) {
        witness.seen.pid = getpid();
        error = storage_witness_note(&witness);
    }
    if (error) {
        int why = errno;
        close(witness.fd);
        errno = why;
        return error;
    }
    witness.open = true;
    *ret_witness = witness;
    return 0;
}

void storage_witness_close(struct storage_witness *witness)
{
    if (!witness->open)
        return;
    int unsure = storage_witness_sync(witness); /* then it saw less, if the machine crashes */
    (void)unsure;
    close(witness->fd);
    witness->open = false;
}

/* ---- what it saw ----------------------------------------------------------------------------- */

bool storage_witness_is_new(const struct storage_witness *witness)
{
    return memcmp(witness->seen.magic, STORAGE_WITNESS_MAGIC, sizeof(STORAGE_WITNESS_MAGIC)) != 0;
}

int storage_witness_note(const struct storage_witness *witness)
{
    ssize_t len = pwrite(witness->fd, &witness->seen, sizeof(witness->seen), 0);
    return len == (ssize_t)sizeof(witness->seen) ? 0 : FENCE_EIO;
}

int storage_witness_sync(const struct storage_witness *witness)
{
    int error = storage_witness_note(witness);
    return error || fsync(witness->fd) == 0 ? error : FENCE_EIO;
}

static int64_t nanoseconds(const struct statx_timestamp *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

int storage_witness_look(const char *path, struct storage_look *ret_look)
{
    struct statx found;
    if (statx(AT_FDCWD, path, 0, STATX_INO | STATX_BTIME | STATX_MTIME, &found) != 0)
        return errno == ENOENT ? FENCE_ENOENT : FENCE_EIO;
    *ret_look = (struct storage_look){
        .inode = found.stx_ino,
        .born_ns = found.stx_mask & STATX_BTIME ? nanoseconds(&found.stx_btime) : 0,
        .written_ns = nanoseconds(&found.stx_mtime),
    };
    return 0;
}

int storage_witness_boot(char ret_id[static STORAGE_BOOT_ID_MAX + 1])
{
    char line[STORAGE_BOOT_ID_MAX + 1];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return FENCE_EIO;
    bool read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    if (!read)
        return FENCE_EIO;
    memcpy(ret_id, line, sizeof(line));
    return 0;
}
