"""A writer of a read-write lock is one holder: it is listed, shown and broken as one."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "tests/system/client"))
from python_service import PATIENCE, Fleet, Process, Service, is_ready, until  # noqa: E402

BIN = os.path.join(os.environ.get("PAWL_BUILD", os.path.join(ROOT, "build")), "bin")
TTL_MS = 60000
DEADLINE_MS = 2000  # of masters on a machine under load


class Patient(Service):
    def start(self):
        self.process = Process([os.path.join(BIN, "pawld"), "--listen", f"127.0.0.1:{self.port}",
                                "--workers", "1", "--master-deadline-ms", str(DEADLINE_MS),
                                *self.fleet.options()],
                               os.path.join(self.fleet.folder, "pawld.log"))
        until(lambda: is_ready(self.url), "pawld")


class Embedded(Patient):
    """Serves from a file in @folder."""

    def __init__(self, folder):
        self.folder = folder
        super().__init__(self)

    def options(self):
        return ["--data", os.path.join(self.folder, "locks")]


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.end)
        cls.service = Patient(cls.fleet)
        cls.addClassCleanup(cls.service.process.kill)

    def ask(self, method, path, body=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {name.replace("_", "-"): value for name, value in fields.items()})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        self.retry_after = response.headers["Retry-After"]
        return response.status, answer

    def take(self, name, mode, **more):
        status, grant = self.ask("POST", f"/v1/rwlocks/{name}", {"mode": mode, "ttl_ms": TTL_MS, **more})
        self.assertEqual(status, 201, grant)
        return grant


class Shown(Served):
    def listed(self, prefix):
        """All pages, of a few locks each."""
        locks, cursor = [], ""
        while True:
            more = f"&cursor={cursor}" if cursor else ""
            status, page = self.ask("GET", f"/v1/locks?limit=5&prefix={prefix}{more}")
            self.assertEqual(status, 200, page)
            locks += page["locks"]
            cursor = page["next_cursor"]
            if not cursor:
                return locks

    def pawl(self, *words):
        done = subprocess.run([os.path.join(BIN, "pawl"), "--server", f"http://127.0.0.1:{self.service.port}", *words],
                              capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def break_it(self, path, token):
        return self.ask("DELETE", f"{path}?force=true", If_Match=f'"{token}"')

    def expect_free(self, name):
        """Each seat and the gate, for another writer."""
        grant = self.take(name, "write")
        self.assertEqual(self.ask("DELETE", f"/v1/rwlocks/{name}", Lock_Id=grant["lock_id"])[1]["released"], True)

    def test_writer_is_listed_once(self):
        grant = self.take("once", "write", owner="w")
        locks = self.listed("once")
        self.assertEqual([(lock["resource"], lock["mode"], lock["token"], lock["owner"]) for lock in locks],
                         [("once#w", "write", grant["token"], "w")])

    def test_reader_is_listed_as_name_and_index(self):
        grant = self.take("reads", "read", owner="r")
        self.assertEqual([lock["resource"] for lock in self.listed("reads")], [f"reads#{grant['seat']}"])
        self.assertEqual(self.ask("GET", "/v1/locks/reads%23w")[1], {"resource": "reads#w", "held": False})

    def test_writer_is_shown_by_either_path(self):
        grant = self.take("shown", "write", owner="w", delay_ms=1000)
        shown = self.ask("GET", "/v1/locks/shown%23w")[1]
        shared = self.ask("GET", "/v1/rwlocks/shown")[1]
        for told in (shown, shared["writer"]):
            self.assertEqual((told["token"], told["owner"], told["delay_ms"]), (grant["token"], "w", 1000))
        self.assertEqual((shown["held"], shared["mode"], shared["readers"]), (True, "write", []))

    def test_writer_is_not_watched_by_its_gate(self):
        """A waiting writer has the gate, too, and the token of the gate is not that of the writer."""
        grant = self.take("gated", "write")
        for unless in ("free", grant["token"]):
            path = f"/v1/locks/gated%23w?unless={unless}"
            status, answer = self.ask("GET", f"{path}&wait_ms=1000")
            self.assertEqual((status, answer["type"]), (400, "urn:pawl:invalid"), answer)
            self.assertEqual(self.ask("GET", path)[1]["token"], grant["token"])
        code, text = self.pawl("watch", "--until", "free", "gated#w")
        self.assertEqual((code, "cannot watch the writer" in text), (125, True), text)

    def test_writer_is_broken_as_one(self):
        for path in ("/v1/rwlocks/broken", "/v1/locks/broken%23w"):
            grant = self.take("broken", "write")
            self.assertEqual(self.break_it(path, grant["token"] + 1)[0], 412)
            status, answer = self.break_it(path, grant["token"])
            self.assertEqual((status, answer["released"], answer["token"]), (200, True, grant["token"]))
            status, answer = self.ask("PATCH", "/v1/rwlocks/broken", {}, Lock_Id=grant["lock_id"],
                                      Fencing_Token=str(grant["token"]))
            self.assertEqual(answer["type"], "urn:pawl:lock-broken")
            self.expect_free("broken")
            status, answer = self.break_it(path, grant["token"])
            self.assertEqual((status, answer["released"]), (200, False))

    def test_reader_is_released_without_its_seat(self):
        mine = {"Lock_Id": self.take("whatever", "read")["lock_id"]}
        other = self.take("whatever", "read")
        for released in (True, False):
            status, answer = self.ask("DELETE", "/v1/rwlocks/whatever", **mine)
            self.assertEqual((status, answer["released"]), (200, released), answer)
            self.assertEqual(answer["mode"], "read" if released else "write")
            self.assertEqual([lock["resource"] for lock in self.listed("whatever")], [f"whatever#{other['seat']}"])

    def test_break_of_a_writer_leaves_readers_alone(self):
        grant = self.take("left", "read")
        status, answer = self.break_it("/v1/rwlocks/left", grant["token"])
        self.assertEqual((status, answer["released"]), (200, False))
        self.assertEqual(len(self.listed("left")), 1)

    def counted(self, *names):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return [next(int(line.split()[1]) for line in lines if line.startswith(name + " "))
                for name in names]

    def test_writer_counts_once(self):
        names = ("pawl_extensions_total", "pawl_locks_broken_total", "pawl_grants_delayed_total",
                 "pawl_releases_kept_total")
        before = self.counted(*names)
        grant = self.take("counted", "write", delay_ms=1000)
        self.ask("PATCH", "/v1/rwlocks/counted", {}, Lock_Id=grant["lock_id"],
                 Fencing_Token=str(grant["token"]))
        self.break_it("/v1/rwlocks/counted", grant["token"])
        lock = self.ask("POST", "/v1/locks/counted", {})[1]
        self.ask("DELETE", "/v1/locks/counted?keep_ms=100", Lock_Id=lock["lock_id"])
        self.assertEqual([now - then for now, then in zip(self.counted(*names), before)], [1, 1, 1, 1])

    def test_events_tell_of_a_writer_once(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        connection.request("GET", "/v1/events?prefix=told")
        stream = connection.getresponse()
        grant = self.take("told", "write")
        self.break_it("/v1/rwlocks/told", grant["token"])
        grant = self.take("told", "write")
        self.ask("DELETE", "/v1/rwlocks/told", Lock_Id=grant["lock_id"])
        self.ask("POST", "/v1/locks/told-last", {})
        kinds = []
        for line in iter(stream.readline, b""):
            if line.startswith(b"data: ") and b'"told' in line:
                kinds.append((json.loads(line[6:])["resource"], kind))
                if b"told-last" in line:
                    break
            elif line.startswith(b"event: "):
                kind = line[7:].strip().decode()
        connection.close()
        self.assertEqual(kinds, [("told", "granted"), ("told", "broken"), ("told", "granted"),
                                 ("told", "released"), ("told-last", "granted")])

    def test_break_needs_a_token(self):
        self.assertEqual(self.ask("DELETE", "/v1/rwlocks/none?force=true")[0], 428)
        self.assertEqual(self.ask("DELETE", "/v1/rwlocks/none?force=no")[0], 400)
        self.assertEqual(self.ask("DELETE", "/v1/rwlocks/none?force=true&seat=1")[0], 400)

    def test_command_line_knows_a_writer_as_one(self):
        grant = self.take("line", "write", owner="w")
        code, text = self.pawl("list", "line")
        self.assertEqual((code, text.count("line")), (0, 1), text)
        code, text = self.pawl("show", "line#w")
        self.assertIn(str(grant["token"]), text)
        code, text = self.pawl("break", "--yes", "line#w")
        self.assertEqual(code, 0, text)
        self.expect_free("line")

    def expect_one_writer(self, name):
        status, shown = self.ask("GET", f"/v1/rwlocks/{name}")
        self.assertEqual((status, shown["mode"], shown["readers"]), (200, "write", []), shown)
        self.assertEqual(self.ask("POST", f"/v1/rwlocks/{name}", {"mode": "read"})[0], 409)

    def test_seat_of_a_writer_is_not_released_alone(self):
        grant = self.take("half", "write")
        mine = {"Lock_Id": grant["lock_id"]}
        names = [each["resource"] for each in grant["grants"]]
        gate, third = names.index("half#w"), names.index("half#3")
        some = [names[gate], names[third]]
        calls = [{"method": "DELETE", "path": "/v1/locks/half%233", "lock_id": grant["lock_id"]}]
        refused = [
            [self.ask("DELETE", "/v1/locks/half%233", **mine)],
            [self.ask("DELETE", "/v1/locks/half%233?keep_ms=1000", **mine)],
            [self.ask("DELETE", "/v1/locks/half%23w", **mine)],
            [self.ask("DELETE", "/v1/rwlocks/half?seat=3", **mine)],
            self.each(self.ask("POST", "/v1/batch", {"requests": calls})),
            self.each(self.ask("DELETE", "/v1/locks", {"resources": some}, **mine)),
            self.each(self.ask("DELETE", "/v1/locks", {"resources": names[1:]}, **mine)),
        ]
        for answers in refused:
            for status, answer in answers:
                self.assertEqual((status, answer["type"]), (409, "urn:pawl:writers-seat"), answer)
        self.expect_one_writer("half")
        both = names + [self.take("other", "read")["resource"]]
        answers = self.each(self.ask("DELETE", "/v1/locks", {"resources": both}, **mine))
        released = [answer.get("released") for _, answer in answers]
        self.assertEqual(released, [True] * len(names) + [False])

    def test_seat_of_a_writer_is_not_broken_alone(self):
        grant = self.take("whole", "write", owner="w")
        token = self.ask("GET", "/v1/locks/whole%233")[1]["token"]
        status, answer = self.break_it("/v1/locks/whole%233", token)
        self.assertEqual((status, answer["type"]), (409, "urn:pawl:writers-seat"), answer)
        self.assertIn("/v1/rwlocks/{name}", answer["detail"])
        code, text = self.pawl("break", "--yes", "whole#3")
        self.assertEqual((code != 0, "/v1/rwlocks/{name}" in text), (True, True), text)
        self.expect_one_writer("whole")
        self.break_it("/v1/rwlocks/whole", grant["token"])
        self.expect_free("whole")
        reader = self.take("whole", "read")
        status, answer = self.break_it(f"/v1/locks/whole%23{reader['seat']}", reader["token"])
        self.assertEqual((status, answer["released"]), (200, True), answer)

    def each(self, batch):
        status, answer = batch
        self.assertEqual(status, 200, answer)
        return [(each["status"], each["body"]) for each in answer["responses"]]


class Unanswered(Served):
    """Masters of its own: a pawld may judge them silent after they have gone on."""

    def test_problem_of_a_part_keeps_its_retry_after(self):
        grant = self.take("later", "write")
        for process in self.fleet.processes[:2]:
            process.stop()
        try:
            status, answer = self.ask("DELETE", "/v1/rwlocks/later", Lock_Id=grant["lock_id"])
            self.assertEqual((status, self.retry_after), (503, "1"), answer)
        finally:
            for process in self.fleet.processes[:2]:
                process.go_on()


class InAFile(Served):
    """The same rule where the masters are a file."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pawl-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.service = Embedded(folder.name)
        cls.addClassCleanup(cls.service.process.kill)

    def test_seat_of_a_writer_is_not_released_alone(self):
        grant = self.take("half", "write")
        mine = {"Lock_Id": grant["lock_id"]}
        status, answer = self.ask("DELETE", "/v1/locks/half%233", **mine)
        self.assertEqual((status, answer["type"]), (409, "urn:pawl:writers-seat"), answer)
        self.assertEqual(self.ask("DELETE", "/v1/rwlocks/half", **mine)[1]["released"], True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
