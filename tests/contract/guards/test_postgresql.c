/* Rules for the guard for PostgreSQL beside the contract: the pgTAP cases of postgresql.sql. */
#include "tests/contract/guards/psql.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    if (access("/usr/share/postgresql/15/extension/pgtap.control", R_OK) != 0)
        case_skip("pgTAP is not installed");
    struct guard_server *server = psql_new_server();
    char *told;
    const int status =
        psql_run(server, "postgres", "-f", "tests/contract/guards/postgresql.sql", &told);
    if (status != 0 || lines_with(told, "not ok") > 0 || planned(told) == 0 ||
        lines_with(told, "ok ") != planned(told))
        fail_msg("%s", told);
    print_message("%u pgTAP cases\n", planned(told));
    free(told);
    guard_server_free(server);
}

/* Objects that another role made before are there in a new database: the guard is not installed
 * into it. */
static void expect_refused(const struct guard_server *server, const char *made, const char *words)
{
    char *told;
    psql_must_run(server, "postgres", "DROP DATABASE IF EXISTS taken");
    psql_must_run(server, "postgres", "CREATE DATABASE taken");
    psql_must_run(server, "taken", "GRANT CREATE ON SCHEMA public TO mallory");
    psql_must_run(server, "taken", made);
    assert_int_not_equal(psql_run(server, "taken", "-f", PSQL_GUARD, &told), 0);
    if (!strstr(told, words) || !strstr(told, "Install the guard as that role"))
        fail_msg("after %s: %s", made, told);
    free(told);
    assert_int_equal(psql_run(server, "taken", "-c",
                              "SELECT to_regclass('pawl.guard') IS NULL AND "
                              "to_regproc('public.pawl_check') IS NULL",
                              &told),
                     0);
    assert_int_equal(told[0], (int)'t');
    free(told);
}

static void names_that_another_role_took_are_refused(void **state)
{
    struct guard_server *server = psql_new_server();
    psql_must_run(server, "postgres", "CREATE ROLE mallory");
    expect_refused(server, "CREATE SCHEMA pawl AUTHORIZATION mallory",
                   "the schema pawl of role mallory is there already");
    expect_refused(server,
                   "SET ROLE mallory; CREATE FUNCTION pawl_claim(text, bigint) RETURNS void "
                   "LANGUAGE sql AS ''",
                   "pawl_claim(text,bigint) of role mallory is there already");
    psql_must_run(server, "postgres", "DROP DATABASE taken");
    psql_must_run(server, "postgres", "CREATE DATABASE taken");
    psql_must_run(server, "taken", "CREATE SCHEMA pawl");
    char *told;
    if (psql_run(server, "taken", "-f", PSQL_GUARD, &told) != 0)
        fail_msg("a schema of one's own is taken: %s", told);
    free(told);
    guard_server_free(server);
}

/* ---- the guard of an earlier Pawl ------------------------------------------------------------ */

/* Its own objects in a database: one number for each resource. */
static const char earlier[] =
    "CREATE SCHEMA pawl;"
    "CREATE TABLE pawl.guard (resource text COLLATE \"C\" PRIMARY KEY,"
    "  token bigint NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),"
    "  claimed_in xid8 NOT NULL, claimed_at timestamptz NOT NULL) WITH (fillfactor = 50);"
    "CREATE FUNCTION pawl.refuse() RETURNS trigger LANGUAGE plpgsql"
    "  SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER pawl_rise BEFORE UPDATE ON pawl.guard FOR EACH ROW"
    "  WHEN (NEW.token < OLD.token OR NEW.resource <> OLD.resource)"
    "  EXECUTE FUNCTION pawl.refuse('55000', 'lowered');"
    "CREATE FUNCTION pawl_claim(resource text, token bigint) RETURNS bigint LANGUAGE sql"
    "  SECURITY DEFINER AS 'INSERT INTO pawl.guard VALUES"
    "    ($1, $2, pg_current_xact_id(), transaction_timestamp()) RETURNING token';"
    "REVOKE ALL ON FUNCTION pawl_claim FROM PUBLIC; GRANT EXECUTE ON FUNCTION pawl_claim TO holder;"
    "SELECT pawl_claim('orders/42', 34);"
    "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO mallory";

static const char *const upgraded[] = {
    "SELECT (token, reader) = (34, 0) FROM pawl.guard",
    "SELECT has_function_privilege('holder', 'pawl_claim(text, bigint)', 'EXECUTE')",
    "SELECT NOT has_function_privilege('mallory', 'pawl_claim_read(text, bigint)', 'EXECUTE')",
    "SELECT pawl_claim('orders/42', 34) = 34",
    "SELECT pawl_claim_read('orders/42', 35) = 35",
    "SELECT pawl_claim_read('orders/new', 1) = 1",
    "SELECT pawl_check_read('orders/42', 34) = 34",
    "SELECT pawl_token('orders/42') = 35",
    "SELECT pawl_check('orders/42', 36) = 36",
};

static void guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers(void **state)
{
    struct guard_server *server = psql_new_server();
    char *told;
    psql_must_run(server, "postgres", "CREATE ROLE holder; CREATE ROLE mallory");
    psql_must_run(server, "postgres", "CREATE DATABASE earlier");
    psql_must_run(server, "earlier", earlier);
    for (unsigned twice = 0; twice < 2; twice++) {
        if (psql_run(server, "earlier", "-f", PSQL_GUARD, &told) != 0)
            fail_msg("%s", told);
        free(told);
    }
    for (size_t i = 0; i < sizeof(upgraded) / sizeof(upgraded[0]); i++) {
        if (psql_run(server, "earlier", "-c", upgraded[i], &told) != 0 || told[0] != 't')
            fail_msg("%s: %s", upgraded[i], told);
        free(told);
    }
    assert_int_not_equal(
        psql_run(server, "earlier", "-c", "SELECT pawl_check('orders/42', 35)", &told), 0);
    free(told);
    assert_int_equal(psql_run(server, "earlier", "-f", PSQL_CHECK, &told), 0);
    if (!strstr(told, "the guard||intact"))
        fail_msg("%s", told);
    free(told);
    guard_server_free(server);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(pgtap_cases_hold),
    cmocka_unit_test(names_that_another_role_took_are_refused),
    cmocka_unit_test(guard_of_an_earlier_pawl_keeps_its_rows_and_learns_readers),
};

static int end(void **state)
{
    process_kill_all();
    return 0;
}

CASE_MAIN(cases, NULL, end)
