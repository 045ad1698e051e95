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
    token BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    writes BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB COMMENT = 'The highest token seen of each resource. Rows are never deleted.';

CREATE TABLE IF NOT EXISTS pawl_rejection (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at DATETIME(3) NOT NULL COMMENT 'UTC',
    resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    kind VARCHAR(32) CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB COMMENT = 'The newest 1000 refusals that were recorded.';

DELIMITER //

-- A table that was there before, in another engine, has neither transactions nor locks of rows.
BEGIN NOT ATOMIC
    IF (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
        AND TABLE_NAME IN ('pawl_guard', 'pawl_rejection') AND ENGINE = 'InnoDB') <> 2 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'not-durable: the tables pawl_guard and pawl_rejection have to be of the engine InnoDB';
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
            'invalid: a resource is 1 to 255 of A-Z a-z 0-9 . _ ~ : @ / - with no empty, . or .. segment';
    END IF;
END //

CREATE OR REPLACE PROCEDURE pawl_need_token(p_token LONGBLOB)
    NO SQL SQL SECURITY DEFINER
BEGIN
    IF NOT pawl_valid_token(p_token) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: a token is a whole number from 1 to 9007199254740991';
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
            'not-durable: innodb_flush_log_at_trx_commit has to be 1, or a crash forgets tokens';
    END IF;
    IF @@GLOBAL.log_bin AND @@GLOBAL.sync_binlog <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'not-durable: sync_binlog has to be 1 where log_bin is on, or a crash forgets tokens';
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
    DECLARE v_claimed, v_highest BIGINT;
    CALL pawl_need_resource(p_resource);
    SET v_resource = CONVERT(p_resource USING ascii);
    SET v_claimed = JSON_VALUE(@pawl_claims, CONCAT('$."', v_resource, '"'));
    IF v_claimed IS NULL THEN
        CALL pawl_refuse_unclaimed(v_resource);
    END IF;
    SELECT token INTO v_highest FROM pawl_guard WHERE resource = v_resource FOR UPDATE;
    IF v_highest IS NULL OR v_highest < v_claimed THEN
        CALL pawl_refuse_unclaimed(v_resource);
    END IF;
    IF v_highest > v_claimed THEN
        CALL pawl_refuse_stale(v_resource, v_claimed, v_highest);
    END IF;
    UPDATE pawl_guard SET writes = writes + 1 WHERE resource = v_resource;
END //

-- ---- claim and check ----------------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE pawl_raise(p_resource LONGBLOB, p_token LONGBLOB)
    MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    DECLARE v_token, v_highest BIGINT;
    DECLARE v_newest, v_snapshot BIGINT UNSIGNED;
    CALL pawl_need_resource(p_resource);
    CALL pawl_need_token(p_token);
    CALL pawl_need_durable();
    SET v_resource = CONVERT(p_resource USING ascii), v_token = CONVERT(p_token USING ascii);

    INSERT INTO pawl_guard (resource, token, writes) VALUES (v_resource, v_token, 0)
        ON DUPLICATE KEY UPDATE writes = writes;
    SELECT token, writes INTO v_highest, v_newest FROM pawl_guard
        WHERE resource = v_resource FOR UPDATE;
    IF v_highest > v_token THEN
        CALL pawl_refuse_stale(v_resource, v_token, v_highest);
    END IF;
    IF @@in_transaction THEN
        SELECT writes INTO v_snapshot FROM pawl_guard WHERE resource = v_resource;
        IF NOT v_snapshot <=> v_newest THEN
            CALL pawl_refuse_snapshot(v_resource);
        END IF;
    END IF;

    UPDATE pawl_guard SET token = v_token, writes = writes + 1
        WHERE resource = v_resource AND token <= v_token;
    IF ROW_COUNT() = 0 THEN
        SELECT token INTO v_highest FROM pawl_guard WHERE resource = v_resource FOR UPDATE;
        CALL pawl_refuse_stale(v_resource, v_token, v_highest);
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
            'invalid: pawl_check belongs into the transaction of the write, and there is none';
    END IF;
    CALL pawl_raise(p_resource, p_token);
END //

-- The highest token that was seen; 0: none.
CREATE OR REPLACE FUNCTION pawl_token(p_resource LONGBLOB) RETURNS BIGINT
    READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin;
    CALL pawl_need_resource(p_resource);
    SET v_resource = CONVERT(p_resource USING ascii);
    RETURN IFNULL((SELECT token FROM pawl_guard WHERE resource = v_resource), 0);
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
            'invalid: a kind is 1 to 32 of a-z and -';
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
            'invalid: the table has to be one of InnoDB, here, with a name of at most 52 characters';
    END IF;
    SET v_expression = pawl_expression(v_table, p_template);
    IF v_expression IS NULL OR IFNULL(p_template, '') = '' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'invalid: the resource is a template such as orders/{id}, with names of columns in braces';
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
END //

DELIMITER ;

SET SESSION sql_mode = @pawl_sql_mode;
