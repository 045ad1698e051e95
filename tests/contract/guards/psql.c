#include "tests/contract/guards/psql.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PSQL_MS = 60000,
};

int psql_run(const struct guard_server *server, const char *database, const char *option,
             const char *value, char **ret_told)
{
    char sockets[256], log[256];
    snprintf(sockets, sizeof(sockets), "%s/run", server->dir);
    snprintf(log, sizeof(log), "%s/psql", server->dir);
    const char *const argv[] = {"psql",     "-X", "-A",     "-t",   "-h",  sockets, "-U",
                                "postgres", "-d", database, option, value, NULL};
    (void)unlink(log); /* log of the call before */
    const int status = process_run(argv, log, PSQL_MS);
    *ret_told = text_read(log, 0);
    return status;
}

void psql_must_run(const struct guard_server *server, const char *database, const char *text)
{
    char *told;
    if (psql_run(server, database, "-c", text, &told) != 0)
        fail_msg("%s: %s", text, told);
    free(told);
}

struct guard_server *psql_new_server(void)
{
    const struct guard_kind *kind =
        getenv("PAWL_POSTGRESQL_18") ? &guard_postgresql_18 : &guard_postgresql;
    if (kind->missing())
        case_skip(kind->missing());
    return guard_server_new(kind);
}
