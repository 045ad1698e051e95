-- Tells whether the guard of Pawl, and each table that it protects, is as it was made. It changes nothing.
-- To run it, as a user that sees all of them: pawl guard check mariadb | mariadb --table DATABASE
--
--     of         the guard, or a protected table
--     resource   the template that gives a row's resource
--     state      intact, or what is wrong
--     may_undo   who can take the guard off without being an administrator, and what no trigger sees
--
-- It reads information_schema, and one table of the guard's, once that is seen to be a table: a view of
-- its name would run what a stranger made.

DELIMITER //

BEGIN NOT ATOMIC
    DECLARE v_sql_mode LONGTEXT DEFAULT @@SESSION.sql_mode;
    SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION';
    SET @pawl_named = '[]';
    IF EXISTS (SELECT 1 FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE()
            AND t.TABLE_NAME = 'pawl_protected' AND t.TABLE_TYPE = 'BASE TABLE') THEN
        SET @pawl_named = IFNULL((SELECT JSON_ARRAYAGG(JSON_OBJECT('name', table_name, 'resource', resource,
            'expression', expression)) FROM pawl_protected), '[]');
    END IF;

    -- The text of each routine, as a hash. scripts/lint.d/sql --fix writes these lines.
    WITH made(name, hash) AS (VALUES
    ('pawl_admit', 'c7b6b880c3c02bf2d9c0029319d275ef'),
    ('pawl_check', '12a3ed0d2119199c99046bce8a7f3ed2'),
    ('pawl_check_read', 'f51fd25f7ef88bca0103a308faf1e878'),
    ('pawl_claim', '149ef3117beecd590ef40238228805cf'),
    ('pawl_claim_read', 'e176acc8c005787310c92b945b869792'),
    ('pawl_expression', 'e9cfcd29e874fdc8ea1069b057d9f710'),
    ('pawl_need_durable', '818c3fdfb2c19a6349976b05219fe351'),
    ('pawl_need_resource', '39a0dbc7d84eec394fbdddbc88f58cc4'),
    ('pawl_need_token', 'a5544fc5fa36d84b73a173d92a6a9d66'),
    ('pawl_protect', '32aa9eed81e11b4ad03852bc2fd92e74'),
    ('pawl_raise', 'bb095bee1749167659c34701027dd2b7'),
    ('pawl_raise_reader', '245e0998fcee83a79a475bf950e3f515'),
    ('pawl_record', '7839d12a3d6c903714e891c41d9299a5'),
    ('pawl_refuse_snapshot', '7e4039a192c887bc32fff839c3fa66a5'),
    ('pawl_refuse_stale', '492a9fd75768ae9e4f221ba124f63fb2'),
    ('pawl_refuse_unclaimed', '20e35e64f11f1be2123ae40146a2e50a'),
    ('pawl_refuse_writer', '2078dac6a8ae0dd086f17dcdee0c36b5'),
    ('pawl_remember', 'c509216f621fad3291c3349eafe4b1ab'),
    ('pawl_token', '65438b7fe5cef734072466014c74cdd9'),
    ('pawl_unprotect', '41519f9e7ecc8ccdbca866295e895968'),
    ('pawl_valid_resource', '2e69097c776aff42b23a9efdd29c3185'),
    ('pawl_valid_token', '99eec766e47251abdfcc1763676c7c38')
    ), owner AS (
        SELECT r.DEFINER AS role FROM information_schema.ROUTINES AS r
        WHERE r.ROUTINE_SCHEMA = DATABASE() AND r.ROUTINE_NAME = 'pawl_claim'
    ), guard_faults AS (
        SELECT CONCAT('the routine ', made.name, ' is missing') AS fault FROM made WHERE NOT EXISTS (
            SELECT 1 FROM information_schema.ROUTINES AS r
            WHERE r.ROUTINE_SCHEMA = DATABASE() AND r.ROUTINE_NAME = made.name)
        UNION ALL SELECT CONCAT('the routine ', made.name, IF(r.ROUTINE_DEFINITION IS NULL, ' is hidden from this user',
                ' was changed, or is of another version'))
            FROM made JOIN information_schema.ROUTINES AS r
                ON r.ROUTINE_SCHEMA = DATABASE() AND r.ROUTINE_NAME = made.name
            WHERE NOT MD5(r.ROUTINE_DEFINITION) <=> made.hash OR r.SECURITY_TYPE <> IF(made.name IN
                ('pawl_expression', 'pawl_protect', 'pawl_unprotect'), 'INVOKER', 'DEFINER')
        UNION ALL SELECT CONCAT('the routine ', r.ROUTINE_NAME, ' is of ', r.DEFINER, ', and pawl_claim of ', owner.role)
            FROM information_schema.ROUTINES AS r JOIN owner
            WHERE r.ROUTINE_SCHEMA = DATABASE() AND r.ROUTINE_NAME IN (SELECT made.name FROM made)
                AND BINARY r.DEFINER <> BINARY owner.role
        UNION ALL SELECT CONCAT('the table ', wanted.name, ' is missing, or not of InnoDB') FROM (
                SELECT 'pawl_guard' AS name UNION ALL SELECT 'pawl_rejection' UNION ALL SELECT 'pawl_protected') AS wanted
            WHERE NOT EXISTS (SELECT 1 FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE()
                AND t.TABLE_NAME = wanted.name AND t.TABLE_TYPE = 'BASE TABLE' AND t.ENGINE = 'InnoDB')
        UNION ALL SELECT 'the table pawl_guard has another key' WHERE 'resource' <> IFNULL((
            SELECT GROUP_CONCAT(c.COLUMN_NAME) FROM information_schema.COLUMNS AS c WHERE c.TABLE_SCHEMA = DATABASE()
                AND c.TABLE_NAME = 'pawl_guard' AND c.COLUMN_KEY = 'PRI'), '')
        UNION ALL SELECT CONCAT('the table ', g.EVENT_OBJECT_TABLE, ' has the trigger ', g.TRIGGER_NAME)
            FROM information_schema.TRIGGERS AS g WHERE g.EVENT_OBJECT_SCHEMA = DATABASE()
                AND g.EVENT_OBJECT_TABLE IN ('pawl_guard', 'pawl_rejection', 'pawl_protected')
        UNION ALL SELECT CONCAT('the table ', k.TABLE_NAME, ' has the foreign key ', k.CONSTRAINT_NAME)
            FROM information_schema.KEY_COLUMN_USAGE AS k WHERE k.TABLE_SCHEMA = DATABASE()
                AND k.TABLE_NAME IN ('pawl_guard', 'pawl_rejection', 'pawl_protected')
                AND k.REFERENCED_TABLE_NAME IS NOT NULL
        UNION ALL SELECT DISTINCT CONCAT(p.GRANTEE, ' has ', p.PRIVILEGE_TYPE, ' on the table ', p.TABLE_NAME)
            FROM information_schema.TABLE_PRIVILEGES AS p WHERE p.TABLE_SCHEMA = DATABASE()
                AND p.TABLE_NAME IN ('pawl_guard', 'pawl_rejection', 'pawl_protected') AND p.PRIVILEGE_TYPE <> 'SELECT'
                AND p.GRANTEE <> IFNULL((SELECT CONCAT('''', REPLACE(owner.role, '@', '''@'''), '''') FROM owner), '')
    ), named AS (
        SELECT list.name, list.resource, list.expression FROM JSON_TABLE(@pawl_named, '$[*]' COLUMNS (
            name VARCHAR(64) CHARACTER SET utf8mb4 PATH '$.name', resource TEXT CHARACTER SET utf8mb4 PATH '$.resource',
            expression TEXT CHARACTER SET utf8mb4 PATH '$.expression')) AS list
        JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE() AND BINARY t.TABLE_NAME = BINARY list.name
    ), protected AS (
        SELECT named.name, named.resource, named.expression FROM named
        UNION ALL SELECT DISTINCT g.EVENT_OBJECT_TABLE, NULL, NULL FROM information_schema.TRIGGERS AS g
            WHERE g.EVENT_OBJECT_SCHEMA = DATABASE() AND g.ACTION_STATEMENT LIKE '%CALL pawl\_admit(%'
                AND NOT EXISTS (SELECT 1 FROM named WHERE BINARY named.name = BINARY g.EVENT_OBJECT_TABLE)
    ), wanted AS (
        SELECT protected.name, 'INSERT' AS event,
            CONCAT('CALL pawl_admit(', REPLACE(protected.expression, '{', 'NEW.'), ')') AS text FROM protected
        UNION ALL SELECT protected.name, 'DELETE',
            CONCAT('CALL pawl_admit(', REPLACE(protected.expression, '{', 'OLD.'), ')') FROM protected
        UNION ALL SELECT protected.name, 'UPDATE', CONCAT(
            'BEGIN CALL pawl_admit(', REPLACE(protected.expression, '{', 'OLD.'), '); IF NOT BINARY ',
            REPLACE(protected.expression, '{', 'OLD.'), ' <=> BINARY ', REPLACE(protected.expression, '{', 'NEW.'),
            ' THEN CALL pawl_admit(', REPLACE(protected.expression, '{', 'NEW.'), '); END IF; END') FROM protected
    ), table_faults AS (
        SELECT wanted.name, CONCAT('the trigger after ', wanted.event, ' is missing or was changed') AS fault
            FROM wanted WHERE wanted.text IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM information_schema.TRIGGERS AS g WHERE g.EVENT_OBJECT_SCHEMA = DATABASE()
                    AND BINARY g.EVENT_OBJECT_TABLE = BINARY wanted.name AND g.EVENT_MANIPULATION = wanted.event
                    AND g.ACTION_TIMING = 'AFTER' AND BINARY g.ACTION_STATEMENT = BINARY wanted.text)
        UNION ALL SELECT protected.name, 'was protected under another name, or by an earlier Pawl: protect it anew'
            FROM protected WHERE protected.expression IS NULL
        UNION ALL SELECT protected.name, CONCAT('the trigger ', g.TRIGGER_NAME, ' is of ', g.DEFINER)
            FROM protected JOIN information_schema.TRIGGERS AS g ON g.EVENT_OBJECT_SCHEMA = DATABASE()
                AND BINARY g.EVENT_OBJECT_TABLE = BINARY protected.name AND g.ACTION_STATEMENT LIKE '%pawl\_admit(%'
                JOIN owner WHERE BINARY g.DEFINER <> BINARY owner.role
        UNION ALL SELECT protected.name, 'is no table of InnoDB: a refusal does not undo the write'
            FROM protected JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = DATABASE()
                AND BINARY t.TABLE_NAME = BINARY protected.name AND (t.ENGINE <> 'InnoDB' OR t.ENGINE IS NULL)
    ), ordinary AS (
        SELECT s.GRANTEE, NULL AS name, s.PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES AS s
            WHERE DATABASE() LIKE s.TABLE_SCHEMA
        UNION ALL SELECT p.GRANTEE, p.TABLE_NAME, p.PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES AS p
            WHERE p.TABLE_SCHEMA = DATABASE()
    ), undoers AS (
        SELECT o.name, CONCAT(o.GRANTEE, ' (', GROUP_CONCAT(DISTINCT o.PRIVILEGE_TYPE ORDER BY o.PRIVILEGE_TYPE SEPARATOR ', '),
                ')') AS who
        FROM ordinary AS o WHERE o.PRIVILEGE_TYPE IN ('TRIGGER', 'DROP', 'ALTER', 'ALTER ROUTINE')
            AND o.GRANTEE <> IFNULL((SELECT CONCAT('''', REPLACE(owner.role, '@', '''@'''), '''') FROM owner), '')
            AND NOT EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES AS u
                WHERE u.GRANTEE = o.GRANTEE AND u.PRIVILEGE_TYPE IN ('SUPER', 'CREATE USER'))
        GROUP BY o.GRANTEE, o.name
        UNION ALL SELECT f.TABLE_NAME, CONCAT('the foreign key ', f.CONSTRAINT_NAME, ' (', f.DELETE_RULE, ', ', f.UPDATE_RULE, ')')
            FROM information_schema.REFERENTIAL_CONSTRAINTS AS f WHERE f.CONSTRAINT_SCHEMA = DATABASE()
                AND (f.DELETE_RULE IN ('CASCADE', 'SET NULL') OR f.UPDATE_RULE IN ('CASCADE', 'SET NULL'))
    )
    SELECT 'the guard' AS `of`, '' AS resource,
        IFNULL((SELECT GROUP_CONCAT(fault ORDER BY fault SEPARATOR '; ') FROM guard_faults), 'intact') AS state,
        IFNULL((SELECT GROUP_CONCAT(who ORDER BY who SEPARATOR '; ') FROM undoers WHERE undoers.name IS NULL), '') AS may_undo
    UNION ALL SELECT protected.name, IFNULL(protected.resource, ''),
        IFNULL((SELECT GROUP_CONCAT(fault ORDER BY fault SEPARATOR '; ') FROM table_faults
            WHERE BINARY table_faults.name = BINARY protected.name), 'intact'),
        IFNULL((SELECT GROUP_CONCAT(who ORDER BY who SEPARATOR '; ') FROM undoers
            WHERE undoers.name IS NULL OR BINARY undoers.name = BINARY protected.name), '')
    FROM protected;
    SET SESSION sql_mode = v_sql_mode;
END //

DELIMITER ;
