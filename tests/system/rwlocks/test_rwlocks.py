"""Readers and writers of one name at two pawlds, over a guarded SQLite. Some pause past their leases,
masters lose all they know. Readers never see a half of a write, and writers lose nothing.

usage: test_rwlocks.py [SECONDS]    without it a short run, in seconds"""

import collections
import http.client
import json
import os
import sqlite3
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "tests/system/client"))
from python_load import Player, play, wipe  # noqa: E402
from python_service import PATIENCE, Fleet, Service  # noqa: E402

SECONDS = float(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 8.0
EXTENSION = os.path.join(os.environ.get("PAWL_BUILD", os.path.join(ROOT, "build")), "storage/pawl")
READERS = 40
WRITERS = 4
TTL_MS = 400
WORK_S = 0.01
PAUSES = {"read": 0.04, "write": 0.15}  # of the holders: past the lease
WAIT_MS = 10000
BUSY_MS = 5000
WRITER_MOST_MS = 2000  # behind the readers before it, on a machine under load

Grant = collections.namedtuple("Grant", "mode token asked granted end")


class Database:
    """Two rows, which a writer makes equal. One connection a thread."""

    def __init__(self, path, guarded):
        self.guarded = guarded
        self.connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None,
                                          check_same_thread=False)
        self.connection.enable_load_extension(True)
        self.connection.load_extension(EXTENSION)

    def make(self):
        self.run("PRAGMA journal_mode = WAL")
        self.run("SELECT pawl_install()")
        self.run("CREATE TABLE pair (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
        self.run("INSERT INTO pair VALUES (0, 0), (1, 0)")
        return self

    def run(self, text, *values):
        return self.connection.execute(text, values).fetchall()

    def row(self, i):
        return self.run("SELECT value FROM pair WHERE id = ?", i)[0][0]

    def act(self, guard, token, act):
        """What @act returns, in a transaction after a call of the guard. None: refused."""
        self.run("BEGIN IMMEDIATE")
        try:
            if self.guarded:
                self.run(f"SELECT {guard}('pair', ?)", token)
            value = act()
            self.run("COMMIT")
            return value
        except sqlite3.Error as error:
            if self.connection.in_transaction:
                self.run("ROLLBACK")
            if "stale-token" not in str(error):
                raise
            return None


class Holder(Player):
    """One client: reads or writes under the lock, at either server."""

    def __init__(self, services, number, mode, path, guarded):
        super().__init__(services, number)
        self.mode = mode
        self.database = Database(path, guarded)
        self.counts = collections.Counter()
        self.grants = []

    def work(self):
        if self.random.random() < PAUSES[self.mode]:
            time.sleep(TTL_MS / 1000 + self.random.uniform(0, 0.3))
        else:
            time.sleep(self.random.uniform(0, WORK_S))

    def write(self, token):
        database = self.database
        value = database.act("pawl_claim", token, lambda: database.row(0))
        if value is None:
            return False
        self.work()
        done = database.act("pawl_check", token, lambda: [
            database.run("UPDATE pair SET value = ? WHERE id = ?", value + 1, i) for i in (0, 1)])
        self.counts["written"] += done is not None
        return done is not None

    def read(self, token):
        seen = []
        for guard, row in (("pawl_claim_read", 0), ("pawl_check_read", 1), ("pawl_check_read", 0)):
            value = self.database.act(guard, token, lambda: self.database.row(row))
            if value is None:
                return False
            seen.append(value)
            self.work()
        self.counts["read"] += 1
        self.counts["halves"] += len(set(seen)) > 1
        return True

    def turn(self):
        asked = time.monotonic()
        status, grant = self.call(self.home, "POST", "/v1/rwlocks/pair",
                                  {"mode": self.mode, "ttl_ms": TTL_MS, "wait_ms": WAIT_MS})
        granted = time.monotonic()
        if status not in (200, 201):
            self.counts[grant["type"]] += 1
            time.sleep(0.01)
            return
        until = asked + (grant["served_ms"] + grant["validity_ms"]) / 1000
        self.work()
        if not (self.write if self.mode == "write" else self.read)(grant["token"]):
            self.counts["refused"] += 1
        end = min(time.monotonic(), until)
        self.grants.append(Grant(self.mode, grant["token"], asked, granted, end))
        seat = f"?seat={grant['seat']}" if self.mode == "read" else ""
        self.call(self.home, "DELETE", "/v1/rwlocks/pair" + seat, Lock_Id=grant["lock_id"])

    def run(self, end):
        super().run(end)
        self.database.connection.close()


def overlaps(grants):
    """How often a writer held beside another holder, within their validities."""
    edges = sorted([(grant.granted, 1, grant.mode) for grant in grants] +
                   [(grant.end, 0, grant.mode) for grant in grants])
    held, found = collections.Counter(), 0
    for _, begins, mode in edges:
        held[mode] += 1 if begins else -1
        found += begins and held["write"] > 0 and sum(held.values()) > 1
    return found


def out_of_order(grants):
    """How many have a token that is no higher than one of another mode that was returned before
    they asked."""
    wrong = 0
    returned = sorted(grants, key=lambda grant: grant.granted)
    highest, at = collections.Counter(), 0
    for grant in sorted(grants, key=lambda grant: grant.asked):
        while returned[at].granted < grant.asked:
            highest[returned[at].mode] = max(highest[returned[at].mode], returned[at].token)
            at += 1
        other = max(highest.values(), default=0) if grant.mode == "write" else highest["write"]
        wrong += grant.token <= other
    return wrong


def idle_before_writers(grants):
    """Milliseconds from when the last holder before a writer ended, or the writer asked, to its
    grant."""
    spans, ended = [], 0
    for grant in sorted(grants, key=lambda grant: grant.granted):
        if grant.mode == "write":
            spans.append(1000 * (grant.granted - max(grant.asked, min(ended, grant.granted))))
        ended = max(ended, grant.end)
    return sorted(spans)


class ReadersAndWriters(unittest.TestCase):
    def setUp(self):
        self.fleet = Fleet()
        self.addCleanup(self.fleet.end)
        self.services = [Service(self.fleet) for _ in range(2)]
        for service in self.services:
            self.addCleanup(service.process.kill)

    def race(self, folder, guarded, seconds, acts=()):
        path = os.path.join(folder, f"{guarded}.db")
        database = Database(path, guarded).make()
        holders = [Holder(self.services, number, "write" if number < WRITERS else "read", path,
                          guarded) for number in range(WRITERS + READERS)]
        play(holders, seconds, acts)
        counts = {mode: sum((each.counts for each in holders if each.mode == mode),
                            collections.Counter()) for mode in ("read", "write")}
        lost = counts["write"]["written"] - database.row(0)
        database.connection.close()
        return counts, lost, [grant for holder in holders for grant in holder.grants]

    def test_lose_nothing_and_see_no_half(self):
        wipes = [lambda i=i: wipe(self.fleet.ports[i]) for i in range(len(self.fleet.ports))]
        with tempfile.TemporaryDirectory(prefix="pawl-test-") as folder:
            counts, lost, grants = self.race(folder, True, SECONDS, wipes)
            control, control_lost, _ = self.race(folder, False, min(SECONDS / 2, 8))
        idle = idle_before_writers(grants)
        print(f"guarded: {dict(counts['read'])} of readers, {dict(counts['write'])} of writers, lost "
              f"{lost}; a writer waits behind the last holder p50 {idle[len(idle) // 2]:.1f} ms, "
              f"most {idle[-1]:.1f} ms ({len(idle)}); unguarded: lost {control_lost}, halves "
              f"{control['read']['halves']}", flush=True)
        self.assertEqual(lost, 0)
        self.assertEqual(counts["read"]["halves"], 0)
        self.assertGreater(counts["read"]["refused"] + counts["write"]["refused"], 0)
        self.assertGreater(counts["read"]["read"], 0)
        self.assertGreater(counts["write"]["written"], 0)
        self.assertGreater(control_lost + control["read"]["halves"], 0)
        self.assertEqual(overlaps(grants), 0)
        self.assertEqual(out_of_order(grants), 0)
        self.assertLess(idle[-1], WRITER_MOST_MS)

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.services[0].port,
                                                timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json", **headers})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def later(self, *request):
        """Asks in a thread. The list gets the answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(*request)))
        thread.start()
        self.addCleanup(thread.join)
        return answers

    def test_writer_that_waits_in_steps_is_overtaken_by_nobody(self):
        path = "/v1/rwlocks/steps"
        writer = {"mode": "write", "lock_id": "w" * 24, "ttl_ms": 20000}
        reader = self.ask("POST", path, {"mode": "read", "ttl_ms": 60000, "wait_ms": WAIT_MS})
        self.assertEqual(reader.get("mode"), "read", reader)
        step = self.ask("POST", path, {**writer, "wait_ms": 300})
        self.assertEqual(step["type"], "urn:pawl:wait-timeout")
        others = [self.later("POST", path, {"mode": mode, "wait_ms": 1500, "ttl_ms": 60000})
                  for mode in ("read", "write")]
        time.sleep(0.3)
        granted = self.later("POST", path, {**writer, "wait_ms": int(1000 * PATIENCE)})
        time.sleep(0.3)
        self.assertEqual((granted, others), ([], [[], []]))
        seat = f"/v1/locks/{reader['resource'].replace('#', '%23')}"
        self.assertTrue(self.ask("DELETE", seat, **{"Lock-Id": reader["lock_id"]})["released"])
        time.sleep(2)
        self.assertEqual(granted[0].get("mode"), "write")
        self.assertEqual([other[0]["type"] for other in others], ["urn:pawl:wait-timeout"] * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
