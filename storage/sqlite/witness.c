#include "storage/sqlite/witness.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The file's ctime comes a moment after noted_ns. If the process is stopped in between, or the
 * clock steps, the difference grows: then the note is written again. On file systems with whole
 * seconds the ctime may be up to one second earlier. */
#define NOTE_EARLY_NS INT64_C(1000000000)
#define NOTE_LATE_NS  INT64_C(500000000)

enum {
    NOTE_TRIES = 4,
    VERSION_1_BYTES = 144,
    CLOCK_LINE_MAX = 128, /* of /proc/self/timens_offsets */
    CLOCK_WORD_MAX = 20,  /* a number of 64 bits */
};
static_assert(offsetof(struct storage_seen, clean) == VERSION_1_BYTES - 4, "as version 1 had it");
static_assert(sizeof(struct storage_seen) <= 512, "a sector");

/* ---- its life -------------------------------------------------------------------------------- */

/* The lock of an open file description ends with it, even if other code of this process opens the
 * file. */
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
    return pread(fd, &seen, sizeof(seen), 0) >= VERSION_1_BYTES ? seen.pid : 0;
}

static enum storage_witness_version version_of(const struct storage_seen *seen, ssize_t len)
{
    static const char nothing[sizeof(seen->magic)];
    if (memcmp(seen->magic, nothing, sizeof(nothing)) == 0)
        return STORAGE_WITNESS_NONE;
    if (memcmp(seen->magic, STORAGE_WITNESS_MAGIC, sizeof(STORAGE_WITNESS_MAGIC)) == 0 &&
        len == (ssize_t)sizeof(*seen))
        return STORAGE_WITNESS_2;
    if (memcmp(seen->magic, STORAGE_WITNESS_MAGIC_1, sizeof(STORAGE_WITNESS_MAGIC_1)) == 0 &&
        len >= VERSION_1_BYTES)
        return STORAGE_WITNESS_1;
    return STORAGE_WITNESS_UNKNOWN;
}

static int read_witness(struct storage_witness *witness)
{
    struct storage_seen seen = {0};
    ssize_t len = pread(witness->fd, &seen, sizeof(seen), 0);
    if (len < 0 || storage_look_into(witness->fd, &witness->found) != 0)
        return FENCE_EIO;
    witness->version = version_of(&seen, len);
    if (witness->version == STORAGE_WITNESS_1)
        memset(&seen.clean, 0, sizeof(seen) - offsetof(struct storage_seen, clean));
    if (witness->version == STORAGE_WITNESS_1 || witness->version == STORAGE_WITNESS_2)
        witness->seen = seen;
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
        error = read_witness(&witness);
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
    if (witness->open)
        close(witness->fd);
    witness->open = false;
}

/* ---- what it saw ----------------------------------------------------------------------------- */

void storage_witness_see(struct storage_witness *witness, const struct storage_look *look)
{
    struct storage_seen *seen = &witness->seen;
    seen->inode = look->inode;
    seen->born_ns = look->born_ns;
    seen->written_ns = look->written_ns;
    seen->changed_ns = look->changed_ns;
    seen->owner = look->owner;
    seen->group = look->group;
    seen->mode = look->mode;
    seen->links = look->links;
}

/* The clock that file systems of this machine take their times from. */
static int64_t clock_of_files(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME_COARSE, &now);
    assert(failed == 0);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int write_seen(const struct storage_witness *witness)
{
    assert(witness->open);
    ssize_t len = pwrite(witness->fd, &witness->seen, sizeof(witness->seen), 0);
    return len == (ssize_t)sizeof(witness->seen) ? 0 : FENCE_EIO;
}

static int has_noted_time(const struct storage_witness *witness, bool *ret_has)
{
    assert(witness->open);
    struct storage_look look;
    int error = storage_look_into(witness->fd, &look);
    if (error)
        return error;
    int64_t late_ns = look.changed_ns - witness->seen.noted_ns;
    *ret_has = late_ns >= -NOTE_EARLY_NS && late_ns <= NOTE_LATE_NS;
    return 0;
}

int storage_witness_note(struct storage_witness *witness)
{
    struct storage_seen *seen = &witness->seen;
    for (unsigned tries = 0; tries < NOTE_TRIES && !seen->foreign_clock; tries++) {
        bool has = false;
        seen->noted_ns = clock_of_files();
        int error = write_seen(witness);
        if (!error)
            error = has_noted_time(witness, &has);
        if (error || has)
            return error;
    }
    seen->foreign_clock = 1;
    return write_seen(witness);
}

int storage_witness_sync(struct storage_witness *witness)
{
    assert(witness->seen.magic[0] != '\0');
    int error = storage_witness_note(witness);
    if (error)
        return error;
    if (fsync(witness->fd) != 0)
        return FENCE_EIO;
    witness->seen.synced_ns = witness->seen.noted_ns;
    return 0;
}

void storage_witness_look_after(struct storage_witness *witness)
{
    bool has = true;
    if (witness->seen.foreign_clock || has_noted_time(witness, &has) != 0 || has)
        return;
    int unseen = storage_witness_sync(witness); /* on failure the next start may refuse */
    (void)unseen;
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

int storage_witness_clock(const char *boot_id, char ret_id[static STORAGE_CLOCK_ID_MAX + 1])
{
    char seconds[CLOCK_WORD_MAX + 1] = "0", ns[CLOCK_WORD_MAX + 1] = "0";
    char line[CLOCK_LINE_MAX];
    (void)snprintf(ret_id, STORAGE_CLOCK_ID_MAX + 1, "%s", boot_id);
    FILE *file = fopen("/proc/self/timens_offsets", "re");
    if (!file)
        return errno == ENOENT ? 0 : FENCE_EIO; /* a kernel without time namespaces */
    bool found = false;
    while (!found && fgets(line, sizeof(line), file))
        found = sscanf(line, "boottime %20s %20s", seconds, ns) == 2;
    fclose(file);
    if (!found)
        return FENCE_EIO;
    if (strcmp(seconds, "0") != 0 || strcmp(ns, "0") != 0)
        (void)snprintf(ret_id, STORAGE_CLOCK_ID_MAX + 1, "%s %s %s", boot_id, seconds, ns);
    return 0;
}
