#include "storage/sqlite/file_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int64_t nanoseconds(const struct statx_timestamp *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static int look(int fd, const char *path, int flags, struct storage_look *ret_look)
{
    struct statx found;
    if (statx(fd, path, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0)
        return errno == ENOENT ? FENCE_ENOENT : FENCE_EIO;
    *ret_look = (struct storage_look){
        .inode = found.stx_ino,
        .born_ns = found.stx_mask & STATX_BTIME ? nanoseconds(&found.stx_btime) : 0,
        .written_ns = nanoseconds(&found.stx_mtime),
        .changed_ns = nanoseconds(&found.stx_ctime),
        .owner = found.stx_uid,
        .group = found.stx_gid,
        .mode = found.stx_mode,
        .links = found.stx_nlink,
        .device = makedev(found.stx_dev_major, found.stx_dev_minor),
        .bytes = found.stx_size,
    };
    return 0;
}

int storage_look_at(const char *path, struct storage_look *ret_look)
{
    return look(AT_FDCWD, path, 0, ret_look);
}

int storage_look_into(int fd, struct storage_look *ret_look)
{
    int error = look(fd, "", AT_EMPTY_PATH, ret_look);
    return error == FENCE_ENOENT ? FENCE_EIO : error;
}

bool storage_look_same_attributes(const struct storage_look *a, const struct storage_look *b)
{
    return a->owner == b->owner && a->group == b->group && a->mode == b->mode &&
           a->links == b->links;
}
