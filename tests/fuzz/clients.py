"""What the clients for Python and Node make of any answer.
usage: clients.py python|node CLIENT_READER SECONDS [SEED]

Half of the time the answers go to the reader of the client for Python, without a socket. In the
other half they are bytes that come from a socket, so that HTTP is read too. The client for Node is
asked in a process of its own (client_node.mjs), always from sockets. What the client for C makes of
the body (client_reader.c) is compared. The same SEED gives the same answers."""

import json
import pathlib
import random
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "api" / "client" / "python"))
import pawl  # noqa: E402

TTL = 5
BATCH = 1000
LEFT_LEAST = 500  # ms
THREADS = 48
CALL_TIMEOUT = 0.1  # of answers that come from a socket
SLACK = 20.0  # of a machine that does much else
BODY_MAX = 200_000  # bytes that a socket takes without anybody who reads
ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
KINDS = {pawl.Exhausted: "extensions-exhausted", pawl.Held: "held", pawl.Invalid: "invalid",
         pawl.LockLost: "lost", pawl.NewGrant: "granted", pawl.ProtocolError: "protocol",
         pawl.Refused: "refused", pawl.Unavailable: "unavailable"}
FINE = b'{"token": 1, "ttl_ms": 5000, "validity_ms": 4900, "served_ms": 0}'
RELEASED = b'{"released": true}'


# ---- answers -------------------------------------------------------------------------------------

def text_of(body):
    if isinstance(body, str):
        return body
    if "repeat" in body:
        return body["repeat"][0] * min(body["repeat"][1], 3000)
    before, part, count, end, after = body["around"]
    return before + part * count + end * count + after


ROWS = json.loads((HERE.parent / "clients" / "hostile.json").read_text())
SEEDS = [(row["call"], row["status"], text_of(row["body"]).encode("latin-1"))
         for row in ROWS if "body" in row]
GRANTS = [seed for seed in SEEDS if seed[1] < 300 and seed[2][:1] == b"{" and len(seed[2]) < 300]
SEEDS += [("acquire", 409, b'{"type": "urn:pawl:held", "detail": "held", "resource": "a", "owner": "b", '
                           b'"retry_after_ms": 500}'),
          ("extend", 409, b'{"type": "urn:pawl:extensions-exhausted", "detail": "no more"}'),
          ("acquire", 503, b'{"type": "urn:pawl:no-quorum", "detail": "2 of 5"}')]
HEADS = [row["head"].encode("latin-1") for row in ROWS if "head" in row]
PARTS = [b"-", b"0", b"9" * 20, b".5", b"e5", b"E400", b"null", b"true", b"NaN", b'"', b"\\u001b",
         b"\\ud800", b"\\udc00", b"\\u0000", b"\\/", b"{", b"}", b"[", b"]", b",", b":", b"\x1b",
         b"\xc2\x9b", b"\xe2\x80\xae", b"\xed\xa0\x80", b"\xc0\x80", b"\xff", b"\x00", b" ", b"\x0b",
         b"9007199254740991", b"9007199254740992", b"9223372036854775808", b"\xef\xbb\xbf"]
VALUES = ["-1", "0", "1", "-0", "1.0", "1e0", "4900", "5000", "5001", "9007199254740991",
          "9007199254740992", "9007199254740990.9999", "9223372036854775807", "9223372036854775808",
          "1e400", "-1e400", "null", "true", '"5"', "[5]", "{}", '"\\u0000"', '"\\ud800"',
          '"\\ud83d\\ude00"', '"\\u009b"', "[" * 99 + "]" * 99, '{"": 1}', '{"__proto__": 1}', '{"toString": 1}',
          '["urn:pawl:held"]', "01", "-01.5", "01e5", "+1", "Infinity", '"\x7f"']
NAMES = ["token", "ttl_ms", "validity_ms", "served_ms", "type", "detail", "resource", "owner", "by",
         "retry_after_ms", "grants", "x", "", "__proto__", "toString", "\\u001b", "toke\\u006e",
         "\\u0000", "token\\u0000"]
STATUSES = [200, 201, 202, 204, 206, 299, 300, 304, 400, 401, 403, 404, 408, 409, 410, 425, 429, 500,
            503, 599]
TYPES = sorted(pawl._PROBLEMS) + ["not-allowed", "", "x" * 60, "Held", "held\\u0000", "held ",
                                  "constructor", "__proto__", "\\n", "a\\nb"]
FRAMES = [b"Content-Length: -1", b"Content-Length: 1e3", b"Content-Length: 99999999999999999999",
          b"Content-Length: 5", b"Content-Length: 9999", b"Content-Length: \xb2", b"X:", b":",
          b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b" folded",
          b"Content-Encoding: gzip", b"Content-Encoding: br", b"Content-Encoding: x",
          b"Connection: keep-alive", b"X" * 70000, b"Content-Type: \x00",
          b"Set-Cookie: a=\x1b", b"Location: //\x1b", b"Upgrade: x", b"Trailer: x"]
SIZES = [b"%x", b"-%x", b"-1", b"+%x", b"0x%x", b"%x;\x1b", b" %x", b"%x_0", b"ffffffffffffffffff", b"", b"0"]


def with_members(draw, body):
    """Some members of @body, which is an object in JSON, with other values and names."""
    for _ in range(draw.randint(1, 3)):
        member = f'"{draw.choice(NAMES)}": {draw.choice(VALUES)}'
        if draw.randrange(4) == 0:
            member = f'"type": "urn:pawl:{draw.choice(TYPES)}"'
        if draw.randrange(2):
            body = body.rstrip()[:-1] + (", " + member).encode() + b"}"
        else:
            body = b"{" + member.encode() + b", " + body.lstrip()[1:]
    return body


def with_bytes(draw, body):
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(body) + 1)
        part = draw.choice(PARTS) if draw.randrange(3) else bytes([draw.randrange(256)])
        body = body[:at] + part * draw.choice((0, 1, 1)) + body[at + draw.choice((0, 1, 1, 4, 9)):]
    return body


class Case:
    """The answer @number of a run."""

    def __init__(self, seed, number):
        draw = random.Random(seed << 40 | number)
        self.call, self.status, self.body = draw.choice(GRANTS if draw.randrange(2) else SEEDS)
        if self.body[:1] == b"{" and draw.randrange(3):
            self.body = with_members(draw, self.body)
        if draw.randrange(3) == 0:
            self.body = with_bytes(draw, self.body)
        if draw.randrange(4) == 0:
            self.status = draw.choice(STATUSES)
        self.plain = draw.randrange(3) > 0  # HTTP as it should be
        self.bytes = self.plain_bytes() if self.plain else self.framed(draw)
        self.open = not self.plain and draw.randrange(40) == 0  # and nothing comes any more

    def plain_bytes(self):
        return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (self.status, len(self.body), self.body)

    def framed(self, draw):
        if draw.randrange(8) == 0:
            return with_bytes(draw, draw.choice(HEADS))
        lines = [b"HTTP/1.1 %d X" % self.status]
        if draw.randrange(8) == 0:
            lines = [b"HTTP/1.1 100 Continue", b""] * draw.choice((1, 1, 500)) + lines
        body = self.body
        how = draw.randrange(3)
        if how == 0:
            lines.append(b"Content-Length: %d" % len(body))
        elif how == 1:
            lines.append(b"Transfer-Encoding: chunked")
            at = draw.randrange(len(body) + 1)
            body = b"".join(self.chunk(draw, part) for part in (body[:at], body[at:])) + b"0\r\n\r\n"
        lines += draw.choices(FRAMES, k=draw.choice((0, 0, 1, 1, 2, 150)))
        head = b"\r\n".join(lines) + b"\r\n\r\n"
        return with_bytes(draw, head) + body if draw.randrange(4) == 0 else head + body

    @staticmethod
    def chunk(draw, part):
        size = draw.choice(SIZES) if draw.randrange(4) == 0 else b"%x"
        return (size % len(part) if b"%" in size else size) + b"\r\n" + part + b"\r\n"


# ---- the client for Python -----------------------------------------------------------------------

def run(client, case):
    """The kind, the token of a grant, and all that a program may show of an error."""
    lock = None
    try:
        lock = client.acquire(f"{case.call}", ttl=TTL, wait=0)
        if case.call == "extend":
            lock.extend(TTL)
        return "granted", lock.token, check_lock(lock)
    except pawl.Error as error:
        shown = said_of(error) + error.type
        for member in ("name", "owner"):
            shown += str(getattr(error, member, ""))
        if getattr(error, "retry_after", None) is not None:
            assert 0 <= error.retry_after <= pawl.TOKEN_MAX
        token = getattr(error, "token", 0)
        return KINDS.get(type(error), type(error).__name__), token, shown


def said_of(error):
    """What a traceback shows of it."""
    said = ""
    while error is not None:
        said += "".join(traceback.format_exception_only(error)) + repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return said


def check_lock(lock):
    assert type(lock.token) is int and 1 <= lock.token <= pawl.TOKEN_MAX, lock.token
    assert 0 <= lock.left() <= TTL, lock.left()
    return ""


def is_other(method, case):
    """An answer that is not the one of the case: of the grant before an extension, of a release."""
    return RELEASED if method == "DELETE" else FINE if method == "POST" and case.call == "extend" else None


class ReaderOnly:
    """Answers go to the reader."""

    took = 0

    def __init__(self):
        self.case = None
        self.client = pawl.Client("http://127.0.0.1:1", call_timeout=1e-6)  # nothing is repeated
        self.ask = pawl._Call.ask

    def __enter__(self):
        pawl._Call.ask = lambda call, server, timeout, abort: self.answer(call)
        return self

    def __exit__(self, *_):
        pawl._Call.ask = self.ask

    def answer(self, call):
        other = is_other(call.method, self.case)
        answer = pawl._Answer("http://127.0.0.1:1", pawl.now(), 201 if other else self.case.status,
                              pawl._parse_answer(other or self.case.body))
        answer.took = 0.0
        return answer

    def results(self, cases):
        for self.case in cases:
            yield run(self.client, self.case)

    def is_strict(self, _case, _kind, _of_c):
        return True


class FromSockets:
    """Answers come from sockets. What asks has them before it has asked."""

    took = 3000  # ms: a client may take longer, and more is believed then

    def __enter__(self):
        self.pool = ThreadPoolExecutor(THREADS)
        self.clients = threading.local()
        return self

    def __exit__(self, *_):
        self.pool.shutdown()

    def client(self):
        if not hasattr(self.clients, "client"):
            client = pawl.Client("http://127.0.0.1:1", call_timeout=CALL_TIMEOUT)
            server = client._servers[0]
            server.connect = self.connect
            server.request = self.request(server.request)
            self.clients.client = client
        return self.clients.client

    def connect(self, _timeout, _abort):
        ours, self.clients.theirs = socket.socketpair()
        return ours

    def request(self, make):
        def answer_first(method, *rest):
            case = self.clients.case
            other = is_other(method, case)
            theirs = self.clients.theirs
            theirs.setblocking(False)
            theirs.send(b"HTTP/1.1 201 X\r\nContent-Length: %d\r\n\r\n%s" % (len(other), other)
                        if other else case.bytes[:BODY_MAX])
            if other or not case.open:
                theirs.shutdown(socket.SHUT_WR)
            return make(method, *rest)
        return answer_first

    def run(self, case):
        self.clients.case = case
        began = time.monotonic()
        result = run(self.client(), case)
        assert time.monotonic() - began < 2 * CALL_TIMEOUT + SLACK, "it hangs"
        return result

    def results(self, cases):
        return self.pool.map(self.run, cases)

    def is_strict(self, _case, _kind, _of_c):
        return False


# ---- the client for Node -------------------------------------------------------------------------

class Node:
    """Answers come from sockets, to a process of its own."""

    took = 3000

    def __enter__(self):
        self.program = subprocess.Popen(["node", HERE / "client_node.mjs"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.count = 0
        return self

    def __exit__(self, *_):
        self.program.stdin.close()
        assert self.program.wait() == 0

    def results(self, cases):
        lines = [json.dumps({"number": number, "call": case.call, "plain": case.plain,
                             "open": case.open, "bytes": case.bytes[:BODY_MAX].decode("latin-1")})
                 for number, case in enumerate(cases, self.count)]
        self.count += len(cases)
        self.program.stdin.write("\n".join([*lines, "", ""]).encode())
        self.program.stdin.flush()
        return [json.loads(self.program.stdout.readline()) for _ in cases]

    def is_strict(self, case, kind, of_c):
        """A machine that is slow gives no answer in time, and HTTP has no body behind some."""
        return case.plain and kind != "unavailable" and case.status not in (204, 304) \
            and not self.is_late(case, kind, of_c)

    @staticmethod
    def is_late(case, kind, of_c):
        """The client believes less of served_ms, and a short validity ended before it looked."""
        return of_c[0] == "granted" and kind in ("lost", "protocol") and \
            (not re.search(rb'"served_ms": 0[,}]', case.body) or
             re.search(rb'"validity_ms": -?\d{1,3}[,}]', case.body) is not None)


# ---- the run -------------------------------------------------------------------------------------

class Reader:
    """The client for C."""

    def __init__(self, path):
        self.program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, cases, took):
        lines = [b"%s %d %d %d %s\n" % (case.call.encode(), TTL * 1000, took, case.status,
                                        case.body.hex().encode() or b"-") for case in cases]
        writer = threading.Thread(target=self.write, args=(b"".join(lines),))
        writer.start()
        answers = [self.program.stdout.readline().decode().split() for _ in cases]
        writer.join()
        return answers

    def write(self, text):
        self.program.stdin.write(text)
        self.program.stdin.flush()

    def close(self):
        self.program.stdin.close()
        assert self.program.wait() == 0


def problem_of(case, result, of_c, mode):
    kind, token, shown = result
    strict = mode.is_strict(case, kind, of_c)
    if ODD.search(shown):
        return f"shows {shown!r}"
    if kind not in KINDS.values():
        return f"raises {kind}"
    if kind == "granted" and of_c[0] != "granted" and (strict or case.plain):
        return "is granted"
    if kind == "granted" and case.call == "acquire" and of_c[0] == "granted" and str(token) != of_c[1]:
        return f"has the token {token}"
    if of_c[0] == "granted" and int(of_c[2]) < LEFT_LEAST:
        return None  # it may have ended when the client looked
    return f"is {kind}" if strict and kind != of_c[0] else None


def play(mode, reader, seed, first, seconds):
    """How many answers, and what is wrong."""
    wrong, number, until = [], first, time.monotonic() + seconds
    with mode:
        while time.monotonic() < until and len(wrong) < 20:
            cases = [Case(seed, number + i) for i in range(BATCH)]
            results = list(mode.results(cases))
            for i, of_c in enumerate(reader.ask(cases, mode.took)):
                problem = problem_of(cases[i], results[i], of_c, mode)
                if problem:
                    wrong.append(f"{number + i}: {problem}, and for C {of_c}: {cases[i].call} "
                                 f"{cases[i].status} {cases[i].body!r} {cases[i].bytes[:300]!r}")
            number += BATCH
    return number - first, wrong


def main(client, path, seconds, seed=1):
    reader = Reader(path)
    wrong = []
    modes = {"python": (ReaderOnly(), FromSockets()), "node": (Node(),)}[client]
    for mode in modes:
        count, found = play(mode, reader, int(seed), 0, float(seconds) / len(modes))
        print(f"{type(mode).__name__}: {count} answers, {len(found)} wrong")
        wrong += found
    reader.close()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
