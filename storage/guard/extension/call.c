#include "storage/guard/extension/call.h"

#include "fence/guard/guard.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static void end_with(sqlite3_context *context, int code, const char *format, va_list list)
{
    assert(code == SQLITE_ERROR || code == SQLITE_CONSTRAINT_FUNCTION);
    char *text = sqlite3_vmprintf(format, list);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_error(context, text, -1);
    sqlite3_result_error_code(context, code); /* after the text, which would set another */
    sqlite3_free(text);
}

void storage_call_fail(sqlite3_context *context, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    end_with(context, SQLITE_ERROR, format, list);
    va_end(list);
}

void storage_call_refuse(sqlite3_context *context, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    end_with(context, SQLITE_CONSTRAINT_FUNCTION, format, list);
    va_end(list);
}

void storage_call_fail_as_sqlite(sqlite3_context *context)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    const int code = sqlite3_extended_errcode(db);
    if (code == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const char *text = sqlite3_errmsg(db);
    /* The table of an earlier Pawl has no column for readers. */
    const bool missing = strstr(text, "no such table: main.pawl_") != NULL ||
                         (strstr(text, "reader_token") != NULL && strstr(text, "column") != NULL);
    sqlite3_result_error(context, missing ? "unsafe: call pawl_install() first" : text, -1);
    sqlite3_result_error_code(context, code == SQLITE_OK ? SQLITE_ERROR : code);
}

/* ---- arguments ------------------------------------------------------------------------------- */

const char *storage_call_text(sqlite3_context *context, sqlite3_value *value, const char *what)
{
    assert(context && value && what);
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        storage_call_fail(context, "invalid %s: it must be a text", what);
        return NULL;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return NULL;
    }
    if (!*text || strlen(text) != (size_t)sqlite3_value_bytes(value)) {
        storage_call_fail(context, "invalid %s: it is empty, or has a zero byte", what);
        return NULL;
    }
    return text;
}

bool storage_call_resource(sqlite3_context *context, sqlite3_value *value,
                           char ret_resource[static FENCE_RESOURCE_MAX + 1])
{
    const char *text = storage_call_text(context, value, "resource");
    if (!text)
        return false;
    const size_t len = strlen(text);
    if (!fence_resource_valid(text, len)) {
        storage_call_fail(
            context,
            "invalid resource: it must have 1 to %d bytes of A-Z a-z 0-9 . _ ~ : @ / - "
            "and no empty, '.' or '..' segment",
            FENCE_RESOURCE_MAX);
        return false;
    }
    memcpy(ret_resource, text, len + 1);
    return true;
}

bool storage_call_token(sqlite3_context *context, sqlite3_value *value, int64_t *ret_token)
{
    int64_t token = 0;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) {
        token = sqlite3_value_int64(value);
    } else if (type == SQLITE_FLOAT) {
        /* The bounds come first: the conversion of a greater number is undefined. */
        const double number = sqlite3_value_double(value);
        if (number >= 1 && number <= (double)FENCE_TOKEN_MAX && number == (double)(int64_t)number)
            token = (int64_t)number;
    } else {
        storage_call_fail(context,
                          "invalid token: it must be a number, not NULL, a text or a blob");
        return false;
    }
    if (!fence_token_valid(token)) {
        storage_call_fail(context, "invalid token: it must be a whole number from 1 to %lld",
                          (long long)FENCE_TOKEN_MAX);
        return false;
    }
    *ret_token = token;
    return true;
}

/* ---- the step -------------------------------------------------------------------------------- */

static bool runs(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK;
}

bool storage_step_begin(sqlite3_context *context, struct storage_step *ret_step)
{
    assert(ret_step);
    sqlite3 *db = sqlite3_context_db_handle(context);
    const struct storage_step step = {.db = db, .alone = sqlite3_get_autocommit(db) != 0};
    if (!runs(db, "SAVEPOINT pawl_step")) {
        storage_call_fail_as_sqlite(context);
        return false;
    }
    *ret_step = step;
    return true;
}

void storage_step_undo(const struct storage_step *step)
{
    assert(step->db);
    if (sqlite3_get_autocommit(step->db))
        return; /* a full disk, or a failed write, has rolled back already */
    if (step->alone) {
        (void)runs(step->db, "ROLLBACK");
        return;
    }
    (void)(runs(step->db, "ROLLBACK TO pawl_step") && runs(step->db, "RELEASE pawl_step"));
}

bool storage_step_keep(sqlite3_context *context, const struct storage_step *step)
{
    if (runs(step->db, "RELEASE pawl_step"))
        return true;
    storage_call_fail_as_sqlite(context);
    storage_step_undo(step);
    return false;
}
