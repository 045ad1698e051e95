/* The record of a database in the kernel's memory: /dev/shm/pawl-<file id>. It lives until the
 * machine restarts, and no backup of a disk contains it. So a database with fewer commits than its
 * record is older, however it was restored: even by a snapshot of its file system.
 *
 * If there is a record, it is evidence. Without one, the witness alone decides: without /dev/shm,
 * in another container, or after the system removed the record. */
#ifndef STORAGE_SQLITE_SHARED_MEMORY_RECORD_H
#define STORAGE_SQLITE_SHARED_MEMORY_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STORAGE_RECORD_FOLDER_MAX = 4095, /* bytes of the real path of a folder */
};

struct storage_recorded {
    char magic[16];
    uint64_t openings;
    uint64_t commits;
    uint64_t replaced; /* not 0: pawld init --token-floor took the database over in this folder */
    uint64_t device;   /* device of the folder */
    char folder[STORAGE_RECORD_FOLDER_MAX + 1];
};

/* Reads the record of @file_id. Returns false if there is none, or none that this user may
 * trust. */
bool storage_record_read(const char *file_id, struct storage_recorded *ret_recorded);

/* Reports whether there is a record that belongs to another user. */
bool storage_record_is_anothers(const char *file_id);

/* Creates or opens the record of @file_id for the database in @folder and sets its counts. Returns
 * its descriptor for storage_record_note(); -1: a record is not possible. */
int storage_record_keep(const char *file_id, const char *folder, uint64_t openings,
                        uint64_t commits);

/* Sets the counts. -1 is fine. */
void storage_record_note(int record, uint64_t openings, uint64_t commits);

/* Notes that the database in @folder is no longer @file_id: an init with a floor replaced it. */
void storage_record_replace(const char *file_id, const char *folder);

/* Reports whether @recorded is about the database in @folder. */
bool storage_record_is_of(const struct storage_recorded *recorded, const char *folder);

/* Removes this user's records whose folders are missing. The record of a renamed folder is removed,
 * too: then the witness alone decides. */
void storage_record_sweep(void);

#endif
