#!/usr/bin/env python3
"""Attacks the install of the guard for PostgreSQL: a stranger, who may create in the schema public, plants an
object for each name that the guard's SQL uses; then a superuser installs the guard, and uses it. The stranger's
code must not run with the superuser's rights, and what is installed must be the superuser's.

usage: tests/contract/guards/planted_postgresql.py SOCKETS [--each] [GUARD.sql]

  --each   an attack for each name: some ten minutes. Else all that fit together are planted at once
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "storage/guard/postgresql"
# With the second path a stranger's object wins even where another fits as well.
PATHS = ['"$user", public', "public, pg_catalog"]

# caught() leaves a mark that no rollback takes away, and then takes what it can.
STAGE = r"""
CREATE ROLE mallory LOGIN;
CREATE DATABASE stage;
\c stage
GRANT CREATE ON SCHEMA public TO PUBLIC;
GRANT CREATE ON DATABASE stage TO mallory;
SET SESSION AUTHORIZATION mallory;
CREATE SEQUENCE public.ran;
GRANT ALL ON SEQUENCE public.ran TO PUBLIC;
CREATE FUNCTION public.caught() RETURNS pg_catalog.bool LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF current_setting('is_superuser') = 'on' OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        PERFORM nextval('public.ran');
        ALTER ROLE mallory SUPERUSER;
    END IF;
    RETURN true;
EXCEPTION WHEN OTHERS THEN
    RETURN true;
END $$;
CREATE TYPE public.bait AS (word pg_catalog.text);
CREATE FUNCTION public.bait_of(pg_catalog.anyelement) RETURNS public.bait LANGUAGE plpgsql AS
    $$ BEGIN PERFORM public.caught(); RETURN ROW($1::pg_catalog.text)::public.bait; END $$;
"""

TYPES = ["text", "name", "oid", "regclass", "regnamespace", "regrole", "regproc", "regprocedure", "int4", "int8",
         "bool", "xid8", "timestamptz", "uuid", '"char"', "anyelement", "varchar", "regtype"]

# Each pair of types, and the answer that the server's own operator would give, where there is one.
OPERATOR = r"""
SET check_function_bodies = off;
DO $plant$
DECLARE
    l text; r text; op text := %s;
    types text[] := %s;
BEGIN
    FOREACH l IN ARRAY types LOOP FOREACH r IN ARRAY types LOOP
        CONTINUE WHEN (l = 'anyelement') <> (r = 'anyelement');
        EXECUTE format($f$CREATE FUNCTION public.evil_%%6$s(pg_catalog.%%1$s, pg_catalog.%%2$s) RETURNS pg_catalog.%%3$s
            LANGUAGE plpgsql AS $b$ BEGIN PERFORM public.caught();
            RETURN $1::pg_catalog.%%5$s OPERATOR(pg_catalog.%%4$s) $2::pg_catalog.%%5$s; END $b$$f$, l, r,
            CASE WHEN op = '||' THEN 'text' WHEN op IN ('-', '+', '*', '/', '%%', '#') THEN 'int8' ELSE 'bool' END, op,
            CASE WHEN op IN ('-', '+', '*', '/', '%%', '#') THEN 'int8'
                 WHEN op ~ '[=<>]' AND (l || r) ~ 'oid|reg' THEN 'oid'
                 WHEN op ~ '[=<>]' AND (l || r) ~ 'int' THEN 'int8' ELSE 'text' END, md5(op));
        BEGIN
            EXECUTE format('CREATE OPERATOR public.%%s (LEFTARG = pg_catalog.%%s, RIGHTARG = pg_catalog.%%s, '
                           'FUNCTION = public.evil_%%s)', op, l, r, md5(op));
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP; END LOOP;
END $plant$;
"""

# The server's own signatures, and those with one argument of another type, which fit some calls better.
FUNCTION = r"""
SET check_function_bodies = off;
DO $plant$
DECLARE
    f record; t text; at int; args text[]; types text[] := %s; wanted text := %s; call text;
BEGIN
    FOR f IN SELECT oid, proretset, prorettype, proargtypes::oid[] AS types, provariadic, pronargs FROM pg_proc
        WHERE proname = wanted AND pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
    LOOP
        IF f.proretset OR f.prorettype IN ('record'::regtype, 'event_trigger'::regtype) THEN
            BEGIN
                EXECUTE format('CREATE FUNCTION public.%%I(%%s) RETURNS %%s LANGUAGE plpgsql AS $b$ BEGIN '
                    'PERFORM public.caught(); RETURN QUERY SELECT * FROM pg_catalog.%%I(%%s); END $b$', wanted,
                    pg_get_function_arguments(f.oid), pg_get_function_result(f.oid), wanted,
                    (SELECT string_agg('$' || i, ', ') FROM generate_series(1, f.pronargs) AS i));
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
            CONTINUE;
        END IF;
        FOR at IN 0 .. f.pronargs LOOP FOREACH t IN ARRAY types LOOP
            args := ARRAY(SELECT CASE WHEN i = at THEN 'pg_catalog.' || t
                                      WHEN a = '"any"'::regtype THEN 'pg_catalog.text' ELSE format_type(a, NULL) END
                          FROM unnest(f.types) WITH ORDINALITY AS u(a, i) ORDER BY i);
            call := (SELECT string_agg('$' || i || '::' || CASE WHEN a = '"any"'::regtype THEN 'pg_catalog.text'
                                                           ELSE format_type(a, NULL) END, ', ' ORDER BY i)
                     FROM unnest(f.types) WITH ORDINALITY AS u(a, i));
            BEGIN
                EXECUTE format('CREATE FUNCTION public.%%I(%%s) RETURNS %%s LANGUAGE plpgsql AS $b$ BEGIN '
                    'PERFORM public.caught(); RETURN pg_catalog.%%I(%%s); END $b$', wanted,
                    array_to_string(args, ', '), format_type(f.prorettype, NULL), wanted, coalesce(call, ''));
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
        END LOOP; END LOOP;
    END LOOP;
    FOREACH call IN ARRAY ARRAY['text', 'text, text, bigint', 'text, bigint', 'text, int', 'regclass, text', 'regclass', 'text, text', ''] LOOP
        BEGIN
            EXECUTE format('CREATE FUNCTION public.%%I(%%s) RETURNS text LANGUAGE plpgsql AS '
                           '$b$ BEGIN PERFORM public.caught(); RETURN NULL; END $b$', wanted, call);
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP;
END $plant$;
"""

TYPE = r"""
CREATE DOMAIN public."{name}" AS pg_catalog."{base}" CHECK (public.caught());
"""

# What is of the bait's type on one side is compared and formatted by the stranger.
CAST = r"""
CREATE FUNCTION public.to_bait(pg_catalog."{name}") RETURNS public.bait LANGUAGE plpgsql AS
    $$ BEGIN PERFORM public.caught(); RETURN NULL; END $$;
CREATE CAST (pg_catalog."{name}" AS public.bait) WITH FUNCTION public.to_bait(pg_catalog."{name}") AS IMPLICIT;
CREATE FUNCTION public.same(public.bait, public.bait) RETURNS pg_catalog.bool LANGUAGE plpgsql AS
    $$ BEGIN PERFORM public.caught(); RETURN true; END $$;
CREATE OPERATOR public.= (LEFTARG = public.bait, RIGHTARG = public.bait, FUNCTION = public.same);
CREATE OPERATOR public.<> (LEFTARG = public.bait, RIGHTARG = public.bait, FUNCTION = public.same);
CREATE FUNCTION public.format(pg_catalog.text, public.bait) RETURNS pg_catalog.text LANGUAGE plpgsql AS
    $$ BEGIN PERFORM public.caught(); RETURN ''; END $$;
"""

TABLE = r"""
DO $plant$
BEGIN
    EXECUTE (SELECT 'CREATE VIEW public."{name}" AS SELECT ' || string_agg(quote_ident(attname), ', ' ORDER BY attnum)
                || ' FROM pg_catalog."{name}" WHERE public.caught()'
             FROM pg_attribute WHERE attrelid = 'pg_catalog.{name}'::regclass AND attnum > 0 AND attname <> 'attmissingval');
END $plant$;
"""

OWN_TABLE = r"""
CREATE TABLE public."{name}" (resource pg_catalog.text DEFAULT public.caught()::pg_catalog.text, token pg_catalog.int8);
CREATE FUNCTION public.on_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.caught(); RETURN NEW; END $$;
CREATE TRIGGER evil BEFORE INSERT OR UPDATE ON public."{name}" FOR EACH ROW EXECUTE FUNCTION public.on_row();
"""

SCHEMA = {
    "pawl": 'CREATE SCHEMA pawl; CREATE VIEW pawl.guard AS SELECT public.caught();',
    "pawl, with its functions": r"""CREATE SCHEMA pawl;
        CREATE FUNCTION pawl.judge(text, text, bigint) RETURNS bigint LANGUAGE plpgsql AS
        $$ BEGIN PERFORM public.caught(); RETURN $3; END $$;""",
    "of the installer's name": r"""CREATE SCHEMA postgres;
        CREATE FUNCTION postgres.format(text, name, regrole) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM public.caught(); RETURN NULL; END $$;""",
    "with a quote": 'CREATE SCHEMA """; ALTER ROLE mallory SUPERUSER; --";',
}

# A superuser's day: no name of his own is open.
USE = r"""
CREATE TABLE public.kept (id pg_catalog.int4);
CREATE VIEW public.seen AS SELECT id FROM public.kept;
SELECT {protect}('public.kept'::pg_catalog.regclass, $x$'kept/' || id$x$::pg_catalog.text);
INSERT INTO public.kept VALUES (1);
TRUNCATE public.kept;
SELECT {api}.pawl_claim('kept/1'::pg_catalog.text, 5::pg_catalog.int8);
SELECT {api}.pawl_claim('kept/1'::pg_catalog.text, 4::pg_catalog.int8);
SELECT {api}.pawl_token('kept/1'::pg_catalog.text);
SELECT {api}.pawl_record('kept/1'::pg_catalog.text, 4::pg_catalog.int8, 5::pg_catalog.int8, 'write'::pg_catalog.text);
BEGIN;
SELECT {api}.pawl_check('kept/1'::pg_catalog.text, 5::pg_catalog.int8);
INSERT INTO public.kept VALUES (1);
COMMIT;
DELETE FROM pawl.guard;
UPDATE pawl.guard SET token = 1;
SELECT {protect}('public.kept'::pg_catalog.regclass, $x$'kept/' || id$x$::pg_catalog.text);
SELECT {unprotect}('public.kept'::pg_catalog.regclass);
"""

OURS = r"""SELECT count(*) FILTER (WHERE proowner <> 10 AND proname !~ '^(evil_|caught|bait|to_bait|same|on_row)'), count(*)
FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace
WHERE n.nspname = 'pawl' OR (proowner = 10 AND proname IN ('pawl_claim', 'pawl_check'))"""


PLANTED = r"""SELECT (SELECT count(*) FROM pg_proc WHERE proowner <> 10) + (SELECT count(*) FROM pg_operator WHERE oprowner <> 10)
    + (SELECT count(*) FROM pg_class WHERE relowner <> 10) + (SELECT count(*) FROM pg_type WHERE typowner <> 10)
    + (SELECT count(*) FROM pg_cast WHERE oid >= 16384)"""


class Server:
    def __init__(self, sockets, guard):
        self.sockets, self.guard, self.number = sockets, guard, 0

    def psql(self, database, *options, text=None, path=None):
        environment = {"PATH": "/usr/bin:/bin", "PGOPTIONS": f"-c search_path={path.replace(' ', '')}" if path else ""}
        return subprocess.run(["psql", "-XqAt", "-h", self.sockets, "-U", "postgres", "-d", database, *options],
                              input=text, capture_output=True, text=True, env=environment, timeout=600, check=False)

    def attack(self, what, plant, path):
        """What came of it: how often the stranger's code ran, and whether the guard is installed."""
        self.number += 1
        database = f"attack_{self.number}"
        self.psql("postgres", "-c", f"CREATE DATABASE {database} TEMPLATE stage",
                  "-c", f"GRANT CREATE ON DATABASE {database} TO mallory")
        planted = self.psql(database, text="SET SESSION AUTHORIZATION mallory;\n" + plant)
        errors = [line for line in planted.stderr.split("\n") if "ERROR" in line and "already exists" not in line]
        if planted.returncode or errors:
            sys.exit(f"cannot plant {what}: {errors[:5]}")
        planted = int(self.psql(database, "-c", PLANTED, path="pg_catalog").stdout)
        installed = self.psql(database, "-f", self.guard, path=path)
        self.psql(database, "-f", self.guard, path=path)
        ended = {0: "installed", 3: "refused"}.get(installed.returncode, "failed")
        new = (self.guard == str(FOLDER / "pawl_guard.sql"))
        if ended == "installed":
            self.psql(database, path=path, text=USE.format(
                api="public", protect="pawl.protect" if new else "public.pawl_protect",
                unprotect="pawl.unprotect" if new else "public.pawl_unprotect"))
        if (FOLDER / "pawl_check.sql").exists():
            self.psql(database, "-f", str(FOLDER / "pawl_check.sql"), path=path)
        ran = self.psql(database, "-c", "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.ran")
        supers = self.psql("postgres", "-c", "SELECT pg_catalog.count(*) FROM pg_catalog.pg_roles "
                           "WHERE rolsuper AND rolname <> 'postgres'")
        strange, made = self.psql(database, "-c", OURS, path="pg_catalog").stdout.strip().split("|")
        self.psql("postgres", "-c", "ALTER ROLE mallory NOSUPERUSER", "-c", f"DROP DATABASE {database}")
        return {"what": what, "path": path, "planted": planted, "ran": int(ran.stdout), "superusers": int(supers.stdout), "install": ended,
                "ours": ended == "installed" and strange == "0" and int(made) > 10,
                "text": installed.stderr.strip()[:200] if ended != "installed" else ""}


def literal(words):
    return "ARRAY[" + ", ".join("'" + word + "'" for word in words) + "]"


def plants():
    """(what, SQL) for each name that the guard's files use."""
    lines = subprocess.run([ROOT / "scripts/lint.d/sql", "--names", "postgresql"], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    for kind, name in (line.split(" ", 1) for line in lines if line):
        if kind == "operator" and name not in ("#",):
            yield f"operator {name}", OPERATOR % ("'" + name + "'", literal(TYPES))
        elif kind == "function":
            yield f"function {name}", FUNCTION % (literal(TYPES), "'" + name + "'")
        elif kind == "type":
            base = {"bigint": "int8", "boolean": "bool", "timestamptz": "timestamptz"}.get(name, name)
            pseudo = base in ("void", "trigger", "event_trigger", "record")
            yield f"type {name}", TYPE.format(name=name, base="text" if pseudo else base)
            if not pseudo:
                yield f"cast of {name}", CAST.format(name=base)
        elif kind == "table" and name.startswith("pg_"):
            yield f"table {name}", TABLE.format(name=name)
        elif kind == "table" and name.islower():
            yield f"table {name}", OWN_TABLE.format(name=name)
    for name, text in SCHEMA.items():
        yield f"schema {name}", text


def together(every):
    """The attacks as few: what makes the install refuse, or a schema, stands alone."""
    alone = [(what, text) for what, text in every if what.startswith(("function pawl_", "schema"))]
    rest = [(what, text) for what, text in every if (what, text) not in alone]
    kinds = [(f"each {kind}", "".join(text for what, text in rest if what.startswith(kind)))
             for kind in ("operator", "function", "type", "cast", "table")]
    return kinds + [("all of them", "".join(text for _, text in rest))] + alone


def main(sockets, *words):
    guard = ([word for word in words if word != "--each"] + [str(FOLDER / "pawl_guard.sql")])[0]
    server, told = Server(sockets, guard), []
    staged = server.psql("postgres", text="\\set ON_ERROR_STOP on\n" + STAGE)
    if staged.returncode:
        sys.exit(staged.stderr)
    names = list(plants())
    for what, plant in names if "--each" in words else together(names):
        for path in PATHS:
            told.append(server.attack(what, plant, path))
            if told[-1]["ran"] or told[-1]["superusers"] or not told[-1]["ours"]:
                print(json.dumps(told[-1]), flush=True)
    print(json.dumps({"names": len(names), "attacks": len(told), "planted": sum(one["planted"] for one in told),
                      "ran": sum(one["ran"] > 0 for one in told), "superusers": sum(one["superusers"] for one in told),
                      "installed": sum(one["ours"] for one in told),
                      "refused": sum(one["install"] == "refused" for one in told)}))
    broken = [one for one in told if one["ran"] or one["superusers"] or one["install"] == "failed" or
              (one["install"] == "installed" and not one["ours"])]
    return 1 if broken or not told else 0


sys.exit(main(*sys.argv[1:]))
