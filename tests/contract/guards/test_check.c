/* pawl_check.sql for PostgreSQL: what it tells of a guard and of tables that are intact, and of
 * each way to damage them; and what the right TRIGGER is good for. */
#include "tests/contract/guards/psql.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a database to damage -------------------------------------------------------------------- */

static const char roles[] = "CREATE ROLE alice; CREATE ROLE mallory";

static const char tables[] =
    "CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TABLE kept (id int, note text); ALTER TABLE kept OWNER TO alice;"
    "SELECT pawl.protect('kept', $x$'kept/' || id$x$);"
    "CREATE TABLE parts (id int) PARTITION BY LIST (id);"
    "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);"
    "SELECT pawl.protect('parts', $x$'parts/' || id$x$);"
    "GRANT USAGE, CREATE ON SCHEMA public TO mallory; GRANT ALL ON kept TO mallory";

static struct guard_server *server;

static int begin(void **state)
{
    char *told;
    server = psql_new_server();
    psql_must_run(server, "postgres", roles);
    psql_must_run(server, "postgres", "CREATE DATABASE intact");
    assert_int_equal(psql_run(server, "intact", "-f", PSQL_GUARD, &told), 0);
    free(told);
    psql_must_run(server, "intact", tables);
    return 0;
}

static int end(void **state)
{
    guard_server_free(server);
    server = NULL;
    process_kill_all();
    return 0;
}

static void copy_database(const char *damage)
{
    psql_must_run(server, "postgres", "DROP DATABASE IF EXISTS damaged");
    psql_must_run(server, "postgres", "CREATE DATABASE damaged TEMPLATE intact");
    psql_must_run(server, "damaged", damage);
}

/* The line of the check about @of, which begins with it. The caller frees it. */
static char *line_about(const char *database, const char *of)
{
    char *told;
    assert_int_equal(psql_run(server, database, "-f", PSQL_CHECK, &told), 0);
    char begins[64];
    snprintf(begins, sizeof(begins), "%s|", of);
    const char *line = strstr(told, begins);
    char *copy = line ? strndup(line, strcspn(line, "\n")) : strdup("");
    free(told);
    return copy;
}

static void expect_line(const char *database, const char *of, const char *words, const char *why)
{
    char *line = line_about(database, of);
    if (!strstr(line, words))
        fail_msg("after %s: '%s', without '%s'", why, line, words);
    free(line);
}

/* ---- intact ---------------------------------------------------------------------------------- */

static void intact_guard_and_tables_are_told_so(void **state)
{
    expect_line("intact", "the guard", "the guard||intact|", "nothing");
    expect_line("intact", "public.kept", "public.kept|'kept/' || id|intact|alice (owner)",
                "nothing");
    expect_line("intact", "public.parts", "public.parts|'parts/' || id|intact|", "nothing");
    copy_database("SELECT pawl.unprotect('kept')");
    char *line = line_about("damaged", "public.kept");
    assert_string_equal(line, "");
    free(line);
}

/* ---- damage ---------------------------------------------------------------------------------- */

struct damage {
    const char *done, *of, *words;
};

#define LOOSE          "ALTER EVENT TRIGGER pawl_keep_triggers DISABLE;"
#define NO_ROW_TRIGGER "DROP TRIGGER pawl_protect ON kept;"
#define ROW_TRIGGER(kind, events, when, function)                                                  \
    LOOSE "DO $d$ DECLARE f text := (SELECT tgfoid::regproc FROM pg_trigger "                      \
          "WHERE tgname = 'pawl_protect' AND tgrelid = 'kept'::regclass); BEGIN " NO_ROW_TRIGGER   \
          " EXECUTE 'CREATE " kind " TRIGGER pawl_protect AFTER " events                           \
          " ON kept FOR EACH ROW " when " EXECUTE FUNCTION ' || " function " || '()'; END $d$"
#define EACH "INSERT OR UPDATE OR DELETE"
#define ON_FUNCTION(text)                                                                          \
    "DO $d$ DECLARE f text := (SELECT tgfoid::regprocedure FROM pg_trigger "                       \
    "WHERE tgname = 'pawl_protect' AND tgrelid = 'kept'::regclass); BEGIN " text "; END $d$"

static const struct damage table_damages[] = {
    {NO_ROW_TRIGGER, "public.kept", "has no trigger pawl_protect"},
    {"ALTER TABLE kept DISABLE TRIGGER pawl_protect", "public.kept",
     "has its trigger pawl_protect off"},
    {"ALTER TABLE kept DISABLE TRIGGER ALL", "public.kept", "has its trigger pawl_protect off"},
    {"ALTER TABLE kept ENABLE REPLICA TRIGGER pawl_protect", "public.kept", "pawl_protect off"},
    {ROW_TRIGGER("CONSTRAINT", EACH, "", "'noop'"), "public.kept",
     "pawl_protect of another function"},
    {ROW_TRIGGER("CONSTRAINT", "INSERT OR DELETE", "", "f"), "public.kept", "for some writes only"},
    {ROW_TRIGGER("CONSTRAINT", EACH, "WHEN (false)", "f"), "public.kept", "for some writes only"},
    {ROW_TRIGGER("CONSTRAINT", "INSERT OR UPDATE OF note OR DELETE", "", "f"), "public.kept",
     "for some writes only"},
    {ROW_TRIGGER("", EACH, "", "f"), "public.kept", "protect it anew"},
    {ON_FUNCTION(
         "EXECUTE 'CREATE OR REPLACE FUNCTION ' || f || ' RETURNS trigger LANGUAGE plpgsql AS "
         "''BEGIN RETURN NULL; END'''"),
     "public.kept", "pawl_protect of another function"},
    {ON_FUNCTION(
         "EXECUTE 'CREATE OR REPLACE FUNCTION ' || f || ' RETURNS trigger LANGUAGE plpgsql SET "
         "search_path = pg_catalog, pg_temp AS ' || (SELECT quote_literal(replace(prosrc, "
         "E'BEGIN\\n', E'BEGIN\\n RETURN NULL;')) FROM pg_proc WHERE oid = f::regprocedure)"),
     "public.kept", "function of pawl_protect that was changed"},
    {ON_FUNCTION("EXECUTE 'ALTER FUNCTION ' || f || ' SECURITY DEFINER'"), "public.kept",
     "was changed"},
    {ON_FUNCTION("EXECUTE 'ALTER FUNCTION ' || f || ' RESET ALL'"), "public.kept", "was changed"},
    {ON_FUNCTION("EXECUTE 'ALTER FUNCTION ' || f || ' OWNER TO mallory'"), "public.kept",
     "of a function of the role mallory"},
    {"DROP TRIGGER pawl_protect_all ON kept", "public.kept", "has no trigger pawl_protect_all"},
    {"ALTER TABLE kept DISABLE TRIGGER pawl_protect_all", "public.kept", "pawl_protect_all is off"},
    {LOOSE
     "CREATE OR REPLACE TRIGGER pawl_protect_all BEFORE TRUNCATE ON kept EXECUTE FUNCTION noop()",
     "public.kept", "pawl_protect_all is of another function"},
    {"ALTER TABLE kept RENAME TO old; CREATE TABLE kept (id int)", "public.kept",
     "has no trigger pawl_protect"},
    {"ALTER TABLE kept RENAME TO old", "public.old", "intact"},
    {"CREATE TABLE heir () INHERITS (kept)", "public.kept", "heir inherits"},
    {"CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2)", "public.parts",
     "parts_2 can be emptied by TRUNCATE"},
    {"ALTER TABLE parts_1 DISABLE TRIGGER ALL", "public.parts",
     "parts_1 has its trigger pawl_protect off"},
    {"ALTER TABLE parts DETACH PARTITION parts_1", "public.parts", "intact"},
    {"DROP EVENT TRIGGER pawl_keep_triggers", "public.kept", "mallory (TRIGGER and TRUNCATE)"},
};

static const struct damage guard_damages[] = {
    {"DROP SCHEMA pawl CASCADE", "the guard", "is not installed here"},
    {"CREATE OR REPLACE FUNCTION pawl.expect_claim(resource text) RETURNS void LANGUAGE plpgsql "
     "VOLATILE "
     "SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN END'",
     "the guard", "pawl.expect_claim(text) was changed"},
    {"ALTER FUNCTION pawl_check SECURITY INVOKER", "the guard",
     "pawl_check(text,bigint) was changed"},
    {"ALTER FUNCTION pawl.refuse RESET ALL", "the guard", "pawl.refuse() was changed"},
    {"DROP FUNCTION pawl_claim", "the guard", "pawl_claim(text,bigint) is missing"},
    {"ALTER FUNCTION pawl.judge OWNER TO mallory", "the guard", "is of the role mallory"},
    {"SET ROLE mallory; CREATE FUNCTION public.pawl_claim(text, int) RETURNS bigint LANGUAGE sql "
     "AS "
     "'SELECT 1::bigint'",
     "the guard", "public.pawl_claim(text,integer) is of the role mallory"},
    {"CREATE FUNCTION pawl.judge(text, text, int) RETURNS bigint LANGUAGE sql AS 'SELECT "
     "1::bigint'",
     "the guard", "pawl.judge(text,text,integer) is not of the guard"},
    {"ALTER TABLE pawl.guard DISABLE TRIGGER pawl_rise", "the guard",
     "pawl_rise is missing, changed or off"},
    {"DROP TRIGGER pawl_keep ON pawl.guard", "the guard", "pawl_keep is missing, changed or off"},
    {LOOSE "CREATE OR REPLACE TRIGGER pawl_rise BEFORE UPDATE ON pawl.guard FOR EACH ROW EXECUTE "
           "FUNCTION noop()",
     "the guard", "pawl_rise is missing, changed or off"},
    {"CREATE TRIGGER other BEFORE INSERT ON pawl.guard FOR EACH ROW EXECUTE FUNCTION noop()",
     "the guard", "the table guard has the trigger other"},
    {"GRANT ALL ON pawl.guard TO mallory", "the guard", "mallory has UPDATE on the table guard"},
    {"GRANT UPDATE (token) ON pawl.guard TO PUBLIC", "the guard",
     "PUBLIC has UPDATE on the column"},
    {"GRANT CREATE ON SCHEMA pawl TO mallory", "the guard",
     "mallory may create in the schema pawl"},
    {"GRANT EXECUTE ON FUNCTION pawl.refuse TO PUBLIC", "the guard",
     "PUBLIC may call the function pawl.refuse()"},
    {"ALTER TABLE pawl.guard SET UNLOGGED", "the guard", "no ordinary, logged table"},
    {"CREATE RULE other AS ON INSERT TO pawl.guard DO INSTEAD NOTHING", "the guard",
     "without rules"},
    {"ALTER TABLE pawl.guard DROP CONSTRAINT guard_pkey", "the guard", "has no primary key"},
    {"ALTER TABLE pawl.guard OWNER TO mallory", "the guard", "guard is of the role mallory"},
    {"ALTER EVENT TRIGGER pawl_keep_triggers DISABLE", "the guard", "TRIGGER and TRUNCATE undo"},
};

static void play(const struct damage *damages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        copy_database(damages[i].done);
        expect_line("damaged", damages[i].of, damages[i].words, damages[i].done);
    }
    print_message("%zu damages\n", count);
}

static void each_damage_of_a_table_is_told(void **state)
{
    play(table_damages, sizeof(table_damages) / sizeof(table_damages[0]));
}

static void each_damage_of_the_guard_is_told(void **state)
{
    play(guard_damages, sizeof(guard_damages) / sizeof(guard_damages[0]));
}

/* Rights of roles are the server's, and not the database's. */
static void rights_that_undo_a_guard_are_told(void **state)
{
    static const struct {
        const char *given, *taken, *words;
    } rights[] = {
        {"GRANT SET ON PARAMETER session_replication_role TO mallory",
         "REVOKE SET ON PARAMETER session_replication_role FROM mallory",
         "mallory (session_replication_role)"},
        {"GRANT alice TO mallory", "REVOKE alice FROM mallory",
         "mallory (is in the role of the owner)"},
    };
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        copy_database(rights[i].given);
        expect_line("damaged", "public.kept", rights[i].words, rights[i].given);
        psql_must_run(server, "damaged", rights[i].taken);
    }
}

/* A view that a stranger made in the guard's place is not read. */
static void check_runs_nothing_of_the_database(void **state)
{
    copy_database(
        "DROP SCHEMA pawl CASCADE; CREATE SEQUENCE ran; GRANT ALL ON SEQUENCE ran TO PUBLIC;"
        "GRANT CREATE ON DATABASE damaged TO mallory; SET ROLE mallory; CREATE SCHEMA pawl;"
        "CREATE FUNCTION public.ran() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('ran') $$;"
        "CREATE VIEW pawl.guard AS SELECT public.ran() AS resource, public.ran() AS token;"
        "CREATE VIEW pawl.refusal AS SELECT public.ran() AS number;"
        "CREATE VIEW public.pg_proc AS SELECT public.ran() AS oid, '' AS proname");
    expect_line("damaged", "the guard", "is missing", "a stranger's schema pawl");
    psql_must_run(server, "damaged", "DO $$ BEGIN ASSERT NOT (SELECT is_called FROM ran); END $$");
}

/* ---- the right TRIGGER ----------------------------------------------------------------------- */

static void expect_refused(const char *text, const char *words)
{
    char *told, whole[512];
    snprintf(whole, sizeof(whole), "SET ROLE mallory; %s", text);
    if (psql_run(server, "damaged", "-c", whole, &told) == 0 || !strstr(told, words))
        fail_msg("%s: %s", text, told);
    free(told);
}

#define REPLACES "CREATE OR REPLACE TRIGGER "

static void right_trigger_does_not_take_the_guard_off(void **state)
{
    copy_database("GRANT ALL ON kept, parts, parts_1 TO mallory");
    expect_refused(REPLACES
                   "pawl_protect AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION noop()",
                   "is a constraint trigger");
    expect_refused(REPLACES
                   "pawl_protect AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION noop()",
                   "constraint trigger");
    expect_refused(REPLACES
                   "pawl_protect AFTER INSERT ON parts_1 FOR EACH ROW EXECUTE FUNCTION noop()",
                   "trigger");
    expect_refused(REPLACES "pawl_protect_all BEFORE TRUNCATE ON kept EXECUTE FUNCTION noop()",
                   "belongs to the guard");
    expect_refused(REPLACES
                   "pawl_protect_all BEFORE TRUNCATE ON kept WHEN (false) EXECUTE FUNCTION "
                   "pawl.refuse('a', 'b')",
                   "permission denied for function");
    expect_refused("TRUNCATE kept", "the table is protected");
    expect_refused("INSERT INTO kept VALUES (1)", "unclaimed: ");
    expect_line("damaged", "public.kept", "|intact|", "all that");
}

/* ---- what the owner runs --------------------------------------------------------------------- */

static void new_database(const char *text)
{
    char *told;
    psql_must_run(server, "postgres", "DROP DATABASE IF EXISTS damaged");
    psql_must_run(server, "postgres", "CREATE DATABASE damaged");
    psql_must_run(server, "damaged", text);
    assert_int_equal(psql_run(server, "damaged", "-f", PSQL_GUARD, &told), 0);
    free(told);
}

static void expect_true(const char *condition)
{
    char text[512];
    snprintf(text, sizeof(text), "DO $$ BEGIN ASSERT %s; END $$", condition);
    psql_must_run(server, "damaged", text);
}

/* The right TRIGGER on the guard's table would be its owner's rights: its functions write there. */
static void rights_that_are_given_by_default_are_taken_back(void **state)
{
    char *told;
    new_database("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO mallory;"
                 "ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO mallory, PUBLIC;"
                 "ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO mallory;"
                 "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO mallory");
    expect_true(
        "NOT has_table_privilege('mallory', 'pawl.guard', 'SELECT, INSERT, UPDATE, TRIGGER')");
    expect_true("NOT has_schema_privilege('mallory', 'pawl', 'CREATE')");
    expect_true("NOT has_function_privilege('mallory', 'pawl_claim(text, bigint)', 'EXECUTE')");
    expect_line("damaged", "the guard", "the guard||intact|", "default privileges");
    psql_must_run(server, "damaged",
                  "GRANT EXECUTE ON FUNCTION pawl_claim TO alice;"
                  "GRANT SELECT ON pawl.refusal TO alice;"
                  "GRANT UPDATE ON pawl.guard TO alice");
    assert_int_equal(psql_run(server, "damaged", "-f", PSQL_GUARD, &told), 0);
    free(told);
    expect_true("has_function_privilege('alice', 'pawl_claim(text, bigint)', 'EXECUTE')");
    expect_true("has_table_privilege('alice', 'pawl.refusal', 'SELECT')");
    expect_true("NOT has_table_privilege('alice', 'pawl.guard', 'UPDATE')");
}

#define RAN                                                                                        \
    "GRANT CREATE ON SCHEMA public TO mallory; SET ROLE mallory; CREATE SEQUENCE ran;"             \
    "GRANT ALL ON SEQUENCE ran TO PUBLIC; CREATE FUNCTION ran(int) RETURNS int IMMUTABLE "         \
    "LANGUAGE plpgsql AS $f$ BEGIN IF current_user = 'postgres' THEN "                             \
    "PERFORM nextval('public.ran'); END IF; RETURN $1; END $f$;"

/* To plan a query of a stranger's table or view already runs what is immutable in it. */
static void protecting_runs_nothing_of_the_table(void **state)
{
    char *told;
    new_database(RAN "CREATE TABLE bait (id int); CREATE INDEX ON bait ((public.ran(7)));"
                     "CREATE VIEW seen AS SELECT id FROM bait WHERE public.ran(7) = 7");
    psql_must_run(server, "damaged",
                  "SELECT pawl.protect('public.bait', $x$'bait/' || id$x$);"
                  "SELECT pawl_protect('public.bait'::regclass, 'id'::text)");
    assert_int_not_equal(
        psql_run(server, "damaged", "-c", "SELECT pawl.protect('public.seen', 'id')", &told), 0);
    assert_non_null(strstr(told, "is not a table of this database"));
    free(told);
    expect_true("NOT (SELECT is_called FROM public.ran)");
}

/* The writer is the superuser: a trigger of the guard names nothing that a stranger may have made.
 */
static void refusal_runs_nothing_of_a_stranger(void **state)
{
    char *told;
    new_database(RAN "CREATE FUNCTION public.format(text, text, regclass, text) RETURNS text "
                     "LANGUAGE plpgsql AS $f$ BEGIN PERFORM public.ran(1); RETURN ''; END $f$");
    psql_must_run(server, "damaged",
                  "CREATE TABLE kept (id int); SELECT pawl.protect('kept', 'id')");
    assert_int_not_equal(psql_run(server, "damaged", "-c", "TRUNCATE kept", &told), 0);
    free(told);
    expect_true("NOT (SELECT is_called FROM public.ran)");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(intact_guard_and_tables_are_told_so),
    cmocka_unit_test(each_damage_of_a_table_is_told),
    cmocka_unit_test(each_damage_of_the_guard_is_told),
    cmocka_unit_test(rights_that_undo_a_guard_are_told),
    cmocka_unit_test(check_runs_nothing_of_the_database),
    cmocka_unit_test(right_trigger_does_not_take_the_guard_off),
    cmocka_unit_test(rights_that_are_given_by_default_are_taken_back),
    cmocka_unit_test(protecting_runs_nothing_of_the_table),
    cmocka_unit_test(refusal_runs_nothing_of_a_stranger),
};

CASE_MAIN(cases, begin, end)
