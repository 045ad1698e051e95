-- The guard of Pawl for PostgreSQL 14 and later. It remembers the highest token that each resource has
-- seen, and refuses older ones. To install it: psql -f pawl_guard.sql, once in each database, as the role
-- that is to own it. The functions are created in the first schema of the search path; their parts are
-- in the schema "pawl". Running this file again replaces the functions and keeps the rows.
--
--     BEGIN;
--     SELECT pawl_claim('orders/42', 34);    the holder of token 34: from here on, 33 is refused
--     SELECT ... FROM orders ...;            what is read counts from the commit on
--     COMMIT;
--
--     BEGIN;
--     SELECT pawl_check('orders/42', 34);    SQLSTATE PW412 if 35 came by
--     UPDATE orders ...;
--     COMMIT;
--
-- A reader of a read-write lock calls pawl_claim_read, which ends the right of each writer with this token
-- or a lower one, and pawl_check_read in each transaction that reads. Readers that have claimed do not wait
-- for each other.
--
--     PW412   the token is stale: roll back, drop what was read, stop, and acquire the lock anew
--     PW428   the table is protected, and this transaction has not claimed the resource of the row
--     22023   not a resource name, or not a token
--     40001, 40P01   another transaction was in the way: roll back, and begin anew with the claim
--     55000   the server would forget a commit, or somebody deletes from the guard or lowers it
--
-- A claim and a check write their row, even where the token stays the same. A transaction of REPEATABLE
-- READ may wait for a writer in its claim. Its snapshot is older than what that writer leaves. It is
-- told 40001, because the row of the guard has changed, and does not read the older data.

\set ON_ERROR_STOP on
BEGIN;

-- A superuser may run this, in a database where strangers make functions and operators. PostgreSQL takes
-- what fits the types best, out of every schema of the search path, so a stranger's operator runs with
-- the rights of whoever names it. Until the path is safe, each name has its schema. From then on names
-- are looked up in pg_catalog alone, and each function has that path of its own.
DO $$
BEGIN
    PERFORM pg_catalog.set_config('pawl.schema', COALESCE(pg_catalog.current_schema()::pg_catalog.text, 'pawl'), true);
END $$;

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA IF NOT EXISTS pawl;

-- What somebody else made beforehand stays his, and he could replace what runs with the owner's rights.
DO $$
DECLARE
    me oid := current_user::regrole;
    target oid := to_regnamespace(quote_ident(current_setting('pawl.schema')));
    stranger text;
BEGIN
    SELECT format('%s of role %s', found.name, found.owner::regrole) INTO stranger FROM (
        SELECT format('the schema %I', nspname) AS name, nspowner AS owner FROM pg_namespace
            WHERE nspname = 'pawl' OR (oid = target AND nspowner <> 'pg_database_owner'::regrole AND
                nspowner NOT IN (SELECT oid FROM pg_roles WHERE rolsuper) AND
                nspowner <> (SELECT datdba FROM pg_database WHERE datname = current_database()))
        UNION ALL SELECT oid::regclass::text, relowner FROM pg_class WHERE relnamespace = 'pawl'::regnamespace
        UNION ALL SELECT oid::regtype::text, typowner FROM pg_type WHERE typnamespace = 'pawl'::regnamespace
        UNION ALL SELECT oid::regoperator::text, oprowner FROM pg_operator WHERE oprnamespace = 'pawl'::regnamespace
        UNION ALL SELECT oid::regprocedure::text, proowner FROM pg_proc
            WHERE pronamespace = 'pawl'::regnamespace OR (pronamespace = target AND
                proname IN ('pawl_claim', 'pawl_check', 'pawl_claim_read', 'pawl_check_read', 'pawl_token', 'pawl_record',
                    'pawl_protect', 'pawl_unprotect'))
        UNION ALL SELECT format('the trigger %I on %s', tgname, tgrelid::regclass), proowner
            FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
            WHERE relnamespace = 'pawl'::regnamespace AND NOT tgisinternal
    ) AS found WHERE found.owner <> me LIMIT 1;
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('%s is there already', stranger),
            HINT = 'Install the guard as that role, or remove this object of that role.';
    END IF;
    PERFORM set_config('pawl.fresh', (to_regclass('pawl.guard') IS NULL)::text, true);
    PERFORM set_config('pawl.fresh_readers', (NOT EXISTS (SELECT FROM pg_proc
        WHERE pronamespace = target AND proname = 'pawl_claim_read'))::text, true);
END $$;

-- One row for each resource that was ever claimed. token is the highest of a writer, and reader that of a
-- reader; 0: there was none. claimed_in and claimed_at name the transaction that
-- claimed last. Both are needed: the numbers of transactions begin anew in a database that was restored.
CREATE TABLE IF NOT EXISTS pawl.guard (
    resource text COLLATE "C" PRIMARY KEY,
    token bigint NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),
    claimed_in xid8 NOT NULL,
    claimed_at timestamptz NOT NULL,
    reader bigint NOT NULL DEFAULT 0 CHECK (reader BETWEEN 0 AND 9007199254740991)
) WITH (fillfactor = 50);

-- The table that an earlier Pawl made knows writers alone, and has no row without one.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'pawl.guard'::regclass AND attname = 'reader') THEN
        ALTER TABLE pawl.guard DROP CONSTRAINT IF EXISTS guard_token_check,
            ADD CONSTRAINT guard_token_check CHECK (token BETWEEN 0 AND 9007199254740991),
            ADD COLUMN reader bigint NOT NULL DEFAULT 0 CHECK (reader BETWEEN 0 AND 9007199254740991);
    END IF;
END $$;

CREATE TABLE IF NOT EXISTS pawl.refusal (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    role name NOT NULL DEFAULT session_user,
    kind text NOT NULL,
    resource text COLLATE "C" NOT NULL,
    token bigint NOT NULL,
    highest bigint NOT NULL
);

-- ---- the rule ----------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION pawl.expect_name(resource text) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF resource IS NULL OR octet_length(resource) > 255 OR resource COLLATE "C" !~ '^[A-Za-z0-9._~:@/-]+$' OR
       '/' || resource COLLATE "C" || '/' ~ '/[.]{0,2}/' THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = format('invalid resource %s', coalesce(quote_literal(left(resource, 300)), 'NULL')),
            HINT = 'A resource must have 1 to 255 characters of A-Z a-z 0-9 . _ ~ : @ / - and no empty, . or .. segment.';
    END IF;
END $$;

-- A server that does not write to its disk forgets a claim that it confirmed. synchronous_commit is the
-- session's, so it is raised for this transaction: a standby that waits to take over has to know the claim.
CREATE OR REPLACE FUNCTION pawl.make_durable() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on' THEN
        RAISE EXCEPTION USING ERRCODE = '55000',
            MESSAGE = 'this server may lose a claim that it confirmed',
            HINT = 'Set fsync and full_page_writes to on.';
    END IF;
    PERFORM set_config('synchronous_commit', 'on', true);
END $$;

CREATE OR REPLACE FUNCTION pawl.expect_token(token bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF $1 IS NULL OR $1 NOT BETWEEN 1 AND 9007199254740991 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('invalid token %s', coalesce($1::text, 'NULL')),
            HINT = 'A token must be a number from 1 to 9007199254740991.';
    END IF;
END $$;

-- Names the writer that refuses the token, or else the reader that does.
CREATE OR REPLACE FUNCTION pawl.refuse_stale(kind text, resource text, token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    seen record;
BEGIN
    SELECT token AS writer, reader INTO seen FROM pawl.guard WHERE resource = $2 COLLATE "C";
    RAISE EXCEPTION USING ERRCODE = 'PW412',
        MESSAGE = format('stale-token: %s of %s with token %s, and the guard has seen %s', $1, $2, $3,
            CASE WHEN $3 < seen.writer THEN seen.writer::text ELSE 'reader ' || seen.reader END),
        HINT = 'A newer token has been used. Roll back, discard the data that you read, and acquire the lock again.';
END $$;

-- Of a resource that was not claimed before, or of a token that is not accepted.
CREATE OR REPLACE FUNCTION pawl.judge_in_full(kind text, resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM pawl.expect_name($2);
    PERFORM pawl.expect_token($3);
    INSERT INTO pawl.guard AS seen (resource, token, claimed_in, claimed_at)
        VALUES ($2, $3, pg_current_xact_id(), transaction_timestamp())
        ON CONFLICT (resource) DO UPDATE
            SET token = excluded.token, claimed_in = excluded.claimed_in, claimed_at = excluded.claimed_at
            WHERE seen.token <= excluded.token AND seen.reader < excluded.token;
    IF NOT FOUND THEN
        PERFORM pawl.refuse_stale($1, $2, $3);
    END IF;
    RETURN $3;
END $$;

-- The row of a resource that was claimed before is written by one statement.
CREATE OR REPLACE FUNCTION pawl.judge(kind text, resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') OR current_setting('fsync') <> 'on' OR
       current_setting('full_page_writes') <> 'on' THEN
        PERFORM pawl.make_durable();
    END IF;
    UPDATE pawl.guard SET token = $3, claimed_in = pg_current_xact_id(), claimed_at = transaction_timestamp()
        WHERE resource = $2 COLLATE "C" AND token <= $3 AND reader < $3 AND $3 <= 9007199254740991;
    IF FOUND THEN
        RETURN $3;
    END IF;
    RETURN pawl.judge_in_full($1, $2, $3);
END $$;

-- A reader that has claimed, or that is older than one that has, writes nothing. It locks the row, so that
-- no writer is admitted while its transaction reads, and shares that lock with other readers. Else its row
-- is written, and no claim of a writer is in it: claimed_in and claimed_at stay.
CREATE OR REPLACE FUNCTION pawl.judge_reader(resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM pawl.make_durable();
    PERFORM FROM pawl.guard WHERE resource = $1 COLLATE "C" AND token <= $2 AND reader >= $2 AND $2 >= 1 FOR SHARE;
    IF FOUND THEN
        RETURN $2;
    END IF;
    PERFORM pawl.expect_name($1);
    PERFORM pawl.expect_token($2);
    INSERT INTO pawl.guard AS seen (resource, token, claimed_in, claimed_at, reader)
        VALUES ($1, 0, '0', '-infinity', $2)
        ON CONFLICT (resource) DO UPDATE SET reader = GREATEST(seen.reader, excluded.reader)
            WHERE seen.token <= excluded.reader;
    IF NOT FOUND THEN
        PERFORM pawl.refuse_stale('read', $1, $2);
    END IF;
    RETURN $2;
END $$;

-- ---- protected tables --------------------------------------------------------------------------------

-- The triggers run with the rights of whoever writes, as the expression may call what others made: a
-- cast, say. This alone has the rights of the guard's owner, and it is told a text.
CREATE OR REPLACE FUNCTION pawl.expect_claim(resource text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM pawl.expect_name($1);
    PERFORM FROM pawl.guard
        WHERE resource = $1 COLLATE "C" AND claimed_in = pg_current_xact_id() AND claimed_at = transaction_timestamp() AND
            token > reader;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PW428',
            MESSAGE = format('unclaimed: this transaction has not claimed %s', $1),
            HINT = 'Call pawl_check with the token of the lock, in the transaction of the write.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION pawl.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = TG_ARGV[0],
        MESSAGE = format('%s of %s is refused: %s', TG_OP, TG_RELID::regclass, TG_ARGV[1]);
END $$;

CREATE OR REPLACE FUNCTION pawl.unprotect(target regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    old record;
BEGIN
    FOR old IN SELECT tgname, tgrelid::regclass AS of, tgfoid::regprocedure AS function FROM pg_trigger
        WHERE (tgrelid = target AND tgname = 'pawl_protect') OR (tgname = 'pawl_protect_all' AND
            (tgrelid = target OR tgrelid IN (SELECT relid FROM pg_partition_tree(target))))
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', old.tgname, old.of);
        IF old.tgname = 'pawl_protect' THEN
            EXECUTE format('DROP FUNCTION %s', old.function);
        END IF;
    END LOOP;
    FOR old IN SELECT oid::regprocedure AS function FROM pg_proc -- of tables that were dropped
        WHERE pronamespace = 'pawl'::regnamespace AND proname ~ '^protect_[0-9a-f]{32}$' AND
            NOT EXISTS (SELECT FROM pg_trigger WHERE tgfoid = pg_proc.oid)
    LOOP
        EXECUTE format('DROP FUNCTION %s', old.function);
    END LOOP;
END $$;

-- From now on a row of @target is written only by a transaction that has claimed its resource. @resource
-- is an expression over the columns, such as $x$'orders/' || id$x$. Names in it are looked up in
-- pg_catalog; name the schema of other functions. The triggers look at the row after all others.
--
-- PREPARE looks at the expression and plans nothing: planning would already run the functions of an
-- index or of a view that a stranger made. A constraint trigger cannot be replaced by a role that has no
-- more than the right TRIGGER. The comment tells pawl_check.sql which table the function was made for.
CREATE OR REPLACE FUNCTION pawl.protect(target regclass, resource text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number text := replace(gen_random_uuid()::text, '-', '');
    function text := 'pawl.protect_' || number;
    before text := 'PERFORM pawl.expect_claim((SELECT (' || resource || E'\n)::text FROM (SELECT ';
    after text := '.*) AS changed));';
    part regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = target AND relkind IN ('r', 'p')) THEN
        RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = format('%s is not a table of this database', target),
            HINT = 'Protect the tables that store the rows, not a view or a foreign table.';
    END IF;
    IF EXISTS (SELECT FROM pg_inherits JOIN pg_class ON oid = inhrelid
               WHERE inhparent = target AND NOT relispartition) THEN
        RAISE EXCEPTION USING ERRCODE = '42809', MESSAGE = format('%s has children that inherit from it', target),
            HINT = 'Triggers of a parent do not run for the rows of its children. Protect each child, not the parent.';
    END IF;
    EXECUTE format('PREPARE pawl_%s AS SELECT (', number) || resource || E'\n)::text FROM ' || target || ' AS changed';
    EXECUTE format('DEALLOCATE pawl_%s', number);
    PERFORM pawl.unprotect(target);
    EXECUTE 'CREATE FUNCTION ' || function || '() RETURNS trigger LANGUAGE plpgsql '
        'SET search_path = pg_catalog, pg_temp AS ' || quote_literal(
            E'#variable_conflict use_column\nBEGIN\n'
            '    IF TG_OP <> ''INSERT'' THEN ' || before || 'OLD' || after || E' END IF;\n'
            '    IF TG_OP <> ''DELETE'' THEN ' || before || 'NEW' || after || E' END IF;\n'
            '    RETURN NULL;\nEND');
    EXECUTE 'REVOKE ALL ON FUNCTION ' || function || '() FROM PUBLIC';
    EXECUTE format('COMMENT ON FUNCTION %s() IS %L', function, target);
    EXECUTE format('CREATE CONSTRAINT TRIGGER pawl_protect AFTER INSERT OR UPDATE OR DELETE ON %s '
                   'NOT DEFERRABLE FOR EACH ROW EXECUTE FUNCTION %s()', target, function);
    FOR part IN SELECT target UNION SELECT relid FROM pg_partition_tree(target) LOOP
        EXECUTE format('CREATE TRIGGER pawl_protect_all BEFORE TRUNCATE ON %s FOR EACH STATEMENT '
                       'EXECUTE FUNCTION pawl.refuse(''PW428'', ''the table is protected'')', part);
    END LOOP;
END $$;

-- A role with the right TRIGGER may replace a trigger that is no constraint: that against TRUNCATE, say.
CREATE OR REPLACE FUNCTION pawl.keep_triggers() RETURNS event_trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT tgname, tgrelid::regclass AS of
        FROM pg_event_trigger_ddl_commands() JOIN pg_trigger ON pg_trigger.oid = objid
            JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE classid = 'pg_trigger'::regclass AND pronamespace <> 'pawl'::regnamespace AND
            tgname IN ('pawl_protect', 'pawl_protect_all', 'pawl_keep', 'pawl_rise')
    LOOP
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = format('the trigger %I on %s belongs to the guard', made.tgname, made.of),
            HINT = 'Use another name for your trigger, or remove the protection with pawl_unprotect.';
    END LOOP;
END $$;

-- ---- what holders call -------------------------------------------------------------------------------

-- These stand in the schema that was the first of the search path. It is the path for their names alone:
-- pg_catalog comes first where it is not named, and no expression is in here but in bodies with a path of
-- their own.
DO $$
BEGIN
    PERFORM set_config('search_path', format('%I, pg_temp', current_setting('pawl.schema')), true);
END $$;

CREATE OR REPLACE FUNCTION pawl_claim(resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN pawl.judge('claim', $1, $2); END $$;

CREATE OR REPLACE FUNCTION pawl_check(resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN pawl.judge('write', $1, $2); END $$;

CREATE OR REPLACE FUNCTION pawl_claim_read(resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN pawl.judge_reader($1, $2); END $$;

CREATE OR REPLACE FUNCTION pawl_check_read(resource text, token bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RETURN pawl.judge_reader($1, $2); END $$;

-- The highest token that was seen, of a writer or a reader; NULL: none.
CREATE OR REPLACE FUNCTION pawl_token(resource text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT NULLIF(GREATEST(seen.token, seen.reader), 0) FROM pawl.guard AS seen WHERE seen.resource = $1 COLLATE "C" $$;

-- Keeps a refusal for people to see: after the rollback, in a transaction of its own. The newest 1,000
-- are kept. The refusal itself does not rest on it.
CREATE OR REPLACE FUNCTION pawl_record(resource text, token bigint, highest bigint, kind text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pawl.expect_name($1);
    IF $2 IS NULL OR $3 IS NULL OR $4 IS NULL OR $4 NOT IN ('claim', 'write', 'read') THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = 'invalid refusal',
            HINT = 'Both tokens must be numbers. The kind must be claim, write or read.';
    END IF;
    INSERT INTO pawl.refusal (resource, token, highest, kind) VALUES ($1, $2, $3, $4);
    DELETE FROM pawl.refusal WHERE number <= (SELECT max(number) FROM pawl.refusal) - 1000;
END $$;

-- For the owner of a table. In a database where strangers may make functions in this schema, call
-- pawl.protect and pawl.unprotect, which no other function hides.
CREATE OR REPLACE FUNCTION pawl_protect(target regclass, resource text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT pawl.protect(target, resource) $$;

CREATE OR REPLACE FUNCTION pawl_unprotect(target regclass) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT pawl.unprotect(target) $$;

REVOKE ALL ON FUNCTION pawl_claim(text, bigint), pawl_check(text, bigint), pawl_claim_read(text, bigint),
    pawl_check_read(text, bigint), pawl_token(text), pawl_record(text, bigint, bigint, text), pawl_protect(regclass, text), pawl_unprotect(regclass) FROM PUBLIC;

SET LOCAL search_path = pg_catalog, pg_temp;

-- ---- rights ------------------------------------------------------------------------------------------

CREATE OR REPLACE TRIGGER pawl_keep BEFORE DELETE OR TRUNCATE ON pawl.guard FOR EACH STATEMENT
    EXECUTE FUNCTION pawl.refuse('55000', 'a row that the guard forgets lets a stale holder in');

CREATE OR REPLACE TRIGGER pawl_rise BEFORE UPDATE ON pawl.guard FOR EACH ROW
    WHEN (NEW.token < OLD.token OR NEW.reader < OLD.reader OR NEW.resource <> OLD.resource)
    EXECUTE FUNCTION pawl.refuse('55000', 'a guard that is lowered lets a stale holder in');

REVOKE ALL ON SCHEMA pawl FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pawl FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM PUBLIC;

-- ALTER DEFAULT PRIVILEGES may have given others rights on what was made here just now, and somebody may
-- have given some since. Later runs leave SELECT on the tables, and EXECUTE on what holders call.
DO $$
DECLARE
    fresh boolean := current_setting('pawl.fresh')::boolean;
    fresh_readers boolean := current_setting('pawl.fresh_readers')::boolean;
    target oid := to_regnamespace(quote_ident(current_setting('pawl.schema')));
    given record;
BEGIN
    FOR given IN
        SELECT 'SCHEMA pawl' AS what, grantee, privilege_type AS privilege FROM pg_namespace, aclexplode(nspacl)
            WHERE nspname = 'pawl' AND grantee <> nspowner
        UNION ALL SELECT format(CASE relkind WHEN 'S' THEN 'SEQUENCE %s' ELSE 'TABLE %s' END, pg_class.oid::regclass),
                grantee, privilege_type
            FROM pg_class, aclexplode(relacl) WHERE relnamespace = 'pawl'::regnamespace AND grantee <> relowner
        UNION ALL SELECT format('TABLE %s', attrelid::regclass), grantee, privilege_type
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl)
            WHERE relnamespace = 'pawl'::regnamespace AND grantee <> relowner
        UNION ALL SELECT format('FUNCTION %s', pg_proc.oid::regprocedure), grantee, privilege_type
            FROM pg_proc, aclexplode(proacl) WHERE grantee <> proowner AND (pronamespace = 'pawl'::regnamespace OR
                (fresh AND pronamespace = target AND proname ~ '^pawl_(claim|check|token|record|protect|unprotect)$') OR
                (fresh_readers AND pronamespace = target AND proname ~ '^pawl_(claim|check)_read$'))
            AND (fresh OR proname !~ '^pawl_(claim|check|token|record|protect|unprotect)$')
            AND (fresh_readers OR proname !~ '^pawl_(claim|check)_read$')
    LOOP
        CONTINUE WHEN NOT fresh AND given.privilege = 'SELECT';
        EXECUTE format('REVOKE %s ON %s FROM %s CASCADE', given.privilege, given.what,
            CASE given.grantee WHEN 0 THEN 'PUBLIC' ELSE given.grantee::regrole::text END);
    END LOOP;
END $$;

-- The triggers of protected tables ask this, whoever writes.
GRANT USAGE ON SCHEMA pawl TO PUBLIC;
GRANT EXECUTE ON FUNCTION pawl.expect_claim(text) TO PUBLIC;

-- Event triggers are made by superusers. Without it a role with TRIGGER and TRUNCATE on a protected table
-- can empty it; pawl_check.sql names such roles.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtname = 'pawl_keep_triggers') THEN
        CREATE EVENT TRIGGER pawl_keep_triggers ON ddl_command_end WHEN TAG IN ('CREATE TRIGGER')
            EXECUTE FUNCTION pawl.keep_triggers();
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END $$;

-- A function of another schema that has a name of the guard's hides it where it fits the call better.
DO $$
DECLARE
    others text;
BEGIN
    SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ', ') INTO others
        FROM pg_namespace, aclexplode(nspacl)
        WHERE nspname = current_setting('pawl.schema') AND nspname <> 'pawl' AND privilege_type = 'CREATE' AND
            grantee <> nspowner AND grantee <> current_user::regrole AND
            grantee NOT IN (SELECT oid FROM pg_roles WHERE rolsuper);
    IF others IS NOT NULL THEN
        RAISE WARNING USING MESSAGE = format('%s may create functions in the schema %I, where the guard is called',
                others, current_setting('pawl.schema')),
            HINT = format('REVOKE CREATE ON SCHEMA %I FROM %s; or install the guard with search_path=pawl.',
                current_setting('pawl.schema'), others);
    END IF;
END $$;

COMMIT;
