/* The witness: a small file beside the database that says what the database should be. A database
 * that was copied or put back from a copy differs from what its witness saw.
 *
 * It is written after each commit, and made sure of when the database is opened and closed. A
 * process that is killed loses nothing of it. A machine that crashes may lose the last writes: then
 * the witness saw less than the database has, which is fine.
 *
 * It is locked too, so that one process at a time serves from a folder. */
#ifndef STORAGE_SQLITE_WITNESS_H
#define STORAGE_SQLITE_WITNESS_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORAGE_BOOT_ID_MAX = 36, /* characters of the kernel's id of this boot */
    STORAGE_FILE_ID_LEN = 32, /* characters of the id of a database */
};

/* What was seen. All of it is in the first sector of the file. */
struct storage_seen {
    char magic[16]; /* STORAGE_WITNESS_MAGIC; another: it saw nothing yet */
    char file_id[STORAGE_FILE_ID_LEN + 1];
    char boot_id[STORAGE_BOOT_ID_MAX + 1];
    int32_t pid;       /* of the process that has it open, or had it last */
    uint64_t inode;    /* of the database, */
    int64_t born_ns;   /* and when that inode was made; 0: the file system does not say */
    uint64_t openings; /* of the database */
    uint64_t commits;
    int64_t written_ns;    /* when the database was last written to: by a checkpoint, since all else
                            * goes to its log */
    int32_t checkpointing; /* not 0: one may be under way, and that time is not known */
};

#define STORAGE_WITNESS_MAGIC "pawl witness 1"

struct storage_witness {
    int fd;
    bool open;
    struct storage_seen seen;
};

/* Opens the witness at @path, which is made if it is not there, and locks it. FENCE_EBUSY: another
 * process has it, whose id is then in *@ret_pid. FENCE_EIO: errno says why. */
FENCE_CHECKED int storage_witness_open(const char *path, struct storage_witness *ret_witness,
                                       int *ret_pid);
void storage_witness_close(struct storage_witness *witness);

bool storage_witness_is_new(const struct storage_witness *witness);

/* Writes what it saw: any process that opens it later reads that, unless the machine crashes.
 * FENCE_EIO: it saw less, then. */
FENCE_CHECKED int storage_witness_note(const struct storage_witness *witness);

/* The same, and makes sure that it is on the disk. FENCE_EIO. */
FENCE_CHECKED int storage_witness_sync(const struct storage_witness *witness);

/* What the system says of a file. */
struct storage_look {
    uint64_t inode;
    int64_t born_ns;    /* as in struct storage_seen */
    int64_t written_ns; /* likewise */
};

/* Looks at the file at @path. FENCE_ENOENT: there is none. FENCE_EIO: errno says why. */
FENCE_CHECKED int storage_witness_look(const char *path, struct storage_look *ret_look);

/* The id of this boot of the machine. FENCE_EIO. */
FENCE_CHECKED int storage_witness_boot(char ret_id[static STORAGE_BOOT_ID_MAX + 1]);

#endif
