#include "storage/guard/library/pawl_guard.h"

#include "fence/guard/guard.h"
#include "fence/protocol/name.h"
#include "storage/guard/sqlite/guard.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARD_NAME_READ_MAX = PAWL_GUARD_NAME_MAX + 1, /* bytes of a caller's name that are looked at */
};

_Static_assert((int)PAWL_GUARD_NAME_MAX == (int)FENCE_RESOURCE_MAX, "one bound of names");
_Static_assert((int)PAWL_GUARD_REJECTIONS_MAX == (int)STORAGE_REJECTIONS_MAX, "one bound of rows");
_Static_assert((int)PAWL_GUARD_BUSY_TIMEOUT_MS == (int)STORAGE_BUSY_TIMEOUT_MS, "one timeout");
_Static_assert((int)PAWL_GUARD_CLAIM == (int)STORAGE_REJECTED_CLAIM, "one list of kinds");
_Static_assert((int)PAWL_GUARD_WRITE == (int)STORAGE_REJECTED_WRITE, "one list of kinds");
_Static_assert((int)PAWL_GUARD_WRITE_BY_ID == (int)STORAGE_REJECTED_WRITE_BY_ID,
               "one list of kinds");
_Static_assert((int)PAWL_GUARD_READ == (int)STORAGE_REJECTED_READ, "one list of kinds");

const char *pawl_guard_error_name(int error)
{
    switch (error) {
    case 0:
        return "done";
    case PAWL_GUARD_ESTALE:
        return "stale";
    case PAWL_GUARD_EINVAL:
        return "invalid";
    case PAWL_GUARD_EBUSY:
        return "busy";
    case PAWL_GUARD_ENOMEM:
        return "no-memory";
    case PAWL_GUARD_EIO:
        return "io";
    default:
        return "unknown";
    }
}

/* The meaning of an error of the project for programs of others. */
static int public_error(int error)
{
    switch (error) {
    case 0:
        return 0;
    case FENCE_ESTALE:
        return PAWL_GUARD_ESTALE;
    case FENCE_EINVAL:
        return PAWL_GUARD_EINVAL;
    case FENCE_EBUSY:
        return PAWL_GUARD_EBUSY;
    case FENCE_ENOMEM:
        return PAWL_GUARD_ENOMEM;
    default:
        return PAWL_GUARD_EIO;
    }
}

/* ---- a caller's arguments -------------------------------------------------------------------- */

static bool writes_now(sqlite3 *db)
{
    return db != NULL && sqlite3_txn_state(db, "main") == SQLITE_TXN_WRITE;
}

static bool is_name(const char *resource)
{
    return resource != NULL &&
           fence_resource_valid(resource, strnlen(resource, GUARD_NAME_READ_MAX));
}

static bool is_lock_id(const char *lock_id)
{
    return lock_id != NULL && fence_lock_id_valid(lock_id, strnlen(lock_id, FENCE_LOCK_ID_MAX + 1));
}

/* ---- rejections ------------------------------------------------------------------------------ */

static struct pawl_guard_rejection public_rejection(const struct storage_rejection *rejection)
{
    struct pawl_guard_rejection shown = {
        .at_ms = rejection->at_ms,
        .token = rejection->token,
        .highest_token = rejection->highest_token,
        .kind = (int32_t)rejection->kind,
    };
    (void)snprintf(shown.resource, sizeof(shown.resource), "%s", rejection->resource);
    return shown;
}

/* For a claim or a check: the error, and the rejection where it was refused. */
static int guard_told(int error, const struct storage_rejection *rejection,
                      struct pawl_guard_rejection *ret_rejection)
{
    assert(error != FENCE_ESTALE || is_name(rejection->resource));
    if (error == FENCE_ESTALE && ret_rejection != NULL)
        *ret_rejection = public_rejection(rejection);
    return public_error(error);
}

/* ---- connections ----------------------------------------------------------------------------- */

int pawl_guard_open(const char *path, char *text, size_t text_size, sqlite3 **ret_db)
{
    char unread[1];
    if (path == NULL || ret_db == NULL || (text == NULL && text_size > 0))
        return PAWL_GUARD_EINVAL;
    if (text == NULL) {
        text = unread;
        text_size = sizeof(unread);
    }
    return public_error(storage_guard_open(path, text, text_size, ret_db));
}

int pawl_guard_configure(sqlite3 *db)
{
    if (db == NULL || !sqlite3_get_autocommit(db))
        return PAWL_GUARD_EINVAL;
    return public_error(storage_guard_configure(db));
}

int pawl_guard_install(sqlite3 *db)
{
    if (db == NULL)
        return PAWL_GUARD_EINVAL;
    return public_error(storage_guard_install(db));
}

/* ---- transactions ---------------------------------------------------------------------------- */

int pawl_guard_begin(sqlite3 *db)
{
    if (db == NULL || !sqlite3_get_autocommit(db))
        return PAWL_GUARD_EINVAL;
    return public_error(storage_guard_begin(db));
}

int pawl_guard_commit(sqlite3 *db)
{
    if (db == NULL || sqlite3_get_autocommit(db))
        return PAWL_GUARD_EINVAL;
    return public_error(storage_guard_commit(db));
}

void pawl_guard_rollback(sqlite3 *db)
{
    if (db != NULL)
        storage_guard_rollback(db);
}

/* ---- claims and checks ----------------------------------------------------------------------- */

int pawl_guard_claim(sqlite3 *db, const char *resource, int64_t token,
                     struct pawl_guard_rejection *ret_rejection)
{
    struct storage_rejection rejection;
    if (!writes_now(db) || !is_name(resource))
        return PAWL_GUARD_EINVAL;
    return guard_told(storage_guard_claim(db, resource, token, &rejection), &rejection,
                      ret_rejection);
}

int pawl_guard_check(sqlite3 *db, const char *resource, int64_t token,
                     struct pawl_guard_rejection *ret_rejection)
{
    struct storage_rejection rejection;
    if (!writes_now(db) || !is_name(resource))
        return PAWL_GUARD_EINVAL;
    return guard_told(storage_guard_check(db, resource, token, &rejection), &rejection,
                      ret_rejection);
}

int pawl_guard_claim_read(sqlite3 *db, const char *resource, int64_t token,
                          struct pawl_guard_rejection *ret_rejection)
{
    struct storage_rejection rejection;
    if (!writes_now(db) || !is_name(resource))
        return PAWL_GUARD_EINVAL;
    return guard_told(storage_guard_claim_read(db, resource, token, &rejection), &rejection,
                      ret_rejection);
}

int pawl_guard_check_read(sqlite3 *db, const char *resource, int64_t token,
                          struct pawl_guard_rejection *ret_rejection)
{
    struct storage_rejection rejection;
    if (db == NULL || sqlite3_get_autocommit(db) || !is_name(resource))
        return PAWL_GUARD_EINVAL;
    return guard_told(storage_guard_check_read(db, resource, token, &rejection), &rejection,
                      ret_rejection);
}

int pawl_guard_claim_id(sqlite3 *db, const char *resource, const char *lock_id)
{
    if (!writes_now(db) || !is_name(resource) || !is_lock_id(lock_id))
        return PAWL_GUARD_EINVAL;
    return public_error(storage_guard_claim_id(db, resource, lock_id));
}

int pawl_guard_check_id(sqlite3 *db, const char *resource, const char *lock_id,
                        struct pawl_guard_rejection *ret_rejection)
{
    struct storage_rejection rejection;
    if (!writes_now(db) || !is_name(resource) || !is_lock_id(lock_id))
        return PAWL_GUARD_EINVAL;
    return guard_told(storage_guard_check_id(db, resource, lock_id, &rejection), &rejection,
                      ret_rejection);
}

/* ---- what was refused ------------------------------------------------------------------------ */

static bool is_rejection(const struct pawl_guard_rejection *rejection)
{
    return rejection != NULL && rejection->kind >= PAWL_GUARD_CLAIM &&
           rejection->kind <= PAWL_GUARD_READ && is_name(rejection->resource);
}

int pawl_guard_record(sqlite3 *db, const struct pawl_guard_rejection *rejection)
{
    if (!writes_now(db) || !is_rejection(rejection))
        return PAWL_GUARD_EINVAL;
    struct storage_rejection kept = {
        .kind = (enum storage_rejection_kind)rejection->kind,
        .token = rejection->token,
        .highest_token = rejection->highest_token,
    };
    (void)snprintf(kept.resource, sizeof(kept.resource), "%s", rejection->resource);
    return public_error(storage_rejection_record(db, &kept));
}

int pawl_guard_rejections(sqlite3 *db, size_t max, struct pawl_guard_rejection *ret_rejections,
                          size_t *ret_count)
{
    if (db == NULL || ret_rejections == NULL || ret_count == NULL || max < 1 ||
        max > PAWL_GUARD_REJECTIONS_MAX)
        return PAWL_GUARD_EINVAL;
    struct storage_rejection *kept = calloc(max, sizeof(*kept));
    if (kept == NULL)
        return PAWL_GUARD_ENOMEM;
    size_t count = 0;
    const int error = storage_rejection_list(db, max, kept, &count);
    assert(count <= max);
    for (size_t i = 0; error == 0 && i < count; i++)
        ret_rejections[i] = public_rejection(&kept[i]);
    free(kept);
    if (error == 0)
        *ret_count = count;
    return public_error(error);
}
