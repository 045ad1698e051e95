/* pawl_check.sql for MariaDB: what it tells of a guard and of tables that are intact, and of each
 * way to damage them; what the install refuses; and pawl_unprotect. */
#include "tests/contract/guards/mariadb.h"
#include "tests/contract/guards/mariadb_pair.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct guard_connection *root;

/* ---- a database to damage -------------------------------------------------------------------- */

#define NEW_DATABASE                                                                               \
    "DROP DATABASE IF EXISTS damaged; CREATE DATABASE damaged;"                                    \
    "CREATE USER IF NOT EXISTS mallory@localhost; REVOKE ALL, GRANT OPTION FROM mallory@localhost"

static void begin_with(const char *before)
{
    if (guard_mariadb.missing())
        case_skip(guard_mariadb.missing());
    root = mariadb_connect_root(mariadb_shared);
    mariadb_must_run(root, NEW_DATABASE);
    mariadb_must_run(root, "USE damaged");
    mariadb_must_run(root, before);
}

static void damage(const char *text)
{
    begin_with("DO 0");
    assert_int_equal(mariadb_install(mariadb_shared, "damaged"), 0);
    mariadb_must_run(root, "CREATE TABLE kept (id INTEGER PRIMARY KEY, note TEXT) ENGINE = InnoDB;"
                           "CALL pawl_protect('kept', 'kept/{id}')");
    mariadb_must_run(root, text);
    guard_mariadb.close(root);
}

static void expect_line(const char *of, const char *words, const char *why)
{
    char *told, begins[64];
    told = mariadb_told(mariadb_shared, "damaged", "storage/guard/mariadb/pawl_check.sql");
    snprintf(begins, sizeof(begins), "\n%s\t", of);
    const char *line = strstr(told, begins);
    const char *found = line ? strstr(line, words) : NULL;
    if (!found || found > line + 1 + strcspn(line + 1, "\n"))
        fail_msg("after %s: '%s' does not say '%s' of %s", why, told, words, of);
    free(told);
}

/* ---- the check ------------------------------------------------------------------------------- */

struct damage {
    const char *done, *of, *words;
};

#define TRIGGER "CREATE OR REPLACE TRIGGER "

static const struct damage damages[] = {
    {"DO 0", "the guard", "\tintact\t"},
    {"DO 0", "kept", "kept/{id}\tintact\t"},
    {"DROP TRIGGER kept_pawl_insert", "kept", "the trigger after INSERT is missing"},
    {"DROP TRIGGER kept_pawl_update", "kept", "the trigger after UPDATE is missing"},
    {"DROP TRIGGER kept_pawl_insert; DROP TRIGGER kept_pawl_update; DROP TRIGGER kept_pawl_delete",
     "kept", "the trigger after DELETE is missing"},
    {TRIGGER "kept_pawl_delete AFTER DELETE ON kept FOR EACH ROW SET @x = 1", "kept",
     "the trigger after DELETE is missing or was changed"},
    {TRIGGER "kept_pawl_insert AFTER INSERT ON kept FOR EACH ROW BEGIN IF FALSE THEN "
             "CALL pawl_admit(CONCAT('', 'kept/', CONVERT(NEW.`id` USING utf8mb4))); END IF; END",
     "kept", "the trigger after INSERT is missing or was changed"},
    {"RENAME TABLE kept TO old; CREATE TABLE kept (id INTEGER PRIMARY KEY) ENGINE = InnoDB", "kept",
     "the trigger after INSERT is missing"},
    {"RENAME TABLE kept TO old", "old", "was protected under another name"},
    {"ALTER TABLE kept ENGINE = Aria", "kept", "is no table of InnoDB"},
    {"GRANT TRIGGER ON damaged.kept TO mallory@localhost", "kept",
     "'mallory'@'localhost' (TRIGGER)"},
    {"GRANT ALL ON damaged.* TO mallory@localhost", "kept", "ALTER ROUTINE, DROP, TRIGGER)"},
    {"CREATE TABLE p (id INTEGER PRIMARY KEY) ENGINE = InnoDB;"
     "ALTER TABLE kept ADD FOREIGN KEY (id) REFERENCES p (id) ON DELETE CASCADE",
     "kept", "the foreign key kept_ibfk_1 (CASCADE"},
    {"CREATE OR REPLACE PROCEDURE pawl_admit(p_resource LONGBLOB) SQL SECURITY DEFINER SET @x = 1",
     "the guard", "the routine pawl_admit was changed"},
    {"ALTER PROCEDURE pawl_raise SQL SECURITY INVOKER", "the guard",
     "the routine pawl_raise was changed"},
    {"DROP FUNCTION pawl_token", "the guard", "the routine pawl_token is missing"},
    {"CREATE OR REPLACE DEFINER = mallory@localhost PROCEDURE pawl_need_token(p_token LONGBLOB) "
     "SQL SECURITY INVOKER SET @x = 1",
     "the guard", "the routine pawl_need_token is of mallory@localhost"},
    {TRIGGER "lower BEFORE UPDATE ON pawl_guard FOR EACH ROW SET NEW.token = 1", "the guard",
     "the table pawl_guard has the trigger lower"},
    {"ALTER TABLE pawl_guard ENGINE = Aria", "the guard",
     "the table pawl_guard is missing, or not"},
    {"ALTER TABLE pawl_guard DROP PRIMARY KEY", "the guard",
     "the table pawl_guard has another key"},
    {"DROP TABLE pawl_guard", "the guard", "the table pawl_guard is missing"},
    {"GRANT UPDATE ON damaged.pawl_guard TO mallory@localhost", "the guard",
     "'mallory'@'localhost' has UPDATE on the table pawl_guard"},
    {"DROP TABLE pawl_protected; CREATE VIEW pawl_protected AS SELECT 1 AS table_name", "the guard",
     "the table pawl_protected is missing"},
};

static void each_damage_is_told(void **state)
{
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        damage(damages[i].done);
        expect_line(damages[i].of, damages[i].words, damages[i].done);
    }
    print_message("%zu damages\n", sizeof(damages) / sizeof(damages[0]));
}

static void table_that_is_given_free_is_written_and_not_told(void **state)
{
    damage(
        "RENAME TABLE kept TO `o``ld`; CALL pawl_unprotect('o`ld'); INSERT INTO `o``ld` VALUES (1, "
        "'');"
        "CALL pawl_protect('o`ld', 'old/{id}'); CALL pawl_unprotect('o`ld'); DELETE FROM `o``ld`");
    char *told = mariadb_told(mariadb_shared, "damaged", "storage/guard/mariadb/pawl_check.sql");
    assert_null(strstr(told, "\no`ld\t"));
    free(told);
}

/* ---- the install ----------------------------------------------------------------------------- */

static const char alterable[] = "CREATE PROCEDURE pawl_raise() SET @x = 1;"
                                "GRANT ALTER ROUTINE ON PROCEDURE pawl_raise TO mallory@localhost";

static void install_refuses_what_a_stranger_made(void **state)
{
    static const char *const made[] = {
        "CREATE DEFINER = mallory@localhost PROCEDURE pawl_claim() SET @x = 1",
        "CREATE DEFINER = mallory@localhost FUNCTION pawl_valid_token() RETURNS INT RETURN 1",
        "CREATE VIEW pawl_guard AS SELECT 1 AS resource",
        "CREATE TABLE pawl_guard (resource INT) ENGINE = InnoDB",
        "GRANT ALL ON damaged.* TO mallory@localhost",
        alterable,
        "GRANT ALTER ROUTINE ON `damage_`.* TO mallory@localhost",
    };
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        begin_with(made[i]);
        if (mariadb_install(mariadb_shared, "damaged") == 0)
            fail_msg("the guard is installed after %s", made[i]);
        assert_int_equal(number_of(root,
                                   "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE "
                                   "ROUTINE_SCHEMA = 'damaged' AND ROUTINE_NAME = 'pawl_check'"),
                         0);
        guard_mariadb.close(root);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(each_damage_is_told),
    cmocka_unit_test(table_that_is_given_free_is_written_and_not_told),
    cmocka_unit_test(install_refuses_what_a_stranger_made),
};

CASE_MAIN(cases, pair_setup, pair_teardown)
