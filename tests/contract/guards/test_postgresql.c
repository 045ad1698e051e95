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

/* psql's exit status; what it told is the caller's to free. */
static int run_psql(const struct guard_server *server, const char *database, const char *option,
                    const char *value, char **ret_told)
{
    char sockets[256], log[256];
    snprintf(sockets, sizeof(sockets), "%s/run", server->dir);
    snprintf(log, sizeof(log), "%s/psql", server->dir);
    const char *const argv[] = {"psql",     "-X", "-A",     "-t",   "-h",  sockets, "-U",
                                "postgres", "-d", database, option, value, NULL};
    (void)unlink(log); /* of the call before */
    const int status = process_run(argv, log, PSQL_MS);
    *ret_told = text_read(log, 0);
    return status;
}

static void must_run(const struct guard_server *server, const char *database, const char *text)
{
    char *told;
    if (run_psql(server, database, "-c", text, &told) != 0)
        fail_msg("%s: %s", text, told);
    free(told);
}

static struct guard_server *new_server(void)
{
    if (guard_postgresql.missing())
        case_skip(guard_postgresql.missing());
    return guard_server_new(&guard_postgresql);
}

static void pgtap_cases_hold(void **state)
{
    (void)state;
    if (access("/usr/share/postgresql/15/extension/pgtap.control", R_OK) != 0)
        case_skip("pgTAP is not installed");
    struct guard_server *server = new_server();
    char *told;
    const int status =
        run_psql(server, "postgres", "-f", "tests/contract/guards/postgresql.sql", &told);
    if (status != 0 || lines_with(told, "not ok") > 0 || planned(told) == 0 ||
        lines_with(told, "ok ") != planned(told))
        fail_msg("%s", told);
    print_message("%u pgTAP cases\n", planned(told));
    free(told);
    guard_server_free(server);
}

/* What another role made before is there in a new database: the guard is not installed into it. */
static void expect_refused(const struct guard_server *server, const char *made, const char *words)
{
    char *told;
    must_run(server, "postgres", "DROP DATABASE IF EXISTS taken");
    must_run(server, "postgres", "CREATE DATABASE taken");
    must_run(server, "taken", "GRANT CREATE ON SCHEMA public TO mallory");
    must_run(server, "taken", made);
    assert_int_not_equal(
        run_psql(server, "taken", "-f", "storage/guard/postgresql/pawl_guard.sql", &told), 0);
    if (!strstr(told, words) || !strstr(told, "Install the guard as that role"))
        fail_msg("after %s: %s", made, told);
    free(told);
    assert_int_equal(run_psql(server, "taken", "-c",
                              "SELECT to_regclass('pawl.guard') IS NULL AND "
                              "to_regproc('public.pawl_check') IS NULL",
                              &told),
                     0);
    assert_int_equal(told[0], (int)'t');
    free(told);
}

static void names_that_another_role_took_are_refused(void **state)
{
    (void)state;
    struct guard_server *server = new_server();
    must_run(server, "postgres", "CREATE ROLE mallory");
    expect_refused(server, "CREATE SCHEMA pawl AUTHORIZATION mallory",
                   "the schema pawl of role mallory is there already");
    expect_refused(server,
                   "SET ROLE mallory; CREATE FUNCTION pawl_claim(text, bigint) RETURNS void "
                   "LANGUAGE sql AS ''",
                   "pawl_claim(text,bigint) of role mallory is there already");
    must_run(server, "postgres", "DROP DATABASE taken");
    must_run(server, "postgres", "CREATE DATABASE taken");
    must_run(server, "taken", "CREATE SCHEMA pawl");
    char *told;
    if (run_psql(server, "taken", "-f", "storage/guard/postgresql/pawl_guard.sql", &told) != 0)
        fail_msg("a schema of one's own is taken: %s", told);
    free(told);
    guard_server_free(server);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(pgtap_cases_hold),
    cmocka_unit_test(names_that_another_role_took_are_refused),
};

static int end(void **state)
{
    (void)state;
    process_kill_all();
    return 0;
}

CASE_MAIN(cases, NULL, end)
