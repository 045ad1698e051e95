/* The refusals of a guard: a bounded list for people, newest last in, oldest dropped. The refusal
 * itself does not rest on it. */
#ifndef STORAGE_GUARD_SQLITE_REJECTION_H
#define STORAGE_GUARD_SQLITE_REJECTION_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    STORAGE_REJECTIONS_MAX = 1000, /* rows kept; a stale client in a loop must not fill the disk */
};

enum storage_rejection_kind {
    STORAGE_REJECTED_CLAIM = 1,
    STORAGE_REJECTED_WRITE = 2,
    STORAGE_REJECTED_WRITE_BY_ID = 3, /* no tokens: the lock ids are secrets and are not kept */
    STORAGE_REJECTED_READ = 4,        /* a reader's claim, or its check */
};

struct storage_rejection {
    int64_t at_ms; /* wall clock, since 1970: for people, nothing is decided by it */
    char resource[FENCE_RESOURCE_MAX + 1];
    enum storage_rejection_kind kind;
    int64_t token; /* the token of the call, and the guard's; 0 for WRITE_BY_ID */
    int64_t highest_token;

    /* The highest token is a reader's. Not recorded. */
    bool by_reader;
};

/* Creates the table where it is not there yet. As storage_sql_error(). */
FENCE_CHECKED int storage_rejection_install(sqlite3 *db);

/* Adds @rejection and drops the oldest beyond STORAGE_REJECTIONS_MAX, within a transaction of the
 * caller's. The refused transaction is rolled back before, so that a refused write never commits
 * for the sake of its record. @rejection->at_ms is not read: it is now. As storage_sql_error(); an
 * error changes nothing about the refusal, so answer that anyway. */
FENCE_CHECKED int storage_rejection_record(sqlite3 *db, const struct storage_rejection *rejection);

/* Reads the newest @max rejections, newest first, into @rejections. As storage_sql_error(). */
FENCE_CHECKED int storage_rejection_list(sqlite3 *db, size_t max,
                                         struct storage_rejection *rejections, size_t *ret_count);

#endif
