/* psql at a server with the guard for PostgreSQL, as its superuser. */
#ifndef TESTS_CONTRACT_GUARDS_PSQL_H
#define TESTS_CONTRACT_GUARDS_PSQL_H

#include "tests/contract/guards/guard.h"

#define PSQL_GUARD "storage/guard/postgresql/pawl_guard.sql"
#define PSQL_CHECK "storage/guard/postgresql/pawl_check.sql"

/* Runs psql with @option (-c or -f) and its @value. Returns its exit status; what it told is the
 * caller's to free. */
int psql_run(const struct guard_server *server, const char *database, const char *option,
             const char *value, char **ret_told);

/* The same with statements that may not fail. */
void psql_must_run(const struct guard_server *server, const char *database, const char *text);

/* Starts a server with a guard: PostgreSQL 18 under with_postgresql_18, and else 15. Skips the test
 * where there is none. */
struct guard_server *psql_new_server(void);

#endif
