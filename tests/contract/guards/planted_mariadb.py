#!/usr/bin/env python3
"""Attacks the install of the guard for MariaDB: a stranger, who may create tables, views, triggers and routines
in the database, plants an object for each name that the guard's SQL uses; then root installs the guard, and uses
it. The stranger must gain no right, and what is installed must be root's.

usage: tests/contract/guards/planted_mariadb.py SOCKET [GUARD.sql]
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "storage/guard/mariadb"

# It runs with the rights of whoever calls, marks a table that no rollback touches, and takes what it can.
BODY = """BEGIN
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    IF CURRENT_USER() NOT LIKE 'mallory@%' THEN
        INSERT INTO attacked.ran (who) VALUES (CURRENT_USER());
        {grant}
    END IF;
    {end}
END"""
TAKES = "GRANT ALL ON *.* TO mallory@localhost WITH GRANT OPTION;"


def function(name, arguments, security="INVOKER"):
    return (f"CREATE FUNCTION {name} ({arguments}) RETURNS LONGTEXT MODIFIES SQL DATA SQL SECURITY {security} "
            + BODY.format(grant="", end="RETURN 1;") + " //")


def procedure(name, arguments, security="INVOKER"):
    return (f"CREATE PROCEDURE {name} ({arguments}) MODIFIES SQL DATA SQL SECURITY {security} "
            + BODY.format(grant=TAKES, end="") + " //")


GUARD_TABLE = "CREATE TABLE pawl_guard (resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY," \
              " token BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991), writes BIGINT UNSIGNED NOT NULL" \
              "{more}) ENGINE = InnoDB //"

TABLES = {
    "table pawl_guard of MyISAM": GUARD_TABLE.format(more="").replace("InnoDB", "MyISAM"),
    "table pawl_guard without its key": GUARD_TABLE.format(more="").replace(" PRIMARY KEY", ""),
    "table pawl_guard without bounds": GUARD_TABLE.format(more="").replace("CHECK (token BETWEEN 1 AND 9007199254740991)", ""),
    "table pawl_guard that sorts without case": GUARD_TABLE.format(more="").replace("ascii_bin", "ascii_general_ci"),
    "table pawl_guard that a foreign key empties": "CREATE TABLE bait (resource VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin "
        "PRIMARY KEY) ENGINE = InnoDB //" + GUARD_TABLE.format(
            more=", FOREIGN KEY (resource) REFERENCES bait (resource) ON DELETE CASCADE"),
    "table pawl_guard with a trigger": GUARD_TABLE.format(more="") + "CREATE TRIGGER evil BEFORE UPDATE ON pawl_guard "
        "FOR EACH ROW SET NEW.token = 1 //",
    "view pawl_guard": function("bait", "") + "CREATE SQL SECURITY INVOKER VIEW pawl_guard AS SELECT 'a' AS resource, "
        "bait() AS token, 1 AS writes //",
    "view pawl_protected": function("bait", "") + "CREATE SQL SECURITY INVOKER VIEW pawl_protected AS "
        "SELECT bait() AS table_name, bait() AS resource, bait() AS expression //",
    "view pawl_rejection": function("bait", "") + "CREATE SQL SECURITY INVOKER VIEW pawl_rejection AS SELECT bait() AS id //",
    "table of each of information_schema": "".join(
        f"CREATE TABLE {name} (TABLE_SCHEMA TEXT, TABLE_NAME TEXT, ENGINE TEXT) //"
        for name in ("TABLES", "COLUMNS", "ROUTINES", "TRIGGERS")),
}

USE = """CREATE TABLE kept (id INTEGER PRIMARY KEY) ENGINE = InnoDB;
CALL pawl_protect('kept', 'kept/{id}');
INSERT INTO kept VALUES (1);
CALL pawl_claim('kept/1', 5);
CALL pawl_claim('kept/1', 4);
SELECT pawl_token('kept/1');
CALL pawl_record('kept/1', 4, 5, 'write');
START TRANSACTION;
CALL pawl_check('kept/1', 5);
INSERT INTO kept VALUES (1);
COMMIT;
CALL pawl_unprotect('kept');
"""


class Server:
    def __init__(self, socket, guard):
        self.socket, self.guard = socket, guard

    def run(self, text, *options, user="root", database="shop"):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", f"--user={user}", "-N", *options,
                               database], input=text, capture_output=True, text=True, timeout=60, check=False)

    def attack(self, what, plant, rights):
        self.run("DROP DATABASE IF EXISTS shop; CREATE DATABASE shop; DROP DATABASE IF EXISTS attacked; "
                 "CREATE DATABASE attacked; CREATE TABLE attacked.ran (who TEXT) ENGINE = MyISAM; "
                 "DROP USER IF EXISTS mallory@localhost; CREATE USER mallory@localhost; "
                 f"GRANT {rights} ON shop.* TO mallory@localhost", database="mysql")
        planted = self.run("DELIMITER //\n" + plant.replace("//", "\n//\n"), user="mallory")
        if planted.returncode:
            sys.exit(f"cannot plant {what}: {planted.stderr}")
        installed = self.run(Path(self.guard).read_text())
        ended = "installed" if installed.returncode == 0 else \
            "refused" if "taken: " in installed.stderr or "unsafe: " in installed.stderr else "failed"
        if ended == "installed":
            self.run(USE, "--force")
        if (FOLDER / "pawl_check.sql").exists():
            self.run((FOLDER / "pawl_check.sql").read_text())
        # What she may do once it is installed, if she may replace a part of it.
        self.run("DELIMITER //\n" + procedure("pawl_need_resource", "p LONGBLOB").replace("CREATE", "CREATE OR REPLACE"),
                 user="mallory")
        if ended == "installed":
            self.run("CALL pawl_claim('kept/2', 1);", "--force")
        ran = self.run("SELECT COUNT(*) FROM attacked.ran").stdout.strip()
        rights_now = self.run("SHOW GRANTS FOR mallory@localhost").stdout
        strange = self.run("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop' AND "
                           "ROUTINE_NAME IN ('pawl_claim', 'pawl_check', 'pawl_raise', 'pawl_admit', 'pawl_need_resource') "
                           "AND DEFINER <> 'root@localhost'").stdout.strip()
        return {"what": what, "ran": int(ran), "superusers": int("ON *.* TO `mallory`@`localhost` WITH" in rights_now),
                "install": ended, "ours": ended == "installed" and strange == "0",
                "text": installed.stderr.strip().split("\n")[-1][:200] if ended != "installed" else ""}


def plants():
    lines = subprocess.run([ROOT / "scripts/lint.d/sql", "--names", "mariadb"], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    some = "CREATE VIEW, CREATE, ALTER, DROP, INSERT, SELECT, REFERENCES, TRIGGER, CREATE ROUTINE, EXECUTE"
    for name in (line.split(" ")[1] for line in lines if line.startswith("function ")):
        for kind, make in (("function", function), ("procedure", procedure)):
            yield f"{kind} {name}", make(f"`{name}`", "a LONGTEXT"), some
    for name, text in TABLES.items():
        yield name, text, some
    yield "all rights on the database", function("`CONCAT`", "a TEXT"), "ALL"
    yield "the rights on routines", procedure("other", ""), "CREATE ROUTINE, ALTER ROUTINE, EXECUTE"


def main(socket, guard=str(FOLDER / "pawl_guard.sql")):
    server = Server(socket, guard)
    told = [server.attack(*plant) for plant in plants()]
    for one in told:
        if one["ran"] or one["superusers"] or not one["ours"]:
            print(json.dumps(one))
    print(json.dumps({"attacks": len(told), "ran": sum(one["ran"] > 0 for one in told),
                      "superusers": sum(one["superusers"] for one in told), "installed": sum(one["ours"] for one in told),
                      "refused": sum(one["install"] == "refused" for one in told)}))
    broken = [one for one in told if one["ran"] or one["superusers"] or one["install"] == "failed" or
              (one["install"] == "installed" and not one["ours"])]
    return 1 if broken or not told else 0


sys.exit(main(*sys.argv[1:]))
