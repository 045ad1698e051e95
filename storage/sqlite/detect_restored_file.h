/* True if the file of an embedded master is what it was when it was last closed. A file that is
 * not trusted may have lost tokens. The judge is a pure function of the evidence:
 *
 * - counts: the database has a count of its openings and commits, its witness the highest it saw;
 * - the inode of the database, and when that was made;
 * - ctimes, which no program can set: the kernel sets them to now as a file is put back;
 * - the commits that the database has without its log, which a checkpoint only raises;
 * - the record in the kernel's memory, which no backup of a disk holds. */
#ifndef STORAGE_SQLITE_DETECT_RESTORED_FILE_H
#define STORAGE_SQLITE_DETECT_RESTORED_FILE_H

#include "storage/sqlite/shared_memory_record.h"
#include "storage/sqlite/witness.h"

enum {
    STORAGE_FOLDER_MAX = 3900, /* bytes of the name of a folder */
    STORAGE_WHY_MAX = STORAGE_FOLDER_MAX + 512,
};

/* True if a file may be trusted. */
enum storage_trust {
    STORAGE_TRUST_NEW,        /* there is none yet */
    STORAGE_TRUST_KEPT,       /* it is what it was */
    STORAGE_TRUST_REMOVED,    /* there was one */
    STORAGE_TRUST_NO_LOG,     /* all that it had was in its log, which is gone */
    STORAGE_TRUST_OTHER,      /* it is another one */
    STORAGE_TRUST_COPIED,     /* it is a copy */
    STORAGE_TRUST_OLDER,      /* it was put back: it lacks what was committed since */
    STORAGE_TRUST_PUT_BACK,   /* its witness was put back, so that nothing tells how old it is */
    STORAGE_TRUST_CHANGED,    /* its witness is older than the file */
    STORAGE_TRUST_WRITTEN,    /* something else than pawld has written to it */
    STORAGE_TRUST_REPLACED,   /* an init with a floor had replaced it */
    STORAGE_TRUST_UNREADABLE, /* its witness is none that this pawld can read */
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
    uint64_t base_commits; /* that it has without its log */
    struct storage_look look;
};

struct storage_evidence {
    struct storage_identity file;
    enum storage_witness_version version;
    struct storage_seen seen;
    struct storage_look witness;
    bool has_record;
    bool is_anothers; /* the record: of another user, so that it is not read */
    bool replaced;    /* the record says so, of this folder */
    struct storage_recorded record;
    char boot_id[STORAGE_BOOT_ID_MAX + 1];   /* id of the machine now */
    char clock_id[STORAGE_CLOCK_ID_MAX + 1]; /* of its clock, for leases alone */
};

enum storage_trust storage_detect_restored_file(const struct storage_evidence *evidence);

/* FENCE_ECONFLICT. A sentence that says what @evidence shows of @folder, and what to do, is in
 * @ret_why. Precondition: @trust is the verdict on it, and none of NEW and KEPT. */
FENCE_CHECKED int storage_explain_restored_file(const struct storage_evidence *evidence,
                                                enum storage_trust trust, const char *folder,
                                                char ret_why[static STORAGE_WHY_MAX]);

#endif
