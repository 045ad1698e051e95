/* The file of an embedded master. A folder has pawl.db, an SQLite database, and pawl.witness
 * (storage/sqlite/witness.h). The kernel's memory has a record
 * (storage/sqlite/shared_memory_record.h). The file is opened only if it is still as it was when it
 * was last closed (storage/sqlite/detect_restored_file.h). */
#ifndef STORAGE_SQLITE_FILE_H
#define STORAGE_SQLITE_FILE_H

#include "storage/sqlite/detect_restored_file.h"
#include "storage/sqlite/state.h"
#include "storage/sqlite/witness.h"

struct storage_file_config {
    const char *folder;
    unsigned members; /* number in the fleet: 1, except in tests */
    unsigned me;
    bool takes_over; /* the file need not be trusted: its memory counts as lost */
    bool moves;      /* its fleet is to be moved, or was moved: storage_file_retire() */
};

struct storage_file {
    sqlite3 *db;
    struct storage_witness witness;
    int record; /* descriptor of storage/sqlite/shared_memory_record.h; -1: there is none */
    char path[STORAGE_FOLDER_MAX + 16];
    bool is_new;         /* the file never belonged to a fleet */
    bool needs_floor;    /* the file belonged to a fleet, and no longer tells: no new fleet may be
                          * made in it */
    uint32_t ttl_max_ms; /* the longest lease of its fleet; 0: it has none yet */
    uint32_t readers;    /* seats of readers for each name; 0: the fleet names none */
    uint32_t extensions_max;     /* for one grant; 0: the fleet names no cap */
    uint64_t log_inode;          /* of the database's log */
    unsigned log_pages;          /* pages of the log, after the last commit, */
    unsigned checkpointed_pages; /* and after the last checkpoint */
};

/* Opens the file of @config->folder, creates it if it is missing, and sets up @state. FENCE_EBUSY:
 * another process serves from it. FENCE_ECONFLICT: it cannot be trusted. FENCE_EIO: it cannot be
 * opened, or written. @ret_why then says what to do, and an existing file was not changed. */
FENCE_CHECKED int storage_file_open(const struct storage_file_config *config,
                                    struct storage_file *ret_file, struct storage_state *state,
                                    char ret_why[static STORAGE_WHY_MAX]);

/* Finds the value above which a fleet that replaces this one must continue: its highest counter, or
 * its floor. FENCE_ENOENT: the file has no fleet, or its data were lost. FENCE_EIO. */
FENCE_CHECKED int storage_file_highest(const struct storage_file *file, int64_t *ret_highest);

/* Retires the file: no process serves from it any more, or opens it except to move it. The fleet
 * @follower replaces it. FENCE_EIO: sqlite3_errmsg() says why; nothing was changed, or all. */
FENCE_CHECKED int storage_file_retire(struct storage_file *file, const char *follower);

/* Reads the id of the fleet that replaces a retired file. FENCE_ENOENT: the file is not retired, or
 * has no such id. */
FENCE_CHECKED int storage_file_follower(const struct storage_file *file,
                                        char ret_id[static FENCE_ID_HEX_LEN + 1]);

/* Remembers which log SQLite has opened, for storage_file_look(). FENCE_EIO. */
FENCE_CHECKED int storage_file_know_log(struct storage_file *file);

/* Notes that a turn was committed. */
void storage_file_committed(struct storage_file *file, uint64_t commits);

/* Checkpoints the log into the database, if it has grown enough since the last time. */
void storage_file_checkpoint(struct storage_file *file);

/* Completes the opening: checkpoints the log if @checkpoints is set, and notes the times in the
 * witness. For storage_file_open(). FENCE_EIO. */
FENCE_CHECKED int storage_file_bring_in(struct storage_file *file, bool checkpoints);

/* Compares the file and its log at their paths with the ones that were opened. Another owner, mode
 * or number of links of the file is taken for the new one. 0. FENCE_ECONFLICT: it is another file,
 * or something else wrote to it, or emptied its log. FENCE_ENOENT: its log is not at its path.
 * SQLite still has the whole log, and storage_file_close() brings the log into the file. FENCE_EIO:
 * that cannot be seen now. */
FENCE_CHECKED int storage_file_look(struct storage_file *file);

void storage_file_close(struct storage_file *file, struct storage_state *state);

#endif
