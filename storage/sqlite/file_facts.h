/* The system's facts about a file: its inode, its times, who may use it. */
#ifndef STORAGE_SQLITE_FILE_FACTS_H
#define STORAGE_SQLITE_FILE_FACTS_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

struct storage_look {
    uint64_t inode;
    int64_t born_ns;    /* when the inode was made; 0: the file system does not record it */
    int64_t written_ns; /* mtime, which any program can set */
    int64_t changed_ns; /* ctime, which only the kernel sets */
    uint32_t owner;
    uint32_t group;
    uint32_t mode;
    uint32_t links;
    uint64_t device;
    uint64_t bytes;
};

/* Looks at the file at @path. FENCE_ENOENT: there is none. FENCE_EIO: errno has the reason. */
FENCE_CHECKED int storage_look_at(const char *path, struct storage_look *ret_look);

/* Looks at an open file. FENCE_EIO: errno has the reason. */
FENCE_CHECKED int storage_look_into(int fd, struct storage_look *ret_look);

/* chown, chmod and link change these, and with them changed_ns. */
bool storage_look_same_attributes(const struct storage_look *a, const struct storage_look *b);

#endif
