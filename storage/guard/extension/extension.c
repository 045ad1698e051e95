/* The SQL functions, and their registration with SQLite. storage/guard/sqlite/EXTENSION.md is their
 * manual. */
#include "fence/guard/guard.h"
#include "storage/guard/extension/api.h"
#include "storage/guard/extension/call.h"
#include "storage/guard/extension/claims.h"
#include "storage/guard/extension/protect.h"
#include "storage/guard/sqlite/guard.h"
#include "storage/sql/sql.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    SYNCHRONOUS_FULL = 2, /* as PRAGMA synchronous says it; EXTRA is higher */
};

/* ---- the connection -------------------------------------------------------------------------- */

static int pragma_number(sqlite3 *db, const char *text, int64_t *ret_number)
{
    int64_t number = 0;
    struct storage_sql sql = storage_sql_prepare(db, text);
    if (storage_sql_row(&sql))
        number = sqlite3_column_int64(sql.stmt, 0);
    const int err = storage_sql_finish(&sql);
    if (err)
        return err;
    *ret_number = number;
    return 0;
}

/* Returns false if the connection would lose its commits: the error was reported. */
static bool remembers(sqlite3_context *context)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    int64_t synchronous = 0;
    int err = storage_guard_refuse_forgetful(db);
    if (err == FENCE_EINVAL) {
        storage_call_fail(context, "unsafe: the database is not in a file, or its journal is off "
                                   "or in memory: open a file, and run PRAGMA journal_mode = WAL");
        return false;
    }
    if (!err)
        err = pragma_number(db, "PRAGMA main.synchronous", &synchronous);
    if (err) {
        storage_call_fail_as_sqlite(context);
        return false;
    }
    if (synchronous < SYNCHRONOUS_FULL)
        storage_call_fail(context, "unsafe: a commit may be lost: run PRAGMA synchronous = FULL "
                                   "outside of a transaction");
    return synchronous >= SYNCHRONOUS_FULL;
}

static void sql_install(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct storage_step step;
    if (!remembers(context) || !storage_step_begin(context, &step))
        return;
    if (storage_guard_install(db) != 0 || storage_protect_install(db) != 0) {
        storage_call_fail_as_sqlite(context);
        storage_step_undo(&step);
        return;
    }
    (void)storage_step_keep(context, &step);
}

/* ---- claims and checks ----------------------------------------------------------------------- */

static void refuse_stale(sqlite3_context *context, const char *resource, bool by_reader,
                         int64_t seen, int64_t token)
{
    if (by_reader) {
        storage_call_refuse(context,
                            "stale-token: %s has seen reader %lld, and writer %lld is "
                            "not newer",
                            resource, (long long)seen, (long long)token);
        return;
    }
    storage_call_refuse(context, "stale-token: %s has seen token %lld, and %lld is older", resource,
                        (long long)seen, (long long)token);
}

/* Writes the row of @resource unchanged. That takes the write lock before anything is read: a
 * transaction that read before and was overtaken must restart. */
static int take_write_lock(sqlite3 *db, const char *resource)
{
    struct storage_sql sql = storage_sql_prepare(
        db, "UPDATE main.pawl_guard SET resource = resource WHERE resource = ?1");
    storage_sql_bind_text(&sql, 1, resource);
    return storage_sql_run(&sql);
}

typedef int judge_function(sqlite3 *db, const char *resource, int64_t token,
                           struct storage_rejection *ret_rejection);

/* The guard's view of a call. */
struct judgement {
    judge_function *judge;

    /* Takes the write lock before anything is read. */
    bool locks;

    /* Opens the rows of the resource in protected tables. */
    bool opens;
};

/* Returns false if the error was reported. */
static bool is_accepted(sqlite3_context *context, const struct judgement *judgement,
                        const char *resource, int64_t token)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct storage_rejection rejection = {0};
    int err = judgement->locks ? take_write_lock(db, resource) : 0;
    if (!err)
        err = judgement->judge(db, resource, token, &rejection);
    if (err == FENCE_ESTALE)
        refuse_stale(context, resource, rejection.by_reader, rejection.highest_token, token);
    else if (err)
        storage_call_fail_as_sqlite(context);
    return !err;
}

static void judge_call(sqlite3_context *context, sqlite3_value **values,
                       const struct judgement *judgement)
{
    char resource[FENCE_RESOURCE_MAX + 1];
    int64_t token;
    struct storage_step step;
    if (!storage_call_resource(context, values[0], resource) ||
        !storage_call_token(context, values[1], &token) || !remembers(context) ||
        !storage_step_begin(context, &step))
        return;
    if (!is_accepted(context, judgement, resource, token)) {
        storage_step_undo(&step);
        return;
    }
    /* Done before the commit: a claim that did not commit opens nothing. */
    if (judgement->opens && storage_claims_put(sqlite3_user_data(context), resource, token) != 0) {
        storage_step_undo(&step);
        sqlite3_result_error_nomem(context);
        return;
    }
    if (storage_step_keep(context, &step))
        sqlite3_result_int64(context, token);
}

static void sql_claim(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct judgement claim = {storage_guard_claim, true, true};
    (void)count;
    judge_call(context, values, &claim);
}

static void sql_claim_read(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct judgement claim = {storage_guard_claim_read, true, false};
    (void)count;
    judge_call(context, values, &claim);
}

/* A check that is a transaction alone protects nothing: another claim fits before the write. */
static void sql_check(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct judgement check = {storage_guard_check, true, true};
    (void)count;
    if (sqlite3_get_autocommit(sqlite3_context_db_handle(context)))
        storage_call_fail(context, "unsafe: pawl_check() and the write belong in one transaction: "
                                   "run BEGIN IMMEDIATE first");
    else
        judge_call(context, values, &check);
}

/* A check that raises nothing writes nothing, so readers do not wait for each other. */
static void sql_check_read(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const struct judgement check = {storage_guard_check_read, false, false};
    (void)count;
    if (sqlite3_get_autocommit(sqlite3_context_db_handle(context)))
        storage_call_fail(context, "unsafe: pawl_check_read() and the read belong in one "
                                   "transaction: run BEGIN first");
    else
        judge_call(context, values, &check);
}

static void sql_token(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    char resource[FENCE_RESOURCE_MAX + 1];
    int64_t highest = 0;
    if (!storage_call_resource(context, values[0], resource))
        return;
    if (storage_guard_highest(sqlite3_context_db_handle(context), resource, &highest) != 0)
        storage_call_fail_as_sqlite(context);
    else
        sqlite3_result_int64(context, highest);
}

/* For a pool of connections: the next user of this connection must not inherit claims. */
static void sql_forget(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    storage_claims_clear(sqlite3_user_data(context));
}

/* ---- protected rows -------------------------------------------------------------------------- */

/* For a row that REPLACE deletes, triggers run only if recursive_triggers is on. Otherwise it would
 * remove rows that no holder claimed. Returns false if the error was reported. */
static bool sees_replaced_rows(sqlite3_context *context)
{
    int64_t recursive = 0;
    if (pragma_number(sqlite3_context_db_handle(context), "PRAGMA recursive_triggers", &recursive))
        storage_call_fail_as_sqlite(context);
    else if (!recursive)
        storage_call_fail(context, "unsafe: recursive_triggers is off on this connection. "
                                   "Run PRAGMA recursive_triggers = ON, and repeat the write");
    return recursive != 0;
}

/* Compares this connection's claim with the tokens that the guard has seen: see
 * STORAGE_READERS_TERM. If the claim was rolled back, the guard has seen less. */
static void judge_again(sqlite3_context *context, const char *resource, int64_t told,
                        int64_t claimed)
{
    const int64_t lowest = -FENCE_TOKEN_MAX;
    const int64_t reader = told >= 0 ? 0 : -(told > lowest ? told : lowest);
    const struct fence_guard seen = {.writer = told > 0 ? told : 0, .reader = reader};
    struct fence_guard next;
    bool by_reader;
    if (fence_guard_judge_write(&seen, claimed, &next) != 0) {
        const int64_t refusing = fence_guard_refusing(&seen, claimed, &by_reader);
        refuse_stale(context, resource, by_reader, refusing, claimed);
    } else if (next.writer > seen.writer) {
        storage_call_refuse(context, "unclaimed: the claim of %s was rolled back", resource);
    } else {
        sqlite3_result_int64(context, 1);
    }
}

/* Triggers call it with the resource of a row, and with what the guard of their transaction has
 * seen (NULL: none). */
static void sql_claimed(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    char resource[FENCE_RESOURCE_MAX + 1];
    if (!storage_call_resource(context, values[0], resource) || !sees_replaced_rows(context))
        return;
    const int64_t claimed = storage_claims_get(sqlite3_user_data(context), resource);
    if (claimed)
        judge_again(context, resource, sqlite3_value_int64(values[1]), claimed);
    else
        storage_call_refuse(context, "unclaimed: this connection has not claimed %s", resource);
}

/* ---- what was refused ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum storage_rejection_kind kind;
} kinds[] = {
    {"claim", STORAGE_REJECTED_CLAIM},
    {"write", STORAGE_REJECTED_WRITE},
    {"read", STORAGE_REJECTED_READ},
};

static bool kind_of(sqlite3_context *context, sqlite3_value *value,
                    enum storage_rejection_kind *ret_kind)
{
    const char *text = storage_call_text(context, value, "kind");
    if (!text)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(text, kinds[i].name) == 0) {
            *ret_kind = kinds[i].kind;
            return true;
        }
    }
    storage_call_fail(context, "invalid kind: it must be 'claim', 'write' or 'read'");
    return false;
}

static void sql_record(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    sqlite3 *db = sqlite3_context_db_handle(context);
    struct storage_rejection rejection = {0};
    struct storage_step step;
    if (!storage_call_resource(context, values[0], rejection.resource) ||
        !storage_call_token(context, values[1], &rejection.token) ||
        !kind_of(context, values[2], &rejection.kind))
        return;
    if (!sqlite3_get_autocommit(db)) {
        storage_call_fail(context, "unsafe: run ROLLBACK first: pawl_record() commits, and must "
                                   "not commit the refused write");
        return;
    }
    if (!storage_step_begin(context, &step))
        return;
    int err = storage_guard_highest(db, rejection.resource, &rejection.highest_token);
    if (!err)
        err = storage_rejection_record(db, &rejection);
    if (err) {
        storage_call_fail_as_sqlite(context);
        storage_step_undo(&step);
        return;
    }
    (void)storage_step_keep(context, &step);
}

/* ---- the entry ------------------------------------------------------------------------------- */

/* A schema of somebody else's, in a view or a trigger, may call what is not DIRECTONLY. That is
 * pawl_claimed() alone: it writes nothing, and triggers need it where trusted_schema is off, too.
 */
static const struct {
    const char *name;
    void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
    int arguments;
    int flags;
} functions[] = {
    {"pawl_install", sql_install, 0, SQLITE_DIRECTONLY},
    {"pawl_claim", sql_claim, 2, SQLITE_DIRECTONLY},
    {"pawl_check", sql_check, 2, SQLITE_DIRECTONLY},
    {"pawl_claim_read", sql_claim_read, 2, SQLITE_DIRECTONLY},
    {"pawl_check_read", sql_check_read, 2, SQLITE_DIRECTONLY},
    {"pawl_token", sql_token, 1, SQLITE_DIRECTONLY},
    {"pawl_forget", sql_forget, 0, SQLITE_DIRECTONLY},
    {"pawl_record", sql_record, 3, SQLITE_DIRECTONLY},
    {"pawl_protect", storage_protect, 2, SQLITE_DIRECTONLY},
    {"pawl_unprotect", storage_unprotect, 1, SQLITE_DIRECTONLY},
    {"pawl_claimed", sql_claimed, 2, SQLITE_INNOCUOUS},
};

static int add_functions(sqlite3 *db, struct storage_claims *claims)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0] && code == SQLITE_OK; i++) {
        storage_claims_ref(claims); /* SQLite gives it back, also where it fails */
        code = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                          SQLITE_UTF8 | functions[i].flags, claims,
                                          functions[i].call, NULL, NULL, storage_claims_unref);
    }
    return code;
}

__attribute__((visibility("default"))) int sqlite3_pawl_init(sqlite3 *db, char **ret_text,
                                                             const sqlite3_api_routines *api);

int sqlite3_pawl_init(sqlite3 *db, char **ret_text, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api)
    if (sqlite3_libversion_number() < STORAGE_EXTENSION_SQLITE_MIN) {
        *ret_text = sqlite3_mprintf("pawl needs SQLite 3.37 or later");
        return SQLITE_ERROR;
    }
    struct storage_claims *claims = storage_claims_new();
    if (!claims)
        return SQLITE_NOMEM;
    const int code = add_functions(db, claims);
    storage_claims_unref(claims);
    return code;
}
