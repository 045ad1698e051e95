/* One call of an SQL function: its arguments, its step in the transaction, its error. An error's
 * text begins with a word for programs:
 *
 *     stale-token   the guard has seen a higher token
 *     unclaimed     the connection has not claimed the resource of a protected row
 *     invalid       an argument is wrong: correct the program
 *     unsafe        the connection or its transaction is not fit for the call
 *
 * Other texts are SQLite's own. */
#ifndef STORAGE_GUARD_EXTENSION_CALL_H
#define STORAGE_GUARD_EXTENSION_CALL_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"
#include "storage/guard/extension/api.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- arguments ------------------------------------------------------------------------------- */

/* Checks that a resource is a text with the form of a name. Returns false if the error was
 * reported. */
bool storage_call_resource(sqlite3_context *context, sqlite3_value *value,
                           char ret_resource[static FENCE_RESOURCE_MAX + 1]);

/* Reads a token: an integer of 1 to FENCE_TOKEN_MAX, or a float with such a value, since JavaScript
 * has no other numbers. A text is refused: it is usually a mistake. Returns false if the error was
 * reported. */
bool storage_call_token(sqlite3_context *context, sqlite3_value *value, int64_t *ret_token);

/* Returns a text that is not empty and has no zero byte. It belongs to @value. NULL: the error was
 * reported, and names the argument @what. */
const char *storage_call_text(sqlite3_context *context, sqlite3_value *value, const char *what);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Ends the call with an error, whose text is formatted as by printf(). */
void storage_call_fail(sqlite3_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for stale-token and unclaimed, which are violations of a constraint. */
void storage_call_refuse(sqlite3_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the call with the last error of the connection. */
void storage_call_fail_as_sqlite(sqlite3_context *context);

/* ---- the step -------------------------------------------------------------------------------- */

/* A call writes all of its data or none, in its own transaction or in the open
 * one. */
struct storage_step {
    sqlite3 *db;
    bool alone; /* no transaction was open */
};

/* Returns false if the error was reported. */
bool storage_step_begin(sqlite3_context *context, struct storage_step *ret_step);

/* Keeps what was written: durable when this returns, if the step was alone. Returns false if the
 * error was reported; then nothing is kept. */
bool storage_step_keep(sqlite3_context *context, const struct storage_step *step);

/* Undoes what was written since the begin. */
void storage_step_undo(const struct storage_step *step);

#endif
