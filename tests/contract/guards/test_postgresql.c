/* What the guard for PostgreSQL does beside the contract: the pgTAP cases of postgresql.sql. */
#include "tests/contract/guards/guard.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PSQL_MS = 60000,
};

static unsigned lines_with(const char *text, const char *begin)
{
    unsigned count = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        count += strncmp(line, begin, strlen(begin)) == 0;
    }
    return count;
}

/* The first line with a plan says how many there are. */
static unsigned planned(const char *text)
{
    const char *plan = strstr(text, "1..");
    return plan ? (unsigned)strtoul(plan + strlen("1.."), NULL, 10) : 0;
}

static void pgtap_cases_hold(void **state)
{
    (void)state;
    if (guard_postgresql.missing())
        case_skip(guard_postgresql.missing());
    if (access("/usr/share/postgresql/15/extension/pgtap.control", R_OK) != 0)
        case_skip("pgTAP is not installed");
    struct guard_server *server = guard_server_new(&guard_postgresql);
    char sockets[256], log[256];
    snprintf(sockets, sizeof(sockets), "%s/run", server->dir);
    snprintf(log, sizeof(log), "%s/tap", server->dir);
    const char *const argv[] = {"psql", "-X",       "-h", sockets,
                                "-U",   "postgres", "-f", "tests/contract/guards/postgresql.sql",
                                NULL};
    const int status = process_run(argv, log, PSQL_MS);
    char *told = text_read(log, 0);
    if (status != 0 || lines_with(told, "not ok") > 0 || planned(told) == 0 ||
        lines_with(told, "ok ") != planned(told))
        fail_msg("%s", told);
    print_message("%u pgTAP cases\n", planned(told));
    free(told);
    guard_server_free(server);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(pgtap_cases_hold),
};

static int end(void **state)
{
    (void)state;
    process_kill_all();
    return 0;
}

CASE_MAIN(cases, NULL, end)
