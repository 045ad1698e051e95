-- What the guard for PostgreSQL does beside the contract, as pgTAP cases. Played as the superuser in a
-- database of its own, after the guard was installed. Each block is rolled back.
\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE ROLE reader LOGIN;

BEGIN;
SELECT plan(56);

-- ---- rights ------------------------------------------------------------------------------------------
SELECT ok(NOT has_function_privilege('reader', 'pawl_claim(text, bigint)', 'EXECUTE'), 'nobody may claim who was not allowed to');
SELECT ok(NOT has_function_privilege('reader', 'pawl_claim_read(text, bigint)', 'EXECUTE'), 'nobody may claim as a reader who was not allowed to');
SELECT ok(NOT has_function_privilege('reader', 'pawl_protect(regclass, text)', 'EXECUTE'), 'nobody may protect who was not allowed to');
SELECT ok(NOT has_schema_privilege('app', 'pawl', 'CREATE'), 'a holder makes nothing in the schema of the guard');
SELECT ok(NOT has_table_privilege('app', 'pawl.guard', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE'), 'a holder does not touch the tables of the guard');
SELECT ok(has_function_privilege('app', 'pawl_check(text, bigint)', 'EXECUTE'), 'a holder may check');
SELECT is((SELECT count(*) FROM pg_proc WHERE proname ~ '^pawl_(claim|check|claim_read|check_read|token|record)$' AND prosecdef
           AND proconfig = ARRAY['search_path=pg_catalog, pg_temp']), 6::bigint, 'what holders call runs with the rights of its owner, and a search path of its own');
SELECT is((SELECT count(*) FROM pg_proc JOIN pg_namespace AS n ON n.oid = pronamespace
           WHERE n.nspname = 'pawl' AND has_function_privilege('app', pg_proc.oid, 'EXECUTE')), 1::bigint, 'a holder calls one part of the guard: its triggers do');

-- ---- the rows of the guard ---------------------------------------------------------------------------
SELECT lives_ok($$ SELECT pawl_claim('tap/1', 7) $$);
SELECT throws_ok($$ DELETE FROM pawl.guard $$, '55000', NULL, 'not even the owner deletes from the guard');
SELECT throws_ok($$ TRUNCATE pawl.guard $$, '55000', NULL, 'not even the owner empties the guard');
SELECT throws_ok($$ SELECT pawl_claim('tap/1', 6) $$, 'PW412', 'stale-token: claim of tap/1 with token 6, and the guard has seen 7');
SELECT throws_ok($$ SELECT pawl_check('tap/1', 6) $$, 'PW412', 'stale-token: write of tap/1 with token 6, and the guard has seen 7');
SELECT throws_ok($$ SELECT pawl_claim(NULL, 6) $$, '22023', 'invalid resource NULL');
SELECT throws_ok($$ SELECT pawl_claim('tap/1', NULL) $$, '22023', 'invalid token NULL');
SELECT is(pawl_token('tap/never'), NULL, 'what was never claimed has no token');
SELECT is(pawl_check('tap/1', 9), 9::bigint, 'a check tells the token');

SELECT throws_ok($$ UPDATE pawl.guard SET token = 1 WHERE resource = 'tap/1' $$, '55000', NULL, 'not even the owner lowers a guard');

SELECT lives_ok($$ SELECT pawl_claim_read('tap/1', 9) $$);
SELECT throws_ok($$ SELECT pawl_check('tap/1', 9) $$, 'PW412', 'stale-token: write of tap/1 with token 9, and the guard has seen reader 9');
SELECT throws_ok($$ SELECT pawl_check_read('tap/1', 8) $$, 'PW412', 'stale-token: read of tap/1 with token 8, and the guard has seen 9');
SELECT throws_ok($$ UPDATE pawl.guard SET reader = 1 WHERE resource = 'tap/1' $$, '55000', NULL, 'not even the owner lowers a reader');

-- ---- refusals for people -----------------------------------------------------------------------------
SELECT lives_ok($$ SELECT pawl_record('tap/1', 6, 7, 'write') FROM generate_series(1, 1010) $$);
SELECT is((SELECT count(*) FROM pawl.refusal), 1000::bigint, 'the newest 1,000 refusals are kept');
SELECT lives_ok($$ SELECT pawl_record('tap/1', 6, 7, 'read') $$);
SELECT throws_ok($$ SELECT pawl_record('tap/1', 6, 7, 'other') $$, '22023', 'invalid refusal');

-- ---- protected tables --------------------------------------------------------------------------------
CREATE SCHEMA "Odd ""names";
CREATE TABLE "Odd ""names"."The table" ("Id no" int PRIMARY KEY, twice int GENERATED ALWAYS AS ("Id no" * 2) STORED, resource text);
SELECT throws_ok($$ SELECT pawl_protect('"Odd ""names"."The table"', 'nothing') $$, '42703', NULL, 'an expression that cannot be evaluated protects nothing');
SELECT is((SELECT count(*) FROM pg_trigger WHERE tgrelid = '"Odd ""names"."The table"'::regclass), 0::bigint, 'and leaves nothing behind');
SELECT lives_ok($$ SELECT pawl_protect('"Odd ""names"."The table"', $x$'odd/' || twice$x$) $$);
SELECT lives_ok($$ SELECT pawl_protect('"Odd ""names"."The table"', $x$'odd/' || twice$x$) $$, 'a table may be protected again');
SELECT is((SELECT count(*) FROM pg_proc JOIN pg_namespace AS n ON n.oid = pronamespace
           WHERE n.nspname = 'pawl' AND proname ~ '^protect_' AND prosrc ~ 'odd/'), 1::bigint, 'with one function');
SELECT throws_ok($$ INSERT INTO "Odd ""names"."The table" VALUES (4) $$, 'PW428', 'unclaimed: this transaction has not claimed odd/8');
SELECT lives_ok($$ SELECT pawl_check('odd/8', 1); INSERT INTO "Odd ""names"."The table" VALUES (4) $$, 'a row is judged as it is stored');
SELECT throws_ok($$ UPDATE "Odd ""names"."The table" SET "Id no" = 5 $$, 'PW428', 'unclaimed: this transaction has not claimed odd/10', 'both the old and the new row are judged');
SELECT throws_ok($$ TRUNCATE "Odd ""names"."The table" $$, 'PW428', NULL, 'a protected table is not emptied at once');
SELECT lives_ok($$ INSERT INTO "Odd ""names"."The table" VALUES (4) ON CONFLICT ("Id no") DO UPDATE SET resource = 'x' $$, 'a column may be called as a parameter is');
CREATE FUNCTION pg_temp.turn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW."Id no" := 9; RETURN NEW; END $$;
CREATE TRIGGER z BEFORE INSERT ON "Odd ""names"."The table" FOR EACH ROW EXECUTE FUNCTION pg_temp.turn();
SELECT throws_ok($$ INSERT INTO "Odd ""names"."The table" VALUES (4) $$, 'PW428', 'unclaimed: this transaction has not claimed odd/18', 'other triggers do not change a row after it was judged');
SELECT lives_ok($$ SELECT pawl_unprotect('"Odd ""names"."The table"') $$);
SELECT lives_ok($$ INSERT INTO "Odd ""names"."The table" VALUES (4) $$, 'a table may be given free again');

-- ---- expressions, children, partitions -----------------------------------------------------------------
CREATE TABLE shares (id int, note text COLLATE "POSIX");
SELECT lives_ok($x$ SELECT pawl_protect('shares', $$format('shares/%s', id % 10)$$) $x$, 'an expression may have a percent sign');
SELECT throws_ok($$ INSERT INTO shares VALUES (13) $$, 'PW428', 'unclaimed: this transaction has not claimed shares/3');
SELECT lives_ok($$ SELECT pawl_protect('shares', 'note') $$);
SELECT throws_ok($$ INSERT INTO shares VALUES (1, 'shares/x') $$, 'PW428', NULL, 'a column may have a collation of its own');
CREATE TABLE parent (id int);
CREATE TABLE child () INHERITS (parent);
SELECT throws_ok($$ SELECT pawl_protect('parent', 'id') $$, '42809', NULL, 'a parent whose children would be open is not protected');
CREATE TABLE parts (id int) PARTITION BY LIST (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
SELECT lives_ok($x$ SELECT pawl_protect('parts', $$'parts/' || id$$) $x$);
SELECT throws_ok($$ INSERT INTO parts_1 VALUES (1) $$, 'PW428', NULL, 'a partition is protected with its table');
SELECT throws_ok($$ TRUNCATE parts_1 $$, 'PW428', NULL, 'a partition is not emptied at once');
SELECT lives_ok($$ SELECT pawl_unprotect('parts') $$);
SELECT lives_ok($$ TRUNCATE parts_1; INSERT INTO parts_1 VALUES (1) $$, 'and is given free with it');

DROP TABLE shares;
SELECT lives_ok($x$ SELECT pawl_unprotect('child') $x$);
SELECT is((SELECT count(*) FROM pg_proc WHERE prosrc ~ 'SELECT \(note'), 0::bigint, 'what a dropped table leaves is removed by the next call');

-- ---- whose rights --------------------------------------------------------------------------------------
CREATE ROLE alice LOGIN;
CREATE SCHEMA alice AUTHORIZATION alice;
CREATE TABLE alice.orders (id text, value int);
ALTER TABLE alice.orders OWNER TO alice;
SELECT pawl_protect('alice.orders', $x$'orders/' || id$x$);
GRANT EXECUTE ON FUNCTION pawl_check TO alice;
GRANT ALL ON ALL TABLES IN SCHEMA pg_temp TO alice;
SET ROLE alice;
CREATE TYPE alice.t AS (x int);
CREATE FUNCTION alice.evil(alice.t) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF current_user <> 'alice' THEN RAISE EXCEPTION 'runs as %', current_user USING ERRCODE = 'XX000'; END IF;
    RETURN 'a';
END $$;
CREATE CAST (alice.t AS text) WITH FUNCTION alice.evil(alice.t);
ALTER TABLE alice.orders ALTER id TYPE alice.t USING row(1)::alice.t;
RESET ROLE;
SET LOCAL SESSION AUTHORIZATION alice;
DO $$ BEGIN PERFORM pawl_check('orders/a', 1); END $$;
INSERT INTO alice.orders VALUES (row(1), 1);
RESET SESSION AUTHORIZATION;
SELECT is((SELECT value FROM alice.orders), 1, 'a cast of the owner of a table runs with the rights of whoever writes');

-- ---- savepoints --------------------------------------------------------------------------------------
SAVEPOINT before_claim;
SELECT pawl_claim('rows/250', 5);
ROLLBACK TO before_claim;
SELECT throws_ok($$ UPDATE protected SET value = 1 WHERE id = 250 $$, 'PW428', NULL, 'a claim that was rolled back to a savepoint opens no row');

-- ---- durability --------------------------------------------------------------------------------------
SET LOCAL synchronous_commit = local;
SELECT pawl_claim('tap/3', 1);
SELECT is(current_setting('synchronous_commit'), 'on', 'a standby is waited for, too');
SET LOCAL synchronous_commit = off;
SELECT pawl_claim('tap/2', 1);
SELECT is(current_setting('synchronous_commit'), 'on', 'the transaction of a claim is durable when it returns');

SET LOCAL synchronous_commit = off;
SELECT pawl_claim_read('tap/2', 1);
SELECT is(current_setting('synchronous_commit'), 'on', 'and so is that of a reader');

SELECT * FROM finish();
ROLLBACK;
