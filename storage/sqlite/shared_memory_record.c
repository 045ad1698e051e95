#include "storage/sqlite/shared_memory_record.h"

#include "storage/sqlite/file_facts.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_FOLDER "/dev/shm"
#define RECORD_PREFIX "pawl-"
#define RECORD_MAGIC  "pawl record 1"

enum {
    NAME_BYTES = sizeof(RECORD_FOLDER "/" RECORD_PREFIX) + 64,
    SWEPT_MAX = 10000, /* files that one sweep looks at */
};

/* ---- one record ------------------------------------------------------------------------------ */

static bool name_record(const char *file_id, char ret_path[static NAME_BYTES])
{
    int len = snprintf(ret_path, NAME_BYTES, RECORD_FOLDER "/" RECORD_PREFIX "%s", file_id);
    return len > 0 && len < (int)NAME_BYTES;
}

/* Opens with care: another user may have put a file or a link there. */
static int open_record(const char *file_id, int flags)
{
    char path[NAME_BYTES];
    struct stat found;
    if (!name_record(file_id, path))
        return -1;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid() &&
        (found.st_mode & 077) == 0 && found.st_nlink == 1)
        return fd;
    close(fd);
    return -1;
}

static bool read_recorded(int fd, struct storage_recorded *ret_recorded)
{
    struct storage_recorded recorded;
    if (pread(fd, &recorded, sizeof(recorded), 0) != (ssize_t)sizeof(recorded) ||
        memcmp(recorded.magic, RECORD_MAGIC, sizeof(RECORD_MAGIC)) != 0)
        return false;
    recorded.folder[STORAGE_RECORD_FOLDER_MAX] = '\0';
    *ret_recorded = recorded;
    return true;
}

bool storage_record_read(const char *file_id, struct storage_recorded *ret_recorded)
{
    int fd = open_record(file_id, 0);
    if (fd < 0)
        return false;
    bool read = read_recorded(fd, ret_recorded);
    close(fd);
    return read;
}

bool storage_record_is_anothers(const char *file_id)
{
    char path[NAME_BYTES];
    struct stat found;
    return name_record(file_id, path) && lstat(path, &found) == 0 && found.st_uid != geteuid();
}

static bool find_folder(const char *folder, struct storage_recorded *recorded)
{
    struct storage_look look;
    char *path = realpath(folder, NULL);
    bool fits =
        path && strlen(path) <= STORAGE_RECORD_FOLDER_MAX && storage_look_at(path, &look) == 0;
    if (fits) {
        recorded->device = look.device;
        (void)snprintf(recorded->folder, sizeof(recorded->folder), "%s", path);
    }
    free(path);
    return fits;
}

/* Writes all of it at once, so that tmpfs has room for each later note. */
static int write_record(const char *file_id, const struct storage_recorded *recorded)
{
    assert(memcmp(recorded->magic, RECORD_MAGIC, sizeof(RECORD_MAGIC)) == 0);
    int fd = open_record(file_id, O_CREAT);
    if (fd >= 0 && pwrite(fd, recorded, sizeof(*recorded), 0) != (ssize_t)sizeof(*recorded)) {
        close(fd);
        return -1;
    }
    return fd;
}

int storage_record_keep(const char *file_id, const char *folder, uint64_t openings,
                        uint64_t commits)
{
    struct storage_recorded recorded = {
        .magic = RECORD_MAGIC, .openings = openings, .commits = commits};
    return find_folder(folder, &recorded) ? write_record(file_id, &recorded) : -1;
}

void storage_record_note(int record, uint64_t openings, uint64_t commits)
{
    const uint64_t counts[] = {openings, commits};
    if (record < 0)
        return;
    ssize_t unseen =
        pwrite(record, counts, sizeof(counts), offsetof(struct storage_recorded, openings));
    (void)unseen; /* on failure it saw less */
}

void storage_record_replace(const char *file_id, const char *folder)
{
    struct storage_recorded recorded = {.magic = RECORD_MAGIC};
    struct storage_recorded found;
    if (!find_folder(folder, &recorded))
        return;
    if (storage_record_read(file_id, &found)) {
        if (!storage_record_is_of(&found, folder))
            return; /* the database that was copied to @folder has a record of its own */
        recorded = found;
    }
    recorded.replaced = 1;
    int fd = write_record(file_id, &recorded);
    if (fd >= 0)
        close(fd);
}

bool storage_record_is_of(const struct storage_recorded *recorded, const char *folder)
{
    char *path = realpath(folder, NULL);
    bool same = path && strcmp(path, recorded->folder) == 0;
    free(path);
    return same;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Reports whether the folder was removed. The nearest existing folder above it tells whether its
 * file system is mounted: an unmounted one may be mounted again. */
static bool folder_is_gone(struct storage_recorded *recorded)
{
    struct storage_look look;
    char *path = recorded->folder;
    if (path[0] != '/' || storage_look_at(path, &look) != FENCE_ENOENT)
        return false;
    do {
        char *slash = strrchr(path, '/');
        assert(slash != NULL);
        slash[slash == path ? 1 : 0] = '\0';
        int error = storage_look_at(path, &look);
        if (error != FENCE_ENOENT)
            return !error && look.device == recorded->device;
    } while (path[1] != '\0');
    return false;
}

static bool is_name_of_record(const char *name)
{
    const size_t prefix = strlen(RECORD_PREFIX);
    return strncmp(name, RECORD_PREFIX, prefix) == 0 &&
           strspn(name + prefix, "0123456789abcdef") == 32 && strlen(name) == prefix + 32;
}

void storage_record_sweep(void)
{
    DIR *all = opendir(RECORD_FOLDER);
    if (!all)
        return;
    struct dirent *entry;
    for (unsigned looked = 0; looked < SWEPT_MAX && (entry = readdir(all)); looked++) {
        struct storage_recorded recorded;
        if (is_name_of_record(entry->d_name) &&
            storage_record_read(entry->d_name + strlen(RECORD_PREFIX), &recorded) &&
            folder_is_gone(&recorded))
            (void)unlinkat(dirfd(all), entry->d_name, 0);
    }
    closedir(all);
}
