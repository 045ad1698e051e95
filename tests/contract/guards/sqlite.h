/* The parts that the two guards for SQLite share: files, connections, rows. */
#ifndef TESTS_CONTRACT_GUARDS_SQLITE_H
#define TESTS_CONTRACT_GUARDS_SQLITE_H

#include "tests/contract/guards/guard.h"

#include <sqlite3.h>

enum {
    SQLITE_PATH_MAX = 256,
};

/* The file of the database. */
void sqlite_path(const struct guard_server *server, char path[static SQLITE_PATH_MAX]);

/* "plain" and "protected", with their rows. */
void sqlite_make_tables(sqlite3 *db);

/* Takes @db over. */
struct guard_connection *sqlite_connection_new(const struct guard_kind *kind, sqlite3 *db);
void sqlite_connection_close(struct guard_connection *connection);
sqlite3 *sqlite_of(struct guard_connection *connection);

/* Executes @text. The words of SQLite about an error are in connection->error. */
enum guard_outcome sqlite_run(struct guard_connection *connection, const char *text);

/* The same, for one number. */
enum guard_outcome sqlite_number(struct guard_connection *connection, const char *text,
                                 int64_t *ret_number);

/* As in struct guard_kind. */
void sqlite_stop(struct guard_server *server);
enum guard_outcome sqlite_read(struct guard_connection *connection, enum guard_table table,
                               unsigned id, int64_t *ret_value);
enum guard_outcome sqlite_write(struct guard_connection *connection, enum guard_table table,
                                unsigned id, int64_t value);

#endif
