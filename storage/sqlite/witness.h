/* The witness: a small file beside the database that describes the database. A database that was
 * copied or restored differs from its witness.
 *
 * pawld writes the witness after each commit, and syncs it when the database is opened,
 * checkpointed and closed. A killed process loses no note. A crashed machine may lose the last
 * notes: then the witness saw less than the database has, which is fine.
 *
 * Each note has the time at which it was written. The kernel puts the same time on the file as its
 * ctime, which no program can set back. A restored witness has an old note and a new ctime.
 *
 * The witness is also locked, so that one process at a time serves from a folder. */
#ifndef STORAGE_SQLITE_WITNESS_H
#define STORAGE_SQLITE_WITNESS_H

#include "storage/sqlite/file_facts.h"

enum {
    STORAGE_BOOT_ID_MAX = 36,  /* characters of the kernel's id of this boot */
    STORAGE_CLOCK_ID_MAX = 78, /* characters of a boot id and two signed numbers of 64 bits */
    STORAGE_FILE_ID_LEN = 32,  /* characters of the id of a database */
};

/* The observed facts. The first sector of the file holds all of it. */
struct storage_seen {
    char magic[16];
    char file_id[STORAGE_FILE_ID_LEN + 1];
    char boot_id[STORAGE_BOOT_ID_MAX + 1];
    int32_t pid;       /* id of the process that has the folder, or had it last */
    uint64_t inode;    /* inode of the database */
    int64_t born_ns;   /* of that inode; 0: the file system does not record it */
    uint64_t openings; /* of the database */
    uint64_t commits;
    int64_t written_ns;    /* mtime of the database after the last checkpoint: all other writes go
                            * to its log */
    int32_t checkpointing; /* not 0: a checkpoint may be under way, and the times are not known */

    /* Since version 2. */
    int32_t clean;         /* not 0: the last close was complete, and this note was synced */
    int64_t noted_ns;      /* the wall clock, just before this note was written */
    int64_t synced_ns;     /* noted_ns of the last note that was synced before this one */
    int32_t foreign_clock; /* not 0: the file system takes its times from another clock */
    uint32_t owner;        /* of the database after the last checkpoint, as written_ns */
    uint32_t group;
    uint32_t mode;
    uint32_t links;
    int32_t base_unsure;   /* not 0: the last checkpoint broke off: without its log the database
                            * may be unreadable */
    int64_t changed_ns;    /* ctime of the database */
    uint64_t base_commits; /* commits that the database has without its log */
};

#define STORAGE_WITNESS_MAGIC_1 "pawl witness 1"
#define STORAGE_WITNESS_MAGIC   "pawl witness 2"

enum storage_witness_version {
    STORAGE_WITNESS_NONE,    /* no note yet */
    STORAGE_WITNESS_1,       /* of an earlier pawld, whose notes had no time */
    STORAGE_WITNESS_2,       /* of this version */
    STORAGE_WITNESS_UNKNOWN, /* of a later pawld, or damaged */
};

struct storage_witness {
    int fd;
    bool open;
    enum storage_witness_version version; /* the version when it was opened */
    struct storage_look found;            /* the file's attributes when it was opened */
    struct storage_seen seen;
};

/* Opens the witness at @path, creates it if it is missing, and locks it. Writes nothing: a refused
 * start leaves its times unchanged. FENCE_EBUSY: another process has it, whose id is then in
 * *@ret_pid. FENCE_EIO: errno has the reason. */
FENCE_CHECKED int storage_witness_open(const char *path, struct storage_witness *ret_witness,
                                       int *ret_pid);
void storage_witness_close(struct storage_witness *witness);

/* Copies the system's facts about the database into the note. */
void storage_witness_see(struct storage_witness *witness, const struct storage_look *look);

/* Writes the note: any process that opens the witness later reads it, unless the machine crashes.
 * FENCE_EIO: the note was not written. */
FENCE_CHECKED int storage_witness_note(struct storage_witness *witness);

/* Writes the note, and syncs it to the disk. FENCE_EIO. */
FENCE_CHECKED int storage_witness_sync(struct storage_witness *witness);

/* Writes the note again if the file's ctime was changed, for instance by a hard link. */
void storage_witness_look_after(struct storage_witness *witness);

/* The id of this boot of the machine. FENCE_EIO. */
FENCE_CHECKED int storage_witness_boot(char ret_id[static STORAGE_BOOT_ID_MAX + 1]);

/* Returns the id of this process' boot clock: @boot_id, and in a time namespace the offset of its
 * clock. Times of two clocks with one id can be compared. FENCE_EIO: the kernel does not tell the
 * offset. */
FENCE_CHECKED int storage_witness_clock(const char *boot_id,
                                        char ret_id[static STORAGE_CLOCK_ID_MAX + 1]);

#endif
