"""A server that follows a script: real HTTP on loopback, with the answers of a pawld or with faults.

A script is a dict of lists, by method: the first request of a method gets the first answer of its list,
and so on. Requests past the end of the list get the answer of a pawld whose locks are free."""

import contextlib
import json
import socket
import tempfile
import threading
import time

TOKEN = 7
TTL_MS = 5000
VALIDITY_MS = 4900
RECEIVE_TIMEOUT = 30.0
TRICKLE = 0.05  # seconds between two pieces
HEAD_MAX = 65536


class Request:
    def __init__(self, head: bytes, body: bytes):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path = lines[0].split(" ")[:2]
        self.headers = {name.strip().lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines[1:])}
        self.body = json.loads(body) if body else {}
        self.at = time.monotonic()

    @classmethod
    def of_part(cls, part, batch):
        """A call of a batch, as if it came alone."""
        request = cls(f"{part['method']} {part['path']} HTTP/1.1".encode(), json.dumps(part.get("body", {})).encode())
        request.headers = {**batch.headers, "lock-id": part.get("lock_id"), "fencing-token": str(part.get("token"))}
        return request

    def __repr__(self):
        return f"{self.method} {self.path}"


class Answer:
    """An answer of @status with @body, an object or bytes, sent after @after seconds. @bytes replaces
    all of it, and closes the connection; a list of them is sent without end, with a pause after each.
    @form is given all bytes, and returns those that are sent."""

    def __init__(self, status=200, body=None, after=0.0, bytes=None, form=None):
        self.status, self.body, self.after, self.bytes, self.form = status, body, after, bytes, form

    def encode(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body or {}).encode()
        return (f"HTTP/1.1 {self.status} X\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def lost(after=0.0):
    """The connection is closed without an answer."""
    return Answer(bytes=b"", after=after)


def cut(bytes, after=0.0):
    """The connection is closed in the middle of an answer."""
    return Answer(bytes=bytes, after=after)


def page(status, after=0.0):
    """What a gateway answers."""
    return Answer(status, b"<html></html>", after)


def problem(status, type, after=0.0, **members):
    return Answer(status, {"type": f"urn:pawl:{type}", "status": status, "detail": f"it is {type}", **members},
                  after)


def grant(after=0.0, status=201, **members):
    """A grant of one name. Members may be replaced."""
    return Answer(status, {"token": TOKEN, "ttl_ms": TTL_MS, "validity_ms": VALIDITY_MS, "served_ms": 0,
                           **members}, after)


def state(token, owner="worker-7", after=0.0, **members):
    """A lock that is held under @token; None: it is free."""
    held = {"held": False} if token is None else {"held": True, "token": token, "owner": owner}
    return Answer(200, {**held, **members}, after)


# ---- forms of answers that HTTP allows, and that proxies make ----

def interim(data):
    """With answers before the answer."""
    return b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + data


def http_1_0(data):
    """Without a length: the end of the connection ends the body."""
    lines = data.partition(b"\r\n\r\n")[0].replace(b"HTTP/1.1", b"HTTP/1.0").split(b"\r\n")
    head = b"\r\n".join(line for line in lines if not line.startswith(b"Content-Length"))
    return head + b"\r\n\r\n" + data.partition(b"\r\n\r\n")[2]


def chunked(data):
    """In pieces, with an extension and a trailer."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    pieces = [body[at:at + 11] for at in range(0, len(body), 11)]
    return (b"\r\n".join([*lines, b"tRANSFER-eNCODING:  chunked"]) + b"\r\n\r\n"
            + b"".join(b"%X;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nX-Trailer: 1\r\n\r\n")


def twice(data):
    """With a second answer that no request asked for."""
    return data + data


def _grant_of(body) -> dict:
    ttl_ms = body.get("ttl_ms", TTL_MS)
    own = {"lock_id": body["lock_id"]} if "lock_id" in body else {}
    return {**own, "ttl_ms": ttl_ms, "validity_ms": ttl_ms - ttl_ms // 50, "served_ms": 0}


def ordinary(request: Request) -> Answer:
    """The answer of a pawld whose locks are free."""
    body, path, method = request.body, request.path, request.method
    if path.startswith("/v1/counters/"):
        count = body.get("count", 1)
        return Answer(200, {"name": path.rsplit("/", 1)[1], "value": 100 + count, "count": count})
    if path == "/v1/locks" and method == "POST":
        grants = [{"resource": name, "token": TOKEN + at} for at, name in enumerate(body["resources"])]
        return Answer(201, {**_grant_of(body), "grants": grants})
    if path == "/v1/locks":  # PATCH, DELETE
        one = {**_grant_of(body), "released": True}
        return Answer(200, {"responses": [{"status": 200, "body": {"resource": name, **one}}
                                          for name in body["resources"]]})
    if path.startswith("/v1/semaphores/"):
        return Answer(201, {**_grant_of(body), "resource": path.rsplit("/", 1)[1] + "#1", "seat": 1, "token": TOKEN})
    if path.startswith("/v1/rwlocks/") and body.get("mode") == "read":
        return Answer(201, {**_grant_of(body), "resource": path.rsplit("/", 1)[1] + "#2", "seat": 2, "mode": "read",
                            "token": TOKEN})
    if path.startswith("/v1/rwlocks/") and method == "POST":
        grants = [{"resource": f"{path.rsplit('/', 1)[1]}#{part}", "token": TOKEN} for part in (0, 1, "w")]
        return Answer(201, {**_grant_of(body), "mode": "write", "token": TOKEN, "grants": grants})
    if method == "POST":
        return Answer(201, {**_grant_of(body), "token": TOKEN})
    if method == "PATCH":
        return Answer(200, _grant_of(body))
    return Answer(200, {"held": False, "released": True})


class Server:
    """Serves a script at a port of its own, from start() to stop(). `requests` are the calls that came, and `count` is
    how many HTTP requests had them.

    Beside the methods a script may have: "at", an address, or "unix"; "port"; "form", that of all answers; "closes", how
    a connection ends after each answer: "all", or "half" of it, without a word before."""

    def __init__(self, script=None):
        script = dict(script or {})
        self.requests, self.count = [], 0
        self._at, self._form, self._closes = script.pop("at", "127.0.0.1"), script.pop("form", None), script.pop("closes", None)
        self.port = script.pop("port", 0)
        self._script = {method: list(answers) for method, answers in script.items()}
        self._mutex = threading.Lock()
        self._connections = set()
        if self._at == "unix":
            self._folder = tempfile.TemporaryDirectory()
        self.start()
        host = f"[{self._at}]" if ":" in self._at else self._at
        self.url = f"unix:{self._folder.name}/socket" if self._at == "unix" else f"http://{host}:{self.port}"

    def start(self):
        if self._at == "unix":
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(f"{self._folder.name}/socket")
            self._listener.listen(64)
        else:
            family = socket.AF_INET6 if ":" in self._at else socket.AF_INET
            self._listener = socket.create_server((self._at, self.port), family=family, backlog=64)
            self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, args=(self._listener,), daemon=True)
        self._thread.start()

    def stop(self):
        """Closes the port and all connections, as a server that is killed. The thread ends before its
        socket is closed: it could accept from the next socket that gets the descriptor's number."""
        if self._listener.fileno() < 0:
            return  # stopped before
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        with self._mutex:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the client closed it
                    connection.shutdown(socket.SHUT_RDWR)

    def is_left(self):
        """No client is connected."""
        with self._mutex:
            return not self._connections

    def of(self, method):
        with self._mutex:
            return [request for request in self.requests if request.method == method]

    def _listen(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # stopped
            with self._mutex:
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(RECEIVE_TIMEOUT)
        try:
            while self._serve_one(connection):
                pass
        except (OSError, ValueError):
            pass  # the client is gone
        with self._mutex:
            self._connections.discard(connection)
            connection.close()

    def _serve_one(self, connection) -> bool:
        """True: the connection stays open."""
        received = b""
        while b"\r\n\r\n" not in received:
            part = connection.recv(HEAD_MAX)
            if not part:
                return False
            received += part
        head, body = received.split(b"\r\n\r\n", 1)
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while lengths and len(body) < int(lengths[0].split(b":")[1]):
            part = connection.recv(HEAD_MAX)
            if not part:
                return False
            body += part
        answer = self._answer_to(Request(head, body))
        time.sleep(answer.after)
        if isinstance(answer.bytes, list):
            self._trickle(connection, answer.bytes)
        form = answer.form or self._form
        data = answer.encode() if answer.bytes is None else answer.bytes
        connection.sendall(form(data) if form and answer.bytes is None else data)
        if self._closes == "half":
            connection.shutdown(socket.SHUT_WR)
            return True
        return not (answer.bytes is not None or self._closes or form is http_1_0 or b"connection: close" in head.lower())

    @staticmethod
    def _trickle(connection, pieces):
        """Ends when the client closes the connection."""
        while True:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(TRICKLE)

    def _answer_to(self, request) -> Answer:
        """Each call of a batch has its place in the script, as if it came alone."""
        with self._mutex:
            self.count += 1
        if request.path != "/v1/batch":
            return self._answer_to_one(request)
        answers = [self._answer_to_one(Request.of_part(part, request)) for part in request.body["requests"]]
        for answer in answers:
            if not isinstance(answer.body, dict):
                return answer  # no answer of a pawld: it stands for all
        responses = [{"status": answer.status, "body": answer.body} for answer in answers]
        return Answer(200, {"responses": responses}, max(answer.after for answer in answers))

    def _answer_to_one(self, request) -> Answer:
        with self._mutex:
            self.requests.append(request)
            answers = self._script.get(request.method)
            planned = answers.pop(0) if answers else None
        return planned or self.ordinary(request)

    def ordinary(self, request) -> Answer:
        return ordinary(request)
