-- Tells whether the guard of Pawl in a SQLite database, and each table that it protects, is as it was made.
-- It changes nothing: pawl guard check sqlite | sqlite3 -readonly -header -column orders.db
--
--     of         the guard, or a protected table
--     resource   the expression that gives a row's resource
--     state      intact, or what is wrong
--     look_at    triggers of the program that may end a statement and keep its row: EXTENSION.md says which
--
-- A table is found by its triggers, or by what pawl_protect() wrote down. "no such table: pawl_protected"
-- means: the database has no guard, or one of an earlier Pawl. pawl_install() makes the table.

WITH kinds(kind, at) AS (VALUES
    ('INSERT', 'AFTER INSERT'), ('UPDATE', 'AFTER UPDATE'), ('DELETE', 'AFTER DELETE'),
    ('before_INSERT', 'BEFORE INSERT'), ('before_UPDATE', 'BEFORE UPDATE'), ('before_DELETE', 'BEFORE DELETE')
), triggers AS (
    SELECT name, lower(tbl_name) AS of, sql FROM main.sqlite_schema WHERE type = 'trigger'
), protected AS (
    SELECT name, lower(name) AS of FROM main.sqlite_schema AS made WHERE type = 'table' AND (
        EXISTS (SELECT 1 FROM triggers WHERE of = lower(made.name) AND triggers.name GLOB 'pawl_protect_*') OR
        EXISTS (SELECT 1 FROM main.pawl_protected AS noted WHERE lower(noted.name) = lower(made.name)))
), whole AS (
    -- What a trigger of the guard has: its time, no WHEN, and both the question and the refusal.
    SELECT of, kind FROM triggers JOIN kinds ON name GLOB 'pawl_protect_' || kind || '_????????????????' WHERE
        sql LIKE 'CREATE TRIGGER "' || name || '" ' || at || ' ON "%' AND
        instr(sql, '" BEGIN SELECT RAISE(ABORT, ''unclaimed'') FROM (SELECT (SELECT (') > 0 AND
        (kind LIKE 'before%' OR instr(sql, ' WHERE CASE WHEN 1 THEN pawl_claimed(') > 0) AND
        instr(sql, ' THEN pawl_claimed(asked.resource, CASE WHEN guard.highest_token > guard.reader_token THEN '
            || 'guard.highest_token ELSE -guard.reader_token END) IS NOT 1 END;') > 0
), table_faults(of, fault) AS (
    SELECT of, 'the trigger ' || at || ' is missing or was changed' FROM protected JOIN kinds
        WHERE NOT EXISTS (SELECT 1 FROM whole WHERE whole.of = protected.of AND whole.kind = kinds.kind)
), guard_faults(fault) AS (
    SELECT 'the table ' || column1 || ' is missing' FROM (VALUES ('pawl_guard'), ('pawl_rejection'))
        WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = column1)
    UNION ALL SELECT 'the table pawl_guard has another key' WHERE 'resource' IS NOT (
        SELECT group_concat(name) FROM pragma_table_info('pawl_guard') WHERE pk > 0)
    UNION ALL SELECT 'the table pawl_guard knows no readers: call pawl_install()' WHERE NOT EXISTS (
        SELECT 1 FROM pragma_table_info('pawl_guard') WHERE name = 'reader_token')
    UNION ALL SELECT 'the trigger ' || column1 || ' is missing or was changed' FROM (VALUES
        ('pawl_guard_reader_only_rises', 'CREATE TRIGGER pawl_guard_reader_only_rises  BEFORE UPDATE ON pawl_guard WHEN '
            || 'new.reader_token < old.reader_token  BEGIN SELECT RAISE(ABORT, ''the guard only rises''); END'),
        ('pawl_guard_reader_is_not_replaced', 'CREATE TRIGGER pawl_guard_reader_is_not_replaced  BEFORE INSERT ON '
            || 'pawl_guard WHEN new.reader_token <    (SELECT reader_token FROM pawl_guard WHERE resource = new.resource)'
            || '  BEGIN SELECT RAISE(ABORT, ''the guard only rises: a program that writes a resource with readers'
            || ' needs a Pawl that knows readers''); END'),
        ('pawl_guard_writer_is_newer', 'CREATE TRIGGER pawl_guard_writer_is_newer  BEFORE UPDATE OF highest_token ON '
            || 'pawl_guard WHEN new.highest_token <= old.reader_token  BEGIN SELECT RAISE(ABORT, ''a reader came: a program'
            || ' that writes a resource with readers needs a Pawl that knows readers''); END'),
        ('pawl_guard_only_rises', 'CREATE TRIGGER pawl_guard_only_rises  BEFORE UPDATE ON pawl_guard WHEN '
            || 'new.highest_token < old.highest_token  BEGIN SELECT RAISE(ABORT, ''the guard only rises''); END'),
        ('pawl_guard_is_not_replaced', 'CREATE TRIGGER pawl_guard_is_not_replaced  BEFORE INSERT ON pawl_guard WHEN '
            || 'new.highest_token <    (SELECT highest_token FROM pawl_guard WHERE resource = new.resource)'
            || '  BEGIN SELECT RAISE(ABORT, ''the guard only rises''); END'),
        ('pawl_guard_forgets_nothing', 'CREATE TRIGGER pawl_guard_forgets_nothing  BEFORE DELETE ON pawl_guard'
            || '  BEGIN SELECT RAISE(ABORT, ''the guard forgets nothing''); END'),
        ('pawl_guard_is_not_renamed', 'CREATE TRIGGER pawl_guard_is_not_renamed  BEFORE UPDATE OF resource ON '
            || 'pawl_guard WHEN new.resource IS NOT old.resource'
            || '  BEGIN SELECT RAISE(ABORT, ''the guard forgets nothing''); END'))
        WHERE NOT EXISTS (SELECT 1 FROM triggers WHERE name = column1 AND of = 'pawl_guard' AND sql = column2)
    UNION ALL SELECT 'the table pawl_guard has the trigger ' || name FROM triggers
        WHERE of = 'pawl_guard' AND name NOT GLOB 'pawl_guard_*'
)
SELECT 'the guard' AS of, '' AS resource, coalesce((SELECT group_concat(fault, '; ') FROM guard_faults), 'intact') AS state,
    '' AS look_at
UNION ALL SELECT name,
    coalesce((SELECT expression FROM main.pawl_protected AS noted WHERE mark = (SELECT substr(triggers.name, -16)
        FROM triggers WHERE of = protected.of AND triggers.name GLOB 'pawl_protect_*' LIMIT 1)), ''),
    coalesce((SELECT group_concat(fault, '; ') FROM table_faults WHERE table_faults.of = protected.of), 'intact'),
    coalesce((SELECT group_concat(triggers.name, ', ') FROM triggers WHERE of = protected.of AND
        triggers.name NOT GLOB 'pawl_protect_*' AND (sql LIKE '%raise%fail%' OR sql LIKE '%raise%ignore%')), '')
FROM protected;
