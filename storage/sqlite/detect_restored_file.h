/* Judges whether the file of an embedded master is still as it was when it was last closed. A file
 * that is not trusted may have lost tokens. The judge is a pure function of the evidence:
 *
 * - counts: the database counts its openings and commits, and its witness has the highest it saw;
 * - the inode of the database, and when it was made;
 * - ctimes, which no program can set: when a file is restored, the kernel sets them to now;
 * - the commits that the database has without its log, which a checkpoint only raises;
 * - the record in the kernel's memory, which no backup of a disk contains. */
#ifndef STORAGE_SQLITE_DETECT_RESTORED_FILE_H
#define STORAGE_SQLITE_DETECT_RESTORED_FILE_H

#include "storage/sqlite/shared_memory_record.h"
#include "storage/sqlite/witness.h"

enum {
    STORAGE_FOLDER_MAX = 3900, /* bytes of the name of a folder */
    STORAGE_WHY_MAX = STORAGE_FOLDER_MAX + 512,
};

/* The verdict on a file. */
enum storage_trust {
    STORAGE_TRUST_NEW,        /* there is no file yet */
    STORAGE_TRUST_KEPT,       /* the file is unchanged */
    STORAGE_TRUST_REMOVED,    /* the file was removed */
    STORAGE_TRUST_NO_LOG,     /* all its data were in its log, which is missing */
    STORAGE_TRUST_OTHER,      /* the file is another database */
    STORAGE_TRUST_COPIED,     /* the file is a copy */
    STORAGE_TRUST_OLDER,      /* the file was restored: it lacks later commits */
    STORAGE_TRUST_PUT_BACK,   /* the witness was restored, so nothing tells how old the file is */
    STORAGE_TRUST_CHANGED,    /* the witness is older than the file */
    STORAGE_TRUST_WRITTEN,    /* a program other than pawld has written to it */
    STORAGE_TRUST_REPLACED,   /* an init with a floor had replaced it */
    STORAGE_TRUST_UNREADABLE, /* this pawld cannot read its witness */
};

/* The facts of an SQLite file about itself. */
struct storage_identity {
    bool has_tables;
    bool has_log; /* a log with bytes stands beside it */
    bool retired; /* its fleet was moved */
    char file_id[STORAGE_FILE_ID_LEN + 1];
    uint64_t openings;
    uint64_t commits;
    int64_t committed_ns; /* the wall clock at the last commit; 0: an earlier pawld made that */
    bool base_known;
    uint64_t base_commits; /* commits that the database has without its log */
    struct storage_look look;
};

struct storage_evidence {
    struct storage_identity file;
    enum storage_witness_version version;
    struct storage_seen seen;
    struct storage_look witness;
    bool has_record;
    bool is_anothers; /* the record belongs to another user, so it is not read */
    bool replaced;    /* the record says that the database in this folder was replaced */
    struct storage_recorded record;
    char boot_id[STORAGE_BOOT_ID_MAX + 1];   /* id of the machine's current boot */
    char clock_id[STORAGE_CLOCK_ID_MAX + 1]; /* id of its clock, for leases alone */
};

enum storage_trust storage_detect_restored_file(const struct storage_evidence *evidence);

/* FENCE_ECONFLICT. A sentence that says what @evidence shows of @folder, and what to do, is in
 * @ret_why. Precondition: @trust is the verdict on it, and none of NEW and KEPT. */
FENCE_CHECKED int storage_explain_restored_file(const struct storage_evidence *evidence,
                                                enum storage_trust trust, const char *folder,
                                                char ret_why[static STORAGE_WHY_MAX]);

#endif
