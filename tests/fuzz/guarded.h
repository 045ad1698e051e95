/* Databases with a guard, which programs of a fuzzer write to, and what has to be true of them
 * after each statement: no token goes backward, and no write stands whose token is old, was not
 * brought, or is not above those of readers. A separate connection looks at what was committed.
 */
#ifndef TESTS_FUZZ_GUARDED_H
#define TESTS_FUZZ_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    GUARDED_WRITERS = 3, /* two with the extension, and one of the library */
    GUARDED_LIBRARY = 2,
    GUARDED_FILES = 2, /* the main database, and one to attach */
    GUARDED_NAMES = 3,
    GUARDED_BROUGHT_MAX = 512,
    GUARDED_PATH_MAX = 64,
};

/* The resources of the table t, whose rows have theirs in the column r. */
extern const char *const guarded_names[GUARDED_NAMES];

struct guarded_file {
    char path[GUARDED_PATH_MAX];
    sqlite3 *watcher;
    int64_t highest[GUARDED_NAMES];
    int64_t readers[GUARDED_NAMES];
    uint64_t rows[GUARDED_NAMES]; /* a hash of them */
};

struct guarded_brought {
    size_t name;
    int64_t token;
};

struct guarded_writer {
    sqlite3 *db;
    int changes;         /* rows that it had written when it was looked at */
    bool raises_by_hand; /* in its transaction, maybe after a write with a token of before */
    bool reads;          /* it was a reader in its transaction, maybe after a write */
    size_t count;
    struct guarded_brought brought[GUARDED_BROUGHT_MAX];
};

struct guarded {
    struct guarded_file files[GUARDED_FILES];
    struct guarded_writer writers[GUARDED_WRITERS];
    bool is_protected; /* the protection of t is unchanged */
    bool has_trigger;  /* a program has a trigger at t */
    bool knows_others; /* a token was brought for a resource that is none of the names */
};

/* Makes the folder, which the end of the process removes, and the databases as each input finds
 * them. */
void guarded_begin(void);

void guarded_open(struct guarded *guarded);
void guarded_close(struct guarded *guarded);

/* The writer @who brought @token for the resource @name. */
void guarded_bring(struct guarded *guarded, size_t who, const char *name, int64_t token);

/* The writer @who calls the guard as a reader. */
void guarded_read(struct guarded *guarded, size_t who);

/* The writer @who forgot what it brought. */
void guarded_forget(struct guarded *guarded, size_t who);

/* From now on the allocation number @count of SQLite fails, once; 0: none does. Returns whether the
 * one before failed. */
bool guarded_starve(unsigned count);

/* Looks at what was committed. The writer @who ran the last statement. */
void guarded_look(struct guarded *guarded, size_t who);

#endif
