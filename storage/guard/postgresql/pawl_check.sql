-- Tells whether the guard of Pawl, and each table that it protects, is as it was made. It changes nothing,
-- and reads the catalogs of the system alone: no table, view or function of this database. To run it, best
-- as a superuser or as the guard's owner: pawl guard check postgresql | psql -q DATABASE
--
--     of         the guard, or a protected table
--     resource   the expression that gives a row's resource
--     state      intact, or what is wrong
--     may_undo   who can take the guard off without being its owner or a superuser
--
-- A table is found by its trigger, or by the comment of the function that pawl_protect made for it. So a
-- table whose trigger was dropped is told, and one that took the name of a protected table.

\set ON_ERROR_STOP on
BEGIN READ ONLY;
SET LOCAL search_path = pg_catalog, pg_temp;

WITH owner AS (
    SELECT oid AS schema, nspowner AS role FROM pg_namespace WHERE nspname = 'pawl'
), made(signature, hash) AS (VALUES
    -- What each function is: its text, its rights, its path. scripts/lint.d/sql --fix writes these lines.
    ('expect_claim(text)', 'a7773f5b8c6d937f921388c7ac890ff5'),
    ('expect_name(text)', '1314f5c550f4be7bec91f0e7bb2d3674'),
    ('expect_token(bigint)', 'c9d62784d8f3f38d1b34645d7440b829'),
    ('judge(text,text,bigint)', 'c97f78082eecba13515cf767d4acd1af'),
    ('judge_in_full(text,text,bigint)', '84c994e1bb68d582b9beaf8160574ec3'),
    ('judge_reader(text,bigint)', '3c40a50d77aa0414cd7234c28a838f2c'),
    ('keep_triggers()', '0b623129628de96ac15daa89ead32fe8'),
    ('make_durable()', 'af42cc6eaee1cb5cc905127ef85a4462'),
    ('pawl_check(text,bigint)', 'e44235787b999da6b254a45a1f3cf178'),
    ('pawl_check_read(text,bigint)', 'f5eb637e96a424a14d813a8336e5a0b0'),
    ('pawl_claim(text,bigint)', '7d546ad30ec523b675e9e76889f85f26'),
    ('pawl_claim_read(text,bigint)', 'f5eb637e96a424a14d813a8336e5a0b0'),
    ('pawl_protect(regclass,text)', 'da4eba9ca5737a65630abffd6ea67f37'),
    ('pawl_record(text,bigint,bigint,text)', '446fa106d19840c2a57107129aa12eb5'),
    ('pawl_token(text)', '3e25baaec873ab9342cee8319192ccc4'),
    ('pawl_unprotect(regclass)', '488242763cda4cbe35ad0c723ccea9a8'),
    ('protect(regclass,text)', '3d12418fa83103f8ddb110a2a7d46318'),
    ('refuse()', 'd10840fa5fd263e411e50becd65c331a'),
    ('refuse_stale(text,text,bigint)', 'c9a885dc216148b0cd1cf9b10ad80e4b'),
    ('unprotect(regclass)', 'e322063cb42882ea1bdef5e4dc8ab879')
), functions AS (
    SELECT pg_proc.oid, nspname, proname, proowner, prosrc, coalesce(proacl, acldefault('f', proowner)) AS acl, format('%s(%s)', proname,
            (SELECT string_agg(format_type(type, NULL), ',' ORDER BY place)
             FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS given(type, place))) AS signature,
        md5(concat_ws(E'\n', prosrc, prosecdef, proconfig, lanname, provolatile)) AS hash,
        md5(concat_ws(E'\n', prosecdef, proconfig, lanname, prorettype::regtype)) AS frame
    FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace JOIN pg_language ON pg_language.oid = prolang
    WHERE nspname = 'pawl' OR proname ~ '^pawl_(claim|check|claim_read|check_read|token|record|protect|unprotect)$'
), wanted_triggers(of, name, text) AS (VALUES
    ('pawl.guard', 'pawl_keep', 'CREATE TRIGGER pawl_keep BEFORE DELETE OR TRUNCATE ON pawl.guard FOR EACH STATEMENT '
        'EXECUTE FUNCTION pawl.refuse(''55000'', ''a row that the guard forgets lets a stale holder in'')'),
    ('pawl.guard', 'pawl_rise', 'CREATE TRIGGER pawl_rise BEFORE UPDATE ON pawl.guard FOR EACH ROW '
        'WHEN (new.token < old.token OR new.reader < old.reader OR new.resource <> old.resource) '
        'EXECUTE FUNCTION pawl.refuse(''55000'', ''a guard that is lowered lets a stale holder in'')')
), own_tables AS (
    SELECT pg_class.oid, relname, relkind, relpersistence, relowner, relacl, relrowsecurity, relhasrules
    FROM pg_class JOIN owner ON relnamespace = schema WHERE relkind IN ('r', 'v', 'm', 'f', 'p')
), guard_faults(fault) AS (
    SELECT 'is not installed here' WHERE to_regnamespace('pawl') IS NULL
    UNION ALL SELECT format('the function %s is missing', signature) FROM made
        WHERE NOT EXISTS (SELECT FROM functions JOIN owner ON proowner = role WHERE functions.signature = made.signature)
    UNION ALL SELECT format('the function %I.%s was changed, or is of another version', nspname, signature)
        FROM functions JOIN owner ON proowner = role JOIN made USING (signature) WHERE functions.hash <> made.hash
    UNION ALL SELECT format('the function %I.%s is of the role %s', nspname, signature, proowner::regrole)
        FROM functions, owner WHERE proowner <> role
    UNION ALL SELECT format('the function %I.%s is not of the guard', nspname, signature) FROM functions
        WHERE nspname = 'pawl' AND proname !~ '^protect_[0-9a-f]{32}$' AND signature NOT IN (SELECT signature FROM made)
    UNION ALL SELECT format('%s may call the function %I.%s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE
            grantee::regrole::text END, nspname, signature)
        FROM functions, aclexplode(acl) WHERE grantee <> proowner AND nspname = 'pawl' AND
            signature <> 'expect_claim(text)' AND proname !~ '^(protect_[0-9a-f]{32}|pawl_.*)$'
    UNION ALL SELECT format('the table %I is missing', name) FROM (VALUES ('guard'), ('refusal')) AS wanted(name)
        WHERE name NOT IN (SELECT relname FROM own_tables WHERE relkind = 'r')
    UNION ALL SELECT format('the table %I is of the role %s', relname, relowner::regrole) FROM own_tables, owner
        WHERE relowner <> role
    UNION ALL SELECT format('the table %I is no ordinary, logged table without rules and policies', relname)
        FROM own_tables WHERE relkind <> 'r' OR relpersistence <> 'p' OR relrowsecurity OR relhasrules
    UNION ALL SELECT 'the table guard has no primary key' WHERE to_regclass('pawl.guard') IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_constraint WHERE conrelid = to_regclass('pawl.guard') AND contype = 'p')
    UNION ALL SELECT format('the trigger %s is missing, changed or off', name) FROM wanted_triggers
        WHERE to_regclass(of) IS NOT NULL AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass(of) AND
            tgname = name AND tgenabled IN ('O', 'A') AND pg_get_triggerdef(pg_trigger.oid, true) = text)
    UNION ALL SELECT format('the table %I has the trigger %I', relname, tgname)
        FROM pg_trigger JOIN own_tables ON own_tables.oid = tgrelid
        WHERE NOT tgisinternal AND tgname NOT IN (SELECT name FROM wanted_triggers)
    UNION ALL SELECT DISTINCT format('%s has %s on the table %I', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE
            grantee::regrole::text END, privilege_type, relname)
        FROM own_tables, aclexplode(relacl) WHERE grantee <> relowner AND privilege_type <> 'SELECT'
    UNION ALL SELECT format('%s has %s on the column %I.%I', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE
            grantee::regrole::text END, privilege_type, relname, attname)
        FROM own_tables JOIN pg_attribute ON attrelid = own_tables.oid, aclexplode(attacl)
        WHERE grantee <> relowner AND privilege_type <> 'SELECT'
    UNION ALL SELECT format('%s may create in the schema pawl', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE
            grantee::regrole::text END)
        FROM pg_namespace, aclexplode(nspacl)
        WHERE nspname = 'pawl' AND grantee <> nspowner AND privilege_type = 'CREATE'
), targets AS (
    SELECT pg_trigger.tgrelid AS target FROM pg_trigger WHERE tgname = 'pawl_protect' AND tgparentid = 0
    UNION SELECT to_regclass(obj_description(functions.oid, 'pg_proc')) FROM functions
        WHERE nspname = 'pawl' AND proname ~ '^protect_' AND to_regclass(obj_description(functions.oid, 'pg_proc')) IS NOT NULL
), members AS (
    SELECT target, target AS member FROM targets
    UNION SELECT target, relid FROM targets, pg_partition_tree(target)
), row_triggers AS (
    SELECT target, member, pg_trigger.oid AS trigger, pg_trigger.*, functions.*,
        substring(prosrc FROM 'INSERT'' THEN PERFORM pawl[.]expect_claim\(\(SELECT \((.*)' || E'\n' ||
            '\)::text FROM \(SELECT OLD[.]\*\) AS changed\)\); END IF;') AS resource
    FROM members LEFT JOIN pg_trigger ON tgrelid = member AND tgname = 'pawl_protect'
        LEFT JOIN functions ON functions.oid = tgfoid
), all_triggers AS (
    SELECT target, member, pg_trigger.*, pg_proc.oid AS refuse
    FROM members LEFT JOIN pg_trigger ON tgrelid = member AND tgname = 'pawl_protect_all'
        LEFT JOIN pg_proc ON pg_proc.oid = tgfoid AND pg_proc.oid = to_regproc('pawl.refuse')
), table_faults(target, member, fault) AS (
    SELECT target, member, CASE
        WHEN trigger IS NULL THEN 'has no trigger pawl_protect'
        WHEN tgenabled NOT IN ('O', 'A') THEN 'has its trigger pawl_protect off'
        WHEN resource IS NULL OR nspname <> 'pawl' OR proname !~ '^protect_' THEN 'has pawl_protect of another function'
        WHEN proowner <> (SELECT role FROM owner) THEN format('has pawl_protect of a function of the role %s', proowner::regrole)
        WHEN frame <> md5(concat_ws(E'\n', false, ARRAY['search_path=pg_catalog, pg_temp'], 'plpgsql', 'trigger')) OR
            prosrc <> format(E'#variable_conflict use_column\nBEGIN\n'
                '    IF TG_OP <> ''INSERT'' THEN PERFORM pawl.expect_claim((SELECT (%1$s' || E'\n'
                ')::text FROM (SELECT OLD.*) AS changed)); END IF;' || E'\n'
                '    IF TG_OP <> ''DELETE'' THEN PERFORM pawl.expect_claim((SELECT (%1$s' || E'\n'
                ')::text FROM (SELECT NEW.*) AS changed)); END IF;' || E'\n'
                '    RETURN NULL;' || E'\nEND', resource)
            THEN 'has a function of pawl_protect that was changed'
        WHEN tgtype <> 29 OR tgqual IS NOT NULL OR tgattr::text <> '' OR tgdeferrable
            THEN 'has pawl_protect for some writes only'
        WHEN tgconstraint = 0 THEN 'was protected by an earlier Pawl, and TRIGGER is enough to undo it: protect it anew'
        END
        FROM row_triggers
    UNION ALL SELECT target, member, CASE
        WHEN tgfoid IS NULL THEN 'can be emptied by TRUNCATE: it has no trigger pawl_protect_all'
        WHEN tgenabled NOT IN ('O', 'A') THEN 'can be emptied by TRUNCATE: pawl_protect_all is off'
        WHEN refuse IS NULL OR tgtype <> 34 OR tgqual IS NOT NULL
            THEN 'can be emptied by TRUNCATE: pawl_protect_all is of another function'
        END
        FROM all_triggers
    UNION ALL SELECT target, inhrelid, 'inherits, and is not protected with its parent'
        FROM targets JOIN pg_inherits ON inhparent = target JOIN pg_class ON pg_class.oid = inhrelid
        WHERE NOT relispartition
), keeps AS (
    SELECT EXISTS (SELECT FROM pg_event_trigger JOIN functions ON functions.oid = evtfoid
        WHERE evtname = 'pawl_keep_triggers' AND evtenabled IN ('O', 'A') AND evtevent = 'ddl_command_end' AND
            nspname = 'pawl' AND signature = 'keep_triggers()') AS triggers
), undoers(target, who) AS (
    SELECT target, format('%s (%s)', pg_roles.rolname, CASE pg_roles.oid WHEN relowner THEN 'owner' ELSE
            'is in the role of the owner' END)
        FROM members JOIN pg_class ON pg_class.oid = member JOIN pg_roles ON pg_has_role(pg_roles.oid, relowner, 'MEMBER')
        WHERE NOT rolsuper AND pg_roles.oid <> (SELECT role FROM owner)
    UNION SELECT target, format('%s (TRIGGER and TRUNCATE)', CASE given.grantee WHEN 0 THEN 'PUBLIC' ELSE
            given.grantee::regrole::text END)
        FROM keeps, members JOIN pg_class ON pg_class.oid = member, aclexplode(relacl) AS given, aclexplode(relacl) AS also
        WHERE NOT triggers AND given.grantee <> relowner AND given.privilege_type = 'TRIGGER' AND
            also.privilege_type = 'TRUNCATE' AND also.grantee IN (given.grantee, 0)
    UNION SELECT target, format('%s (session_replication_role)', parameter[1])
        FROM targets, regexp_matches(CASE WHEN to_regclass('pg_catalog.pg_parameter_acl') IS NOT NULL THEN query_to_xml(
            'SELECT CASE grantee WHEN 0 THEN ''PUBLIC'' ELSE grantee::regrole::text END AS grantee '
            'FROM pg_parameter_acl, aclexplode(paracl) WHERE parname = ''session_replication_role'' AND '
            'privilege_type = ''SET'' AND grantee NOT IN (SELECT oid FROM pg_roles WHERE rolsuper)',
            false, true, '')::text ELSE '' END, '<grantee>([^<]*)</grantee>', 'g') AS parameter
    UNION SELECT target, format('%s (is in the role of the guard''s owner)', rolname)
        FROM targets, owner JOIN pg_roles ON pg_has_role(pg_roles.oid, role, 'MEMBER')
        WHERE NOT rolsuper AND pg_roles.oid <> role
)
SELECT 'the guard' AS of, NULL AS resource,
    coalesce((SELECT string_agg(fault, '; ' ORDER BY fault) FROM guard_faults), 'intact') AS state,
    CASE WHEN triggers OR to_regnamespace('pawl') IS NULL THEN '' ELSE
        'TRIGGER and TRUNCATE undo pawl_protect_all: a superuser installs what keeps it' END AS may_undo
FROM keeps
UNION ALL SELECT target::text,
    (SELECT max(resource) FROM row_triggers WHERE row_triggers.target = targets.target AND member = targets.target),
    coalesce((SELECT string_agg(CASE member WHEN targets.target THEN '' ELSE member::regclass::text || ' ' END || fault,
                  '; ' ORDER BY member, fault)
              FROM table_faults WHERE table_faults.target = targets.target AND fault IS NOT NULL), 'intact'),
    coalesce((SELECT string_agg(who, ', ' ORDER BY who) FROM undoers WHERE undoers.target = targets.target), '')
FROM (SELECT DISTINCT target::regclass AS target FROM targets) AS targets
ORDER BY 1;

COMMIT;
