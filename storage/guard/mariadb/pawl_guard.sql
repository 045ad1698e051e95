-- The guard of Pawl for MariaDB 10.6 and newer. README.md beside this file is its manual.
--
--     mariadb DATABASE < pawl_guard.sql
--
-- A second run replaces the routines and keeps the tables with their rows.
--
-- Names and tokens. Parameters are LONGBLOB. A shorter type would cut a name where the caller's
-- sql_mode is not strict, and BIGINT would read '12abc' as 12. The patterns use \A and \z, since $
-- also matches before a newline, and since default_regex_flags of the caller changes ^ and $.
--
-- Locks. INSERT ... ON DUPLICATE KEY comes first and locks the row of a resource, old or new. It
-- writes nothing where the row is there. SELECT ... FOR UPDATE in its place would lock a gap where
-- the row is missing, and any two first claims at once would then be a deadlock.
--
-- Snapshots. At REPEATABLE READ a transaction reads the data as of its first plain read. A claim
-- after that read would be accepted, and the data read after it would be older than the claim. So
-- pawl_raise compares two readings of the row, once it holds the lock: the newest, and that of
-- the snapshot. A claim that is the first in its transaction makes the snapshot there, and the two
-- are equal. Each check and each claim counts "writes" up, so a row that was written since the
-- snapshot differs even where its token is the same.
--
-- Readers of a read-write lock. A row keeps two numbers: token is the highest of a writer, reader
-- that of a reader; 0: there was none. A reader that has claimed locks the row in share mode, so that
-- no writer is admitted while its transaction reads, and readers do not wait for each other. No
-- reader counts "writes" up, since it leaves nothing that a snapshot could miss.
--
-- Autocommit. Outside of a transaction each statement of a routine is a transaction of its own. The
-- UPDATE judges the token again for that case.
--
-- Claims of a session. MariaDB shows no mark of a transaction to a trigger. The claimed tokens are
-- kept in @pawl_claims, and pawl_admit compares them with the row. A claim that was rolled back
-- left a row with a lower token, or none.
--
-- Modes. MariaDB keeps the sql_mode of the creation with each routine, so it is set here.

SET @pawl_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';

CREATE TABLE IF NOT EXISTS pawl_guard (
    resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    token BIGINT NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),
    writes BIGINT UNSIGNED NOT NULL,
    reader BIGINT NOT NULL DEFAULT 0 CHECK (reader BETWEEN 0 AND 9007199254740991)
) ENGINE = InnoDB COMMENT = 'The highest tokens seen of each resource. Rows are never deleted.';

CREATE TABLE IF NOT EXISTS pawl_rejection (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at DATETIME(3) NOT NULL COMMENT 'UTC',
    resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    kind VARCHAR(32) CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB COMMENT = 'The newest 1000 refusals that were recorded.';

CREATE TABLE IF NOT EXISTS pawl_protected (
    table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    resource TEXT CHARACTER SET utf8mb4 NOT NULL,
    expression TEXT CHARACTER SET utf8mb4 NOT NULL
) ENGINE = InnoDB COMMENT = 'What pawl_protect was called for; pawl_check.sql reads it.';

DELIMITER //

-- What was there before may be a stranger's: a table without transactions, or one that a foreign key
-- or a trigger empties, or a routine that its maker may change. The table pawl_guard that an earlier
-- Pawl made has no column reader, and no row without a writer.
BEGIN NOT ATOMIC
    DECLARE v_found VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_knows_readers BOOLEAN DEFAULT EXISTS (SELECT 1 FROM information_schema.COLUMNS AS c
        WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'pawl_guard' AND c.COLUMN_NAME = 'reader');
    SET v_found = (SELECT GROUP_CONCAT(what SEPARATOR ', ') FROM (
        SELECT CONCAT('the table ', made.name) AS what FROM (
            SELECT 'pawl_guard' AS name, CONCAT('resource varchar(255) ascii_bin NO PRI,token bigint(20) - NO ,',
                'writes bigint(20) unsigned - NO ', IF(v_knows_readers, ',reader bigint(20) - NO ', '')) AS parts
            UNION ALL SELECT 'pawl_rejection', CONCAT('id bigint(20) unsigned - NO PRI,at datetime(3) - NO ,',
                'resource varchar(255) ascii_bin NO ,token bigint(20) - NO ,highest bigint(20) - NO ,',
                'kind varchar(32) ascii_general_ci NO ')
            UNION ALL SELECT 'pawl_protected', CONCAT('table_name varchar(64) utf8mb4_bin NO PRI,',
                'resource text utf8mb4 NO ,expression text utf8mb4 NO ')) AS made
            WHERE NOT EXISTS (SELECT 1 FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = DATABASE()
                    AND t.TABLE_NAME = made.name AND t.TABLE_TYPE = 'BASE TABLE' AND t.ENGINE = 'InnoDB')
                OR NOT made.parts <=> (SELECT GROUP_CONCAT(CONCAT_WS(' ', c.COLUMN_NAME, c.COLUMN_TYPE,
                        IF(c.CHARACTER_SET_NAME = 'utf8mb4' AND c.COLLATION_NAME <> 'utf8mb4_bin', 'utf8mb4',
                        IFNULL(c.COLLATION_NAME, '-')), c.IS_NULLABLE, c.COLUMN_KEY) ORDER BY c.ORDINAL_POSITION)
                    FROM information_schema.COLUMNS AS c
                    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = made.name)
        UNION ALL SELECT 'the bounds of token' WHERE 1 <> (SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS AS b
            WHERE b.CONSTRAINT_SCHEMA = DATABASE() AND b.TABLE_NAME = 'pawl_guard'
                AND b.CHECK_CLAUSE = CONCAT('`token` between ', IF(v_knows_readers, 0, 1), ' and 9007199254740991'))
        UNION ALL SELECT 'the bounds of reader' WHERE v_knows_readers AND 1 <> (
            SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS AS b
            WHERE b.CONSTRAINT_SCHEMA = DATABASE() AND b.TABLE_NAME = 'pawl_guard'
                AND b.CHECK_CLAUSE = '`reader` between 0 and 9007199254740991')
        UNION ALL SELECT CONCAT('the foreign key ', k.CONSTRAINT_NAME, ' of ', k.TABLE_NAME)
            FROM information_schema.KEY_COLUMN_USAGE AS k WHERE k.TABLE_SCHEMA = DATABASE()
                AND k.TABLE_NAME IN ('pawl_guard', 'pawl_rejection', 'pawl_protected')
                AND k.REFERENCED_TABLE_NAME IS NOT NULL
        UNION ALL SELECT CONCAT('the trigger ', g.TRIGGER_NAME, ' of ', g.DEFINER)
            FROM information_schema.TRIGGERS AS g WHERE g.EVENT_OBJECT_SCHEMA = DATABASE()
                AND g.EVENT_OBJECT_TABLE IN ('pawl_guard', 'pawl_rejection', 'pawl_protected')
        UNION ALL SELECT CONCAT('the routine ', r.ROUTINE_NAME, ' of ', r.DEFINER)
            FROM information_schema.ROUTINES AS r WHERE r.ROUTINE_SCHEMA = DATABASE()
                AND r.ROUTINE_NAME IN ('pawl_valid_resource', 'pawl_valid_token', 'pawl_need_resource',
                    'pawl_need_token', 'pawl_refuse_stale', 'pawl_refuse_writer', 'pawl_refuse_unclaimed',
                    'pawl_refuse_snapshot', 'pawl_need_durable', 'pawl_remember', 'pawl_admit',
                    'pawl_raise', 'pawl_claim', 'pawl_check', 'pawl_raise_reader', 'pawl_claim_read',
                    'pawl_check_read', 'pawl_token', 'pawl_record',
                    'pawl_expression', 'pawl_protect', 'pawl_unprotect')
                AND BINARY r.DEFINER <> BINARY CURRENT_USER()
    ) AS found);
    IF v_found IS NOT NULL THEN
        SET v_found = CONCAT('taken: not as the guard makes it: ', v_found,
            '. Remove it, or install as the user that owns the guard');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_found;
    END IF;
    IF NOT v_knows_readers THEN
        ALTER TABLE pawl_guard
            MODIFY COLUMN token BIGINT NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),
            ADD COLUMN reader BIGINT NOT NULL DEFAULT 0 CHECK (reader BETWEEN 0 AND 9007199254740991),
            COMMENT = 'The highest tokens seen of each resource. Rows are never deleted.';
    END IF;
END //

-- A routine that runs with its definer's rights calls others. Who may replace one of those has these
-- rights too: more than his own, where an administrator installs the guard.
BEGIN NOT ATOMIC
    DECLARE v_found VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_me VARCHAR(400) CHARACTER SET utf8mb4 DEFAULT CONCAT(
        '''', REPLACE(CURRENT_USER(), '@', '''@'''), '''');
    IF EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES AS u
            WHERE u.GRANTEE = v_me AND u.PRIVILEGE_TYPE <> 'USAGE') THEN
        SET v_found = (SELECT GROUP_CONCAT(DISTINCT s.GRANTEE SEPARATOR ', ') FROM (
                SELECT GRANTEE FROM information_schema.SCHEMA_PRIVILEGES
                    WHERE DATABASE() LIKE TABLE_SCHEMA AND PRIVILEGE_TYPE = 'ALTER ROUTINE'
                UNION ALL SELECT GRANTEE FROM information_schema.USER_PRIVILEGES
                    WHERE PRIVILEGE_TYPE = 'ALTER ROUTINE') AS s
            WHERE s.GRANTEE <> v_me AND NOT EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES AS u
                    WHERE u.GRANTEE = s.GRANTEE AND u.PRIVILEGE_TYPE IN ('SUPER', 'CREATE USER')));
        IF v_found IS NULL THEN
            BEGIN -- of a routine that was made before, whoever made it; to be seen by administrators
                DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_found = NULL;
                SET v_found = (SELECT GROUP_CONCAT(DISTINCT CONCAT('''', p.User, '''@''', p.Host, '''') SEPARATOR ', ')
                    FROM mysql.procs_priv AS p WHERE p.Db = DATABASE() AND p.Routine_name LIKE 'pawl\_%'
                        AND FIND_IN_SET('Alter Routine', p.Proc_priv)
                        AND CONCAT('''', p.User, '''@''', p.Host, '''') <> v_me);
            END;
        END IF;
    END IF;
    IF v_found IS NOT NULL THEN
        SET v_found = CONCAT('unsafe: ', v_found, ' may replace routines here, and would act as ', v_me,
            '. REVOKE ALTER ROUTINE, or install as a user of this database alone');
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_found;
    END IF;
END //

-- ---- names and tokens ---------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION pawl_valid_resource(p_resource LONGBLOB) RETURNS BOOLEAN
    DETERMINISTIC NO SQL SQL SECURITY DEFINER
    RETURN p_resource IS NOT NULL AND OCTET_LENGTH(p_resource) BETWEEN 1 AND 255
        AND p_resource REGEXP CONCAT('\\A(?!\\.{1,2}(/|\\z))[A-Za-z0-9._~:@-]+',
                                     '(/(?!\\.{1,2}(/|\\z))[A-Za-z0-9._~:@-]+)*\\z') //

CREATE OR REPLACE FUNCTION pawl_valid_token(p_token LONGBLOB) RETURNS BOOLEAN
    DETERMINISTIC NO SQL SQL SECURITY DEFINER
    RETURN p_token IS NOT NULL AND p_token REGEXP '\\A[1-9][0-9]{0,15}\\z'
        AND CAST(CONVERT(p_token USING ascii) AS UNSIGNED) <= 9007199254740991 //

CREATE OR REPLACE PROCEDURE pawl_need_resource(p_resource LONGBLOB)
    NO SQL SQL SECURITY DEFINER
BEGIN
    IF NOT pawl_valid_resource(p_resource) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: a resource must have 1 to 255 of A-Z a-z 0-9 . _ ~ : @ / - and no empty, . or .. segment';
    END IF;
END //

CREATE OR REPLACE PROCEDURE pawl_need_token(p_token LONGBLOB)
    NO SQL SQL SECURITY DEFINER
BEGIN
    IF NOT pawl_valid_token(p_token) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: a token must be a whole number from 1 to 9007199254740991';
    END IF;
END //

-- ---- refusals -----------------------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE pawl_refuse_stale(p_resource VARCHAR(255) CHARACTER SET ascii,
                                              p_token BIGINT, p_highest BIGINT)
    NO SQL SQL SECURITY DEFINER
BEGIN
    DECLARE v_text VARCHAR(512) DEFAULT CONCAT('stale-token: ', p_resource, ' has seen token ',
        p_highest, ', and ', p_token, ' is older');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
END //

-- A reader ended the right of this writer, and of each before it.
CREATE OR REPLACE PROCEDURE pawl_refuse_writer(p_resource VARCHAR(255) CHARACTER SET ascii,
                                               p_token BIGINT, p_reader BIGINT)
    NO SQL SQL SECURITY DEFINER
BEGIN
    DECLARE v_text VARCHAR(512) DEFAULT CONCAT('stale-token: ', p_resource, ' has seen reader ',
        p_reader, ', and writer ', p_token, ' is not newer');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
END //

CREATE OR REPLACE PROCEDURE pawl_refuse_unclaimed(p_resource VARCHAR(255) CHARACTER SET ascii)
    NO SQL SQL SECURITY DEFINER
BEGIN
    DECLARE v_text VARCHAR(512) DEFAULT CONCAT('unclaimed: this session has not claimed ',
        p_resource);
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
END //

CREATE OR REPLACE PROCEDURE pawl_refuse_snapshot(p_resource VARCHAR(255) CHARACTER SET ascii)
    NO SQL SQL SECURITY DEFINER
BEGIN
    DECLARE v_text VARCHAR(512) DEFAULT CONCAT('old-snapshot: ', p_resource,
        ' was written after the first read of this transaction: roll back, and begin anew');
    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = v_text;
END //

-- With a binary log, a crash of the machine undoes each commit that the log has lost.
CREATE OR REPLACE PROCEDURE pawl_need_durable()
    NO SQL SQL SECURITY DEFINER
BEGIN
    IF @@GLOBAL.innodb_flush_log_at_trx_commit NOT IN (1, 3) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'not-durable: innodb_flush_log_at_trx_commit must be 1, or a crash loses tokens';
    END IF;
    IF @@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'not-durable: log_bin is on, so sync_binlog must be 1, or a crash loses tokens';
    END IF;
END //

-- ---- the claims of a session --------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE pawl_remember(p_resource VARCHAR(255) CHARACTER SET ascii,
                                          p_token BIGINT)
    NO SQL SQL SECURITY DEFINER
BEGIN
    DECLARE v_path VARCHAR(300) CHARACTER SET utf8mb4 DEFAULT CONCAT('$."', p_resource, '"');
    IF @pawl_claims IS NULL OR NOT JSON_VALID(@pawl_claims)
        OR (JSON_LENGTH(@pawl_claims) >= 1000 AND NOT JSON_EXISTS(@pawl_claims, v_path)) THEN
        SET @pawl_claims = '{}';
    END IF;
    SET @pawl_claims = JSON_SET(@pawl_claims, v_path, p_token);
END //

-- The triggers of pawl_protect call this for each row. It is a check with the remembered token.
CREATE OR REPLACE PROCEDURE pawl_admit(p_resource LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE v_claimed, v_highest, v_reader BIGINT;
    CALL pawl_need_resource(p_resource);
    SET v_resource = CONVERT(p_resource USING ascii);
    SET v_claimed = JSON_VALUE(@pawl_claims, CONCAT('$."', v_resource, '"'));
    IF v_claimed IS NULL THEN
        CALL pawl_refuse_unclaimed(v_resource);
    END IF;
    SELECT token, reader INTO v_highest, v_reader FROM pawl_guard WHERE resource = v_resource FOR UPDATE;
    IF v_highest IS NULL OR v_highest < v_claimed THEN
        CALL pawl_refuse_unclaimed(v_resource);
    END IF;
    IF v_highest > v_claimed THEN
        CALL pawl_refuse_stale(v_resource, v_claimed, v_highest);
    END IF;
    IF v_reader >= v_claimed THEN
        CALL pawl_refuse_writer(v_resource, v_claimed, v_reader);
    END IF;
    UPDATE pawl_guard SET writes = writes + 1 WHERE resource = v_resource;
END //

-- ---- claim and check ----------------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE pawl_raise(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE v_token, v_highest, v_reader BIGINT;
    DECLARE v_newest, v_snapshot BIGINT UNSIGNED;
    CALL pawl_need_resource(p_resource);
    CALL pawl_need_token(p_token);
    CALL pawl_need_durable();
    SET v_resource = CONVERT(p_resource USING ascii), v_token = CONVERT(p_token USING ascii);

    INSERT INTO pawl_guard (resource, token, writes) VALUES (v_resource, v_token, 0)
        ON DUPLICATE KEY UPDATE writes = writes;
    SELECT token, reader, writes INTO v_highest, v_reader, v_newest FROM pawl_guard
        WHERE resource = v_resource FOR UPDATE;
    IF v_highest > v_token THEN
        CALL pawl_refuse_stale(v_resource, v_token, v_highest);
    END IF;
    IF v_reader >= v_token THEN
        CALL pawl_refuse_writer(v_resource, v_token, v_reader);
    END IF;
    IF @@in_transaction THEN
        SELECT writes INTO v_snapshot FROM pawl_guard WHERE resource = v_resource;
        IF NOT v_snapshot <=> v_newest THEN
            CALL pawl_refuse_snapshot(v_resource);
        END IF;
    END IF;

    UPDATE pawl_guard SET token = v_token, writes = writes + 1
        WHERE resource = v_resource AND token <= v_token AND reader < v_token;
    IF ROW_COUNT() = 0 THEN
        SELECT token, reader INTO v_highest, v_reader FROM pawl_guard
            WHERE resource = v_resource FOR UPDATE;
        IF v_highest > v_token THEN
            CALL pawl_refuse_stale(v_resource, v_token, v_highest);
        END IF;
        CALL pawl_refuse_writer(v_resource, v_token, v_reader);
    END IF;
    CALL pawl_remember(v_resource, v_token);
END //

CREATE OR REPLACE PROCEDURE pawl_claim(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    CALL pawl_raise(p_resource, p_token) //

-- A check that ends before the write begins keeps nobody out.
CREATE OR REPLACE PROCEDURE pawl_check(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    IF @@SESSION.autocommit AND NOT @@in_transaction THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: no transaction is open; call pawl_check in the transaction of the write';
    END IF;
    CALL pawl_raise(p_resource, p_token);
END //

-- ---- readers ------------------------------------------------------------------------------------

-- A reader that claims locks the row as a writer does. One that checks shares the lock: it has
-- claimed, so the row is there, and knows it. Where it has not, two of them may end in a deadlock.
CREATE OR REPLACE PROCEDURE pawl_raise_reader(p_resource LONGBLOB, p_token LONGBLOB, p_shares BOOLEAN)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE v_token, v_highest, v_reader BIGINT;
    DECLARE v_newest, v_snapshot BIGINT UNSIGNED;
    CALL pawl_need_resource(p_resource);
    CALL pawl_need_token(p_token);
    CALL pawl_need_durable();
    SET v_resource = CONVERT(p_resource USING ascii), v_token = CONVERT(p_token USING ascii);

    IF p_shares THEN
        SELECT token, reader, writes INTO v_highest, v_reader, v_newest FROM pawl_guard
            WHERE resource = v_resource LOCK IN SHARE MODE;
    END IF;
    IF v_reader IS NULL OR v_reader < v_token THEN
        INSERT INTO pawl_guard (resource, token, writes) VALUES (v_resource, 0, 0)
            ON DUPLICATE KEY UPDATE writes = writes;
        SELECT token, reader, writes INTO v_highest, v_reader, v_newest FROM pawl_guard
            WHERE resource = v_resource FOR UPDATE;
    END IF;
    IF v_highest > v_token THEN
        CALL pawl_refuse_stale(v_resource, v_token, v_highest);
    END IF;
    IF @@in_transaction THEN
        SELECT writes INTO v_snapshot FROM pawl_guard WHERE resource = v_resource;
        IF NOT v_snapshot <=> v_newest THEN
            CALL pawl_refuse_snapshot(v_resource);
        END IF;
    END IF;

    IF v_reader < v_token THEN
        UPDATE pawl_guard SET reader = v_token
            WHERE resource = v_resource AND token <= v_token AND reader < v_token;
        SELECT token INTO v_highest FROM pawl_guard WHERE resource = v_resource FOR UPDATE;
        IF v_highest > v_token THEN
            CALL pawl_refuse_stale(v_resource, v_token, v_highest);
        END IF;
    END IF;
END //

CREATE OR REPLACE PROCEDURE pawl_claim_read(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    CALL pawl_raise_reader(p_resource, p_token, FALSE) //

CREATE OR REPLACE PROCEDURE pawl_check_read(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    IF @@SESSION.autocommit AND NOT @@in_transaction THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: no transaction is open; call pawl_check_read in the transaction of the read';
    END IF;
    CALL pawl_raise_reader(p_resource, p_token, TRUE);
END //

-- ---- what the guard has seen --------------------------------------------------------------------

-- The highest token that was seen, of a writer or a reader; 0: none.
CREATE OR REPLACE FUNCTION pawl_token(p_resource LONGBLOB) RETURNS BIGINT
    READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    CALL pawl_need_resource(p_resource);
    SET v_resource = CONVERT(p_resource USING ascii);
    RETURN IFNULL((SELECT GREATEST(token, reader) FROM pawl_guard WHERE resource = v_resource), 0);
END //

-- ---- the record of refusals ---------------------------------------------------------------------

-- An open transaction is refused here: START TRANSACTION would commit what the guard refused.
CREATE OR REPLACE PROCEDURE pawl_record(p_resource LONGBLOB, p_token LONGBLOB, p_highest LONGBLOB,
                                        p_kind LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_oldest BIGINT UNSIGNED;
    IF @@in_transaction THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: roll the refused transaction back before pawl_record';
    END IF;
    CALL pawl_need_resource(p_resource);
    CALL pawl_need_token(p_token);
    CALL pawl_need_token(p_highest);
    IF p_kind IS NULL OR NOT p_kind REGEXP '\\A[a-z-]{1,32}\\z' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: a kind must have 1 to 32 characters of a-z and -';
    END IF;
    START TRANSACTION;
    INSERT INTO pawl_rejection (at, resource, token, highest, kind)
        VALUES (UTC_TIMESTAMP(3), CONVERT(p_resource USING ascii), CONVERT(p_token USING ascii),
                CONVERT(p_highest USING ascii), CONVERT(p_kind USING ascii));
    SET v_oldest = (SELECT id FROM pawl_rejection ORDER BY id DESC LIMIT 1 OFFSET 999);
    DELETE FROM pawl_rejection WHERE id < v_oldest;
    COMMIT;
END //

-- ---- protected tables ---------------------------------------------------------------------------

-- Makes an expression from a template: 'rows/{id}' becomes CONCAT('rows/', CONVERT({`id` USING
-- utf8mb4)). The brace that is left stands for "OLD." or "NEW.". NULL: the template is wrong.
CREATE OR REPLACE FUNCTION pawl_expression(p_table VARCHAR(64) CHARACTER SET utf8mb4,
                                           p_template LONGTEXT CHARACTER SET utf8mb4)
    RETURNS LONGTEXT CHARACTER SET utf8mb4
    READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_rest LONGTEXT CHARACTER SET utf8mb4 DEFAULT p_template;
    DECLARE v_text LONGTEXT CHARACTER SET utf8mb4 DEFAULT '''''';
    DECLARE v_literal, v_name LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_column VARCHAR(64) CHARACTER SET utf8mb4;
    WHILE v_rest <> '' DO
        SET v_literal = SUBSTRING_INDEX(v_rest, '{', 1);
        SET v_rest = SUBSTRING(v_rest, CHAR_LENGTH(v_literal) + 1);
        SET v_text = CONCAT(v_text, ', ''', v_literal, '''');
        IF NOT v_literal REGEXP '\\A[A-Za-z0-9._~:@/-]*\\z' THEN
            RETURN NULL;
        END IF;
        IF v_rest <> '' THEN
            SET v_name = SUBSTRING_INDEX(SUBSTRING(v_rest, 2), '}', 1);
            SET v_column = (SELECT COLUMN_NAME FROM information_schema.COLUMNS
                WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = p_table AND COLUMN_NAME = v_name);
            SET v_rest = SUBSTRING(v_rest, CHAR_LENGTH(v_name) + 2);
            IF v_column IS NULL OR v_rest NOT LIKE '}%' THEN
                RETURN NULL;
            END IF;
            SET v_rest = SUBSTRING(v_rest, 2);
            SET v_text = CONCAT(v_text, ', CONVERT({`', REPLACE(v_column, '`', '``'),
                '` USING utf8mb4)');
        END IF;
    END WHILE;
    RETURN CONCAT('CONCAT(', v_text, ')');
END //

-- The triggers come after the write, when no other trigger can change the row any more, and when
-- an AUTO_INCREMENT column has its value. A refusal undoes the statement, which takes InnoDB.
CREATE OR REPLACE PROCEDURE pawl_protect(p_table LONGTEXT CHARACTER SET utf8mb4,
                                         p_template LONGTEXT CHARACTER SET utf8mb4)
    MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_table VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_expression, v_old, v_new, v_on LONGTEXT CHARACTER SET utf8mb4;
    SET v_table = (SELECT TABLE_NAME FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = p_table
        AND TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB');
    IF v_table IS NULL OR CHAR_LENGTH(v_table) > 52 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: the table must be an InnoDB table of this database, with a name of at most 52 characters';
    END IF;
    SET v_expression = pawl_expression(v_table, p_template);
    IF v_expression IS NULL OR IFNULL(p_template, '') = '' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: the resource must be a template such as orders/{id}, with column names in braces';
    END IF;
    SET v_old = REPLACE(v_expression, '{', 'OLD.'), v_new = REPLACE(v_expression, '{', 'NEW.');
    SET v_table = REPLACE(v_table, '`', '``');
    SET v_on = CONCAT(' ON `', v_table, '` FOR EACH ROW ');
    EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE TRIGGER `', v_table, '_pawl_insert` AFTER INSERT',
        v_on, 'CALL pawl_admit(', v_new, ')');
    EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE TRIGGER `', v_table, '_pawl_delete` AFTER DELETE',
        v_on, 'CALL pawl_admit(', v_old, ')');
    EXECUTE IMMEDIATE CONCAT('CREATE OR REPLACE TRIGGER `', v_table, '_pawl_update` AFTER UPDATE',
        v_on, 'BEGIN CALL pawl_admit(', v_old, '); IF NOT BINARY ', v_old, ' <=> BINARY ', v_new,
        ' THEN CALL pawl_admit(', v_new, '); END IF; END');
    REPLACE INTO pawl_protected (table_name, resource, expression) VALUES (p_table, p_template, v_expression);
    COMMIT;
END //

-- Takes the guard off a table again: the triggers by what they call, as they keep the old name of a
-- table that was renamed.
CREATE OR REPLACE PROCEDURE pawl_unprotect(p_table LONGTEXT CHARACTER SET utf8mb4)
    MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_name VARCHAR(64) CHARACTER SET utf8mb4;
    REPEAT
        SET v_name = (SELECT MIN(TRIGGER_NAME) FROM information_schema.TRIGGERS
            WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = p_table
            AND ACTION_STATEMENT LIKE '%CALL pawl\_admit(%');
        IF v_name IS NOT NULL THEN
            EXECUTE IMMEDIATE CONCAT('DROP TRIGGER `', REPLACE(v_name, '`', '``'), '`');
        END IF;
    UNTIL v_name IS NULL END REPEAT;
    DELETE FROM pawl_protected WHERE table_name = p_table;
    COMMIT;
END //

DELIMITER ;

SET SESSION sql_mode = @pawl_sql_mode;
