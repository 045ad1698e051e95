"""Answers of a server that lies, or that nobody has to believe: all clients do the same with them.

hostile.json has a row for each answer: its bytes as characters of Latin-1, and the kind of error
that each client makes of it ("or": libraries of HTTP differ). usage: test_hostile.py PAWL HOSTILE_CLIENT"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import traceback
import unittest

from python_service import Listener, pawl, read_request

HERE = pathlib.Path(__file__).resolve().parent
PAWL, HOSTILE_CLIENT = sys.argv[1:3] if len(sys.argv) > 2 else (None, None)
ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
KINDS = {pawl.Held: "held", pawl.Invalid: "invalid", pawl.LockLost: "lost",
         pawl.NewGrant: "new-grant", pawl.ProtocolError: "protocol", pawl.Refused: "refused",
         pawl.Unavailable: "unavailable"}
CALL_TIMEOUT = 1.5  # also of the programs
FINE = ('{"token": 1, "ttl_ms": 5000, "validity_ms": 4900, "served_ms": 0}', 201)


def text_of(body) -> str:
    if isinstance(body, str):
        return body
    if "repeat" in body:
        return body["repeat"][0] * body["repeat"][1]
    before, part, count, end, after = body["around"]
    return before + part * count + end * count + after


CASES = json.loads((HERE / "hostile.json").read_text())
BY_NAME = {case["name"]: case for case in CASES}


MUTATIONS = 250
PARTS = [b"-", b"0", b"9" * 20, b".5", b"e5", b"null", b"true", b'"', b"\\u001b", b"\\ud800", b"{", b"}",
         b"[", b",", b"\x1b", b"\xc2\x9b", b"\xe2\x80\xae", b"\xff", b"\x00", b"9007199254740992", b" "]
SEEDS = [(text.encode(), status) for text, status in (
    ('{"resource": "a", "held": true, "token": 5, "owner": "b", "remaining_ms": 5}', 200),
    ('{"resource": "a", "held": false}', 200),
    FINE,
    ('{"resource": "a", "token": 9007199254740991, "ttl_ms": 4000, "validity_ms": 3900, '
     '"served_ms": 0, "masters": {"granted": 1, "total": 1}}', 200),
    ('{"type": "urn:pawl:held", "detail": "held", "resource": "a", "owner": "b", '
     '"retry_after_ms": 500}', 409),
    ('{"type": "urn:pawl:lock-broken", "detail": "broken", "resource": "a", "by": "op"}', 409),
    ('{"type": "urn:pawl:not-allowed", "detail": "no", "key": "k", "prefix": "p"}', 403))]


def mutated(number: int):
    """The answer @number: a good one with a few bytes changed, always the same."""
    draw = random.Random(number)
    text, status = draw.choice(SEEDS)
    call = "watch" if b"held\": " in text else "acquire"
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text) + 1)
        how = draw.randrange(4)
        if how == 0:
            text = text[:at] + draw.choice(PARTS) + text[at:]
        elif how == 1:
            text = text[:at] + text[at + draw.randint(1, 8):]
        elif how == 2:
            text = text[:at] + bytes([draw.randrange(256)]) + text[at + 1:]
        else:
            text = text[:at] + draw.choice(PARTS) + text[at + draw.randint(1, 4):]
    return {"name": f"mutated-{number}", "call": call, "body": text.decode("latin-1"),
            "status": status}


MUTATED = [mutated(number) for number in range(MUTATIONS)]
BY_NAME.update((case["name"], case) for case in MUTATED)


class Server(Listener):
    """Answers the bytes of the case whose name is at the end of the path."""

    def __init__(self):
        super().__init__()
        self.url = f"http://{self.address}"

    def serve(self, connection):
        head, _ = read_request(connection)
        connection.sendall(self.bytes_of(*head.decode().split()[:2]))

    def bytes_of(self, method, path) -> bytes:
        case = BY_NAME.get(path.rsplit("/", 1)[-1], CASES[0])
        if method == "DELETE":
            body, status = '{"released": true}', 200
        elif case["call"] == "extend" and method == "POST":
            body, status = FINE
        elif "head" in case:
            return case["head"].encode("latin-1")
        else:
            body, status = text_of(case["body"]), case["status"]
        body = body.encode("latin-1")
        return (f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def python_case(url, case):
    """The kind, and all that a program may show of the error."""
    try:
        client = pawl.Client(url, call_timeout=CALL_TIMEOUT)
        if case["call"] == "watch":
            state = next(client.watch(case["name"], wait=0), None)
            return ("unchanged", "") if state is None else ("granted", str(state.owner))
        lock = client.acquire(case["name"], ttl=5, wait=0)
        if case["call"] == "extend":
            lock.extend()
        return "granted", ""
    except pawl.Error as error:
        shown = "".join(traceback.format_exception_only(error)) + repr(error) + error.type
        shown += "".join(traceback.format_exception(error))
        for member in ("name", "owner"):
            shown += str(getattr(error, member, ""))
        return KINDS.get(type(error), type(error).__name__), shown
    except Exception:
        return "another error", traceback.format_exc()


def words_of(cases):
    return [word for case in cases for word in (case["call"], case["name"])]


def program_cases(command):
    """What a program printed of each case, by its name."""
    parts = subprocess.run(command, capture_output=True, timeout=120, check=False, cwd=HERE)
    fields = parts.stdout.decode("utf-8", "replace").split("\0")
    return {fields[i]: tuple(fields[i + 1:i + 3]) for i in range(0, len(fields) - 2, 3)}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.url = cls.server.url

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def expect(self, client, results):
        wrong = []
        for case in CASES:
            kind, shown = results.get(case["name"], ("no answer of the program", ""))
            if kind not in case["kind"].split(" or "):
                wrong.append(f"{client}, {case['name']}: {kind}, not {case['kind']}: {shown[-300:]!r}")
            if ODD.search(shown) or "hunter2" in shown:
                wrong.append(f"{client}, {case['name']}: shows {shown!r}")
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_python(self):
        self.expect("Python", {case["name"]: python_case(self.url, case) for case in CASES})

    def test_node(self):
        self.expect("Node", program_cases(["node", "hostile_client.mjs", self.url]
                                          + words_of(CASES)))

    def test_c(self):
        self.expect("C", program_cases([HOSTILE_CLIENT, self.url] + words_of(CASES)))

    def test_all_do_the_same_with_mutated_answers(self):
        words = words_of(MUTATED)
        told = {"Python": {case["name"]: python_case(self.url, case) for case in MUTATED},
                "Node": program_cases(["node", "hostile_client.mjs", self.url] + words),
                "C": program_cases([HOSTILE_CLIENT, self.url] + words)}
        wrong = []
        for case in MUTATED:
            name = case["name"]
            results = {client: told[client].get(name, ("none", "")) for client in told}
            kinds = {kind for kind, _ in results.values()}
            shown = any(ODD.search(shown) for _, shown in results.values())
            if len(kinds) > 1 or shown or not kinds <= {"granted", "unchanged", *KINDS.values()}:
                wrong.append(f"{name}: {case['status']} {case['body']!r}: {results}")
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def test_command_line_shows_no_control_character(self):
        for case in CASES:
            if not case["name"].startswith(("text-", "head-")) or case["kind"] == "unavailable":
                continue
            for words in (["acquire", case["name"], "--nonblock", "--ttl=5s"],
                          ["show", case["name"]], ["watch", "--until=held", case["name"]]):
                if (case["call"] == "watch") != (words[0] == "watch"):
                    continue
                done = subprocess.run([PAWL, "--server", self.url] + words, capture_output=True,
                                      timeout=60, check=False)
                shown = (done.stdout + done.stderr).decode("utf-8", "replace")
                self.assertIsNone(ODD.search(shown), f"{words}: {shown!r}")
                expected = (0,) if words[0] == "watch" else (1, 123, 124, 125)
                self.assertIn(done.returncode, expected, (words, done))


class Urls(unittest.TestCase):
    """No password of a URL is shown, also of one that is wrong."""

    URLS = ("http://user:hunter2@127.0.0.1:1", "https://user:hunter2@[::1", "user:hunter2@host",
            "http://user:hun/ter2hunter2@host", "ftp://user:hunter2@host:x/",
            "http://127.0.0.1:hunter2@x:99999")

    def expect_refused(self, url, shown, kind):
        self.assertNotIn("hunter2", shown, url)
        self.assertEqual("invalid", kind, f"{url}: {shown}")

    def test_python(self):
        for url in self.URLS:
            self.expect_refused(url, *reversed(python_case(url, CASES[0])))

    def test_node(self):
        for url in self.URLS:
            kind, shown = program_cases(["node", "hostile_client.mjs", url, "acquire", "x"])["x"]
            self.expect_refused(url, shown, kind)

    def test_c_and_command_line(self):
        for url in self.URLS:
            for words, env in ((["--server", url], {}), ([], {"PAWL_SERVER": url})):
                done = subprocess.run([PAWL] + words + ["fleet"], capture_output=True, timeout=60,
                                      check=False, env={**os.environ, **env})
                self.assertNotIn(b"hunter2", done.stdout + done.stderr)
                self.assertEqual(done.returncode, 125, done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
