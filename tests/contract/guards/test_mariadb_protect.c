/* Tables that pawl_protect closes: by which statements, for which rows, and what no trigger sees.
 */
#include "tests/contract/guards/mariadb.h"
#include "tests/contract/guards/mariadb_pair.h"

#include <stdio.h>

static struct guard_connection *root, *app, *other;

/* ---- helpers --------------------------------------------------------------------------------- */

/* Each case has its own tables, which "app" may read and write. */
static void begin_case(const struct pair *pair, const char *tables)
{
    root = pair->root;
    app = pair->a;
    other = pair->b;
    mariadb_must_run(root, tables);
}

static void grant(const char *table)
{
    char text[128];
    snprintf(text, sizeof(text), "GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO app", table);
    mariadb_must_run(root, text);
}

/* ---- statements ------------------------------------------------------------------------------ */

#define WAYS_TABLE                                                                                 \
    "CREATE OR REPLACE TABLE ways (id INTEGER PRIMARY KEY, value BIGINT) ENGINE = InnoDB;"         \
    "INSERT INTO ways VALUES (1, 0), (2, 0); CALL pawl_protect('ways', 'ways/{id}')"

static const char *const ways[] = {
    "INSERT INTO ways VALUES (3, 9)",
    "INSERT IGNORE INTO ways VALUES (3, 9)",
    "INSERT INTO ways SELECT 3, 9",
    "INSERT INTO ways VALUES (1, 9) ON DUPLICATE KEY UPDATE value = 9",
    "REPLACE INTO ways VALUES (1, 9)",
    "UPDATE ways SET value = 9 WHERE id = 1",
    "UPDATE IGNORE ways SET value = 9 WHERE id = 1",
    "UPDATE ways, plain SET ways.value = 9 WHERE ways.id = plain.id AND plain.id = 1",
    "DELETE FROM ways WHERE id = 1",
    "DELETE IGNORE FROM ways WHERE id = 1",
    "DELETE ways FROM ways JOIN plain ON ways.id = plain.id WHERE plain.id = 1",
};

static void no_statement_writes_a_protected_row_without_a_claim(struct pair *pair)
{
    begin_case(pair, WAYS_TABLE);
    grant("ways");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        assert_refused(app, ways[i], "unclaimed: this session has not claimed ways/");
    assert_int_equal(number_of(root, "SELECT COUNT(*) = 2 AND SUM(value) = 0 FROM ways"), 1);
}

static void each_statement_writes_a_protected_row_after_the_claim(struct pair *pair)
{
    begin_case(pair, WAYS_TABLE);
    grant("ways");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        mariadb_must_run(app, "START TRANSACTION; CALL pawl_check('ways/1', 5);"
                              "CALL pawl_check('ways/3', 5)");
        mariadb_must_run(app, ways[i]);
        mariadb_must_run(app, "ROLLBACK");
    }
}

static void stale_statement_leaves_none_of_its_rows(struct pair *pair)
{
    begin_case(pair, WAYS_TABLE);
    grant("ways");
    mariadb_must_run(app, "CALL pawl_claim('ways/1', 5); CALL pawl_claim('ways/2', 5)");
    mariadb_must_run(other, "CALL pawl_claim('ways/2', 6)");
    assert_refused(app, "UPDATE ways SET value = 9", "stale-token: ways/2 ");
    assert_int_equal(number_of(root, "SELECT SUM(value) FROM ways"), 0);
}

/* A write that a trigger lets through counts as a check: it keeps out who has an older snapshot. */
static void write_without_a_check_is_seen_by_the_next_claim(struct pair *pair)
{
    begin_case(pair, WAYS_TABLE);
    grant("ways");
    mariadb_must_run(app, "CALL pawl_claim('ways/1', 7)");
    mariadb_must_run(other, "START TRANSACTION; SELECT * FROM ways");
    mariadb_must_run(app, "UPDATE ways SET value = 9 WHERE id = 1");
    assert_refused(other, "CALL pawl_claim('ways/1', 8)", "old-snapshot: ");
    mariadb_must_run(other, "ROLLBACK");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void row_that_moves_needs_the_claims_of_both_resources(struct pair *pair)
{
    begin_case(pair,
               "CREATE TABLE moving (id INTEGER PRIMARY KEY, owner VARCHAR(20)) ENGINE = InnoDB;"
               "INSERT INTO moving VALUES (1, 'ann'), (2, 'bob'), (3, NULL);"
               "CALL pawl_protect('moving', 'of/{owner}')");
    grant("moving");
    mariadb_must_run(app, "CALL pawl_claim('of/ann', 5)");
    assert_refused(app, "UPDATE moving SET owner = 'bob' WHERE id = 1", "unclaimed: ");
    assert_refused(app, "UPDATE moving SET owner = 'ann' WHERE id = 2", "unclaimed: ");
    assert_refused(app, "UPDATE moving SET owner = 'ANN' WHERE id = 1", "unclaimed: ");
    assert_refused(app, "UPDATE moving SET owner = NULL WHERE id = 1", "invalid: ");
    assert_refused(app, "UPDATE moving SET owner = 'ann' WHERE id = 3", "invalid: ");
    mariadb_must_run(app, "CALL pawl_claim('of/bob', 5)");
    mariadb_must_run(app, "UPDATE moving SET owner = 'bob' WHERE id = 1");
}

static void row_is_judged_by_the_values_that_it_gets_in_the_end(struct pair *pair)
{
    begin_case(pair, "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTO_INCREMENT, "
                     "owner VARCHAR(20)) ENGINE = InnoDB;"
                     "CALL pawl_protect('counted', 'counted/{id}/{owner}')");
    grant("counted");
    mariadb_must_run(app, "CALL pawl_claim('counted/0/ann', 5)");
    assert_refused(app, "INSERT INTO counted (owner) VALUES ('ann')",
                   "unclaimed: this session has not "
                   "claimed counted/1/ann");
    mariadb_must_run(root, "CREATE TRIGGER sly BEFORE INSERT ON counted FOR EACH ROW "
                           "SET NEW.owner = 'bob'");
    mariadb_must_run(app, "CALL pawl_claim('counted/9/ann', 5)");
    assert_refused(app, "INSERT INTO counted VALUES (9, 'ann')",
                   "unclaimed: this session has not "
                   "claimed counted/9/bob");
}

static void template_that_is_not_plain_is_refused(struct pair *pair)
{
    static const char *const calls[] = {
        "CALL pawl_protect('odd', 'rows/{none}')",
        "CALL pawl_protect('odd', 'rows/{id')",
        "CALL pawl_protect('odd', 'rows/}')",
        "CALL pawl_protect('odd', 'rows/{}')",
        "CALL pawl_protect('odd', '{{id}}')",
        "CALL pawl_protect('odd', 'it''s')",
        "CALL pawl_protect('odd', '')",
        "CALL pawl_protect('odd', NULL)",
        "CALL pawl_protect('odd', 'a\\\\')",
        "CALL pawl_protect('nothing', 'rows/{id}')",
        "CALL pawl_protect(NULL, 'rows/{id}')",
        "CALL pawl_protect('aria', 'rows/{id}')",
    };
    begin_case(pair, "CREATE TABLE odd (id INTEGER PRIMARY KEY, `a{b` INTEGER, `c``d` INTEGER) "
                     "ENGINE = InnoDB;"
                     "CREATE TABLE aria (id INTEGER PRIMARY KEY) ENGINE = Aria");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        assert_refused(root, calls[i], "invalid: ");
    assert_int_equal(number_of(root, "SELECT COUNT(*) FROM information_schema.TRIGGERS "
                                     "WHERE EVENT_OBJECT_TABLE IN ('odd', 'aria')"),
                     0);
    mariadb_must_run(root, "CALL pawl_protect('odd', 'odd/{c`d}'); CALL pawl_claim('odd/4', 1);"
                           "INSERT INTO odd VALUES (1, 2, 4)");
}

/* ---- claims of a session --------------------------------------------------------------------- */

static void reset_of_a_session_forgets_its_claims(struct pair *pair)
{
    begin_case(pair, WAYS_TABLE);
    grant("ways");
    mariadb_must_run(app, "CALL pawl_claim('ways/1', 9)");
    mariadb_must_run(app, "UPDATE ways SET value = 9 WHERE id = 1");
    mariadb_reset(app);
    assert_refused(app, "UPDATE ways SET value = 9 WHERE id = 1", "unclaimed: ");
}

static void session_remembers_a_thousand_claims(struct pair *pair)
{
    static const char count[] = "SELECT JSON_LENGTH(@pawl_claims)";
    begin_case(pair, "DO 0");
    mariadb_must_run(app, "BEGIN NOT ATOMIC START TRANSACTION; FOR i IN 1..1000 DO "
                          "CALL pawl_claim(CONCAT('many/', i), 1); END FOR; COMMIT; END");
    mariadb_must_run(app, "CALL pawl_claim('many/1', 1)");
    assert_int_equal(number_of(app, count), 1000);
    mariadb_must_run(app, "CALL pawl_claim('many/1001', 1)");
    assert_int_equal(number_of(app, count), 1);
}

/* ---- what no trigger sees -------------------------------------------------------------------- */

/* The manual tells of both. */
static void cascade_of_a_foreign_key_and_a_truncate_are_not_seen(struct pair *pair)
{
    begin_case(pair, "CREATE TABLE parent (id INTEGER PRIMARY KEY) ENGINE = InnoDB;"
                     "CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER,"
                     "    FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE) "
                     "ENGINE = InnoDB;"
                     "INSERT INTO parent VALUES (1), (2);"
                     "INSERT INTO child VALUES (1, 1), (2, 2);"
                     "CALL pawl_protect('child', 'child/{id}')");
    mariadb_must_run(root, "DELETE FROM parent WHERE id = 1");
    assert_int_equal(number_of(root, "SELECT COUNT(*) FROM child"), 1);
    mariadb_must_run(root, "TRUNCATE child");
    assert_int_equal(number_of(root, "SELECT COUNT(*) FROM child"), 0);
}

static const struct pair_row rows[] = {
    PAIR(no_statement_writes_a_protected_row_without_a_claim),
    PAIR(each_statement_writes_a_protected_row_after_the_claim),
    PAIR(stale_statement_leaves_none_of_its_rows),
    PAIR(write_without_a_check_is_seen_by_the_next_claim),
    PAIR(row_that_moves_needs_the_claims_of_both_resources),
    PAIR(row_is_judged_by_the_values_that_it_gets_in_the_end),
    PAIR(template_that_is_not_plain_is_refused),
    PAIR(reset_of_a_session_forgets_its_claims),
    PAIR(session_remembers_a_thousand_claims),
    PAIR(cascade_of_a_foreign_key_and_a_truncate_are_not_seen),
};

PAIR_MAIN(rows)
