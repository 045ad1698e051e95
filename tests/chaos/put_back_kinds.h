/* How the files of a folder are put back from a copy. */
#ifndef TESTS_CHAOS_PUT_BACK_KINDS_H
#define TESTS_CHAOS_PUT_BACK_KINDS_H

#include <stdbool.h>

enum put_back_kind {
    PUT_BACK_CP,
    PUT_BACK_CAT,
    PUT_BACK_NEW_FILE,
    PUT_BACK_TAR,
    PUT_BACK_RENAME,
    PUT_BACK_HARD_LINK,
    PUT_BACK_NO_MOUNTS, /* those before it need none */
    PUT_BACK_BIND = PUT_BACK_NO_MOUNTS,
    PUT_BACK_OVERLAY,
    PUT_BACK_SNAPSHOT,
    PUT_BACK_KINDS,
};

enum {
    PUT_BACK_DATABASE = 1,
    PUT_BACK_LOG = 2,
    PUT_BACK_WITNESS = 4,
    PUT_BACK_ALL = 7,
};

extern const char *const put_back_names[PUT_BACK_KINDS];

/* Puts @files of @copy into @folder; the others are removed where @alone. Not for a snapshot. */
void put_back_files(enum put_back_kind kind, unsigned files, bool alone, const char *folder,
                    const char *copy);

/* Unmounts what it mounted. */
void put_back_undo(enum put_back_kind kind, const char *folder);

#endif
