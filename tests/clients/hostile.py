"""Answers of a server that lies, or that nobody has to believe: rows of the table that are made of hostile.json.

hostile.json has a row for each answer: its bytes as characters of Latin-1, and the kind of error that each client
makes of it ("or": libraries of HTTP differ). mutated() changes a few bytes of good answers: what one client makes of
them, the reference must make of them, too."""

import json
import pathlib
import random

from server import Answer, Server
from suite import ODD, Wrong

MUTATIONS = 250
TTL_MS = 5000
CALL_MS = 1500
SECRET = "hunter2"  # of a URL that a server names
OWN_ID = '"lock_id": "x"'  # in an answer of the table: the lock id of its request
FINE = '{"token": 1, "ttl_ms": 5000, "validity_ms": 4900, "served_ms": 0}'
CASES = json.loads((pathlib.Path(__file__).parent / "hostile.json").read_text())
PARTS = [b"-", b"0", b"9" * 20, b".5", b"e5", b"null", b"true", b'"', b"\\u001b", b"\\ud800", b"{", b"}",
         b"[", b",", b"\x1b", b"\xc2\x9b", b"\xe2\x80\xae", b"\xff", b"\x00", b"9007199254740992", b" "]
SEEDS = [(text.encode(), status) for text, status in (
    ('{"held": true, "token": 5, "owner": "b", "remaining_ms": 5}', 200),
    ('{"held": false}', 200),
    (FINE, 201),
    ('{"token": 9007199254740991, "ttl_ms": 4000, "validity_ms": 3900, '
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
    return {"name": f"mutated-{number}", "call": call, "body": text.decode("latin-1"), "status": status}


MUTATED = [mutated(number) for number in range(MUTATIONS)]
BY_NAME = {case["name"]: case for case in [*CASES, *MUTATED]}


def text_of(body) -> str:
    if isinstance(body, str):
        return body
    if "repeat" in body:
        return body["repeat"][0] * body["repeat"][1]
    before, part, count, end, after = body["around"]
    return before + part * count + end * count + after


class HostileServer(Server):
    """Answers the bytes of the case whose name is at the end of the path."""

    def ordinary(self, request):
        case = BY_NAME.get(request.path.partition("?")[0].rsplit("/", 1)[-1], CASES[0])
        if request.method == "DELETE":
            return Answer(200, {"released": True})
        if case["call"] == "extend" and request.method == "POST":
            return Answer(201, FINE.encode())
        if "head" in case:
            return Answer(bytes=case["head"].encode("latin-1"))
        own = request.body.get("lock_id") or request.headers.get("lock-id", "")
        return Answer(case["status"], text_of(case["body"]).replace(OWN_ID, f'"lock_id": "{own}"').encode("latin-1"))


class HostileRow:
    """One case, at a server that many share."""

    def __init__(self, case, server):
        self.name, self._case, self._server = case["name"], case, server
        self.kind = None  # that the client made of it

    def play(self, driver):
        call, name = self._case["call"], self.name
        driver.ask("client", CALL_MS, self._server.url)
        if call == "watch":
            kind, value, text = driver.ask("watch", 0, 1, name)
            kind = "unchanged" if (kind, value) == ("ok", "") else kind
        else:
            kind, value, text = driver.ask("acquire", 0, TTL_MS, "-", name)
            if call == "extend" and kind == "ok":
                kind, value, text = driver.ask("extend", TTL_MS)
        self.kind = kind = "granted" if kind == "ok" else kind
        if ODD.search(value + text) or SECRET in value + text:
            raise Wrong(f"{name}: shows {value!r} {text!r}")
        if "kind" in self._case and kind not in self._case["kind"].split(" or "):
            raise Wrong(f"{kind}, not {self._case['kind']}: {text[-300:]!r}")
