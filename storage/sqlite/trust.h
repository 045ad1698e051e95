/* Whether the file of an embedded master is what it was when it was last closed. What the file says
 * of itself is compared with what its witness has seen. A file that is not trusted may have
 * forgotten tokens. */
#ifndef STORAGE_SQLITE_TRUST_H
#define STORAGE_SQLITE_TRUST_H

#include "fence/protocol/error.h"
#include "storage/sqlite/witness.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORAGE_FOLDER_MAX = 3900, /* bytes of the name of a folder */
    STORAGE_WHY_MAX = STORAGE_FOLDER_MAX + 512,
};

/* Whether a file may be trusted. */
enum storage_trust {
    STORAGE_TRUST_NEW,     /* there is none yet */
    STORAGE_TRUST_KEPT,    /* it is what it was */
    STORAGE_TRUST_REMOVED, /* there was one */
    STORAGE_TRUST_OTHER,   /* it is another one */
    STORAGE_TRUST_COPIED,  /* it is a copy */
    STORAGE_TRUST_OLDER,   /* it was put back: it lacks what was committed since */
    STORAGE_TRUST_CHANGED, /* its witness was put back */
    STORAGE_TRUST_WRITTEN, /* something else than pawld has written to it */
};

/* What an SQLite file says of itself. */
struct storage_identity {
    bool blank;   /* nothing was ever written to it */
    bool retired; /* its fleet was moved */
    char file_id[STORAGE_FILE_ID_LEN + 1];
    uint64_t openings;
    uint64_t commits;
    struct storage_look look;
};

/* @boot_id: of the machine now. */
enum storage_trust storage_trust_judge(const struct storage_identity *file,
                                       const struct storage_seen *seen, bool witness_is_new,
                                       const char *boot_id);

/* FENCE_ECONFLICT. A sentence that says what was found in @folder, and what to do, is in @ret_why.
 * Precondition: @trust is none of NEW and KEPT. */
FENCE_CHECKED int storage_trust_explain(enum storage_trust trust, const char *folder,
                                        char ret_why[static STORAGE_WHY_MAX]);

#endif
