/* A real MariaDB for tests of its guard: storage/guard/mariadb/pawl_guard.sql. */
#ifndef TESTS_CONTRACT_GUARDS_MARIADB_H
#define TESTS_CONTRACT_GUARDS_MARIADB_H

#include "tests/contract/guards/guard.h"

#define MARIADB_DATABASE "guarded"

enum {
    MARIADB_PATH_MAX = 256,
};

/* ---- the server ------------------------------------------------------------------------------ */

const char *mariadb_missing(void);

/* Makes the files and starts the server. There is no database in it yet. */
void mariadb_server_start(struct guard_server *server);
void mariadb_server_stop(struct guard_server *server);
void mariadb_server_kill(struct guard_server *server);
void mariadb_server_spawn(struct guard_server *server);

/* The same with one more option; NULL: none. */
void mariadb_server_spawn_with(struct guard_server *server, const char *extra);

void mariadb_socket(const struct guard_server *server, char path[static MARIADB_PATH_MAX]);

/* Installs the guard, as a user does, and once more does no harm. The exit status of the client. */
int mariadb_install(const struct guard_server *server, const char *database);

/* Has the client execute @file, which may not fail. Returns what it prints, a line for each row;
 * the caller frees it. */
char *mariadb_told(const struct guard_server *server, const char *database, const char *file);

/* ---- connections ----------------------------------------------------------------------------- */

/* The user that installs the guard. Other connections are of the user "app", which has no more
 * rights than the manual gives it. */
struct guard_connection *mariadb_connect_root(const struct guard_server *server);

/* Executes statements, and reads the first column of the first row as a number; 0: there is none.
 */
enum guard_outcome mariadb_number(struct guard_connection *connection, const char *text,
                                  int64_t *ret_number);
enum guard_outcome mariadb_run(struct guard_connection *connection, const char *text);

/* mariadb_run() that may not fail. */
void mariadb_must_run(struct guard_connection *connection, const char *text);

/* The number of the last call's error; 0: none. */
unsigned mariadb_error_of(const struct guard_connection *connection);

/* The acts of a pool on a connection that is given back: it forgets what the session knows. */
void mariadb_reset(struct guard_connection *connection);

#endif
