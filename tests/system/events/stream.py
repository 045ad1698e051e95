"""A pawld, and streams of its events as a client reads them."""

import http.client
import json
import os
import socket
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "tests/system/client"))
from python_service import PATIENCE, Fleet, Process, free_port, is_ready, until  # noqa: E402

BIN = os.path.join(os.environ.get("PAWL_BUILD", os.path.join(ROOT, "build")), "bin")


def listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class Event:
    """One event. id: of the event; name: what happened; data: the members."""

    def __init__(self, block):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        self.name, self.id = fields["event"], fields["id"]
        self.data = json.loads(fields["data"])

    def __repr__(self):
        return f"{self.name} {self.data} {self.id}"

    def __getattr__(self, member):
        return self.data.get(member)


class Stream:
    """A stream of events. heartbeats: how many came."""

    def __init__(self, port, query="", host="127.0.0.1", **headers):
        self._connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", "/v1/events" + query, headers=named)
        self.response = self._connection.getresponse()
        self.status = self.response.status
        self.heartbeats = 0
        self.last_id = None
        self.bytes = b""

    def next(self):
        """The next event; None: the stream has ended, and was whole."""
        lines = []
        end = time.monotonic() + 2 * PATIENCE
        while True:
            line = self.response.readline()
            self.bytes += line
            if not line:
                assert not lines, lines
                return None
            text = line.decode().rstrip("\n")
            if text == ":":
                self.heartbeats += 1
                assert time.monotonic() < end, "no event comes"
            elif text:
                lines.append(text)
            elif lines:
                event = Event("\n".join(lines))
                self.last_id = event.id
                return event

    def expect(self, name, **members):
        """The next event, which has this name and these members."""
        event = self.next()
        assert event is not None and event.name == name, f"{event} is no {name}"
        for member, value in members.items():
            assert event.data.get(member) == value, f"{event}: {member} is not {value}"
        return event

    def close(self):
        self.response.close()
        self._connection.close()


class Pawld:
    """A pawld, over a file unless options name masters."""

    def __init__(self, *options, data=True):
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="pawl-test-")
        self.options = options
        if data:
            self.options += ("--data", os.path.join(self._folder.name, "data"))
        self.start()

    def start(self):
        self.log = os.path.join(self._folder.name, "log")
        self.process = Process([os.path.join(BIN, "pawld"), "--listen", f"127.0.0.1:{self.port}",
                                *self.options], self.log)
        until(lambda: is_ready(f"http://127.0.0.1:{self.port}"), "pawld")

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def tell(self, signum):
        self.process._process.send_signal(signum)

    def wait(self):
        return self.process._process.wait(PATIENCE)

    def end(self):
        self.process.kill()
        self._folder.cleanup()

    def call(self, method, path, body=None, **headers):
        """Status and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
        connection.request(method, path, json.dumps(body) if body is not None else None, named)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text[:1] == b"{" else text.decode()

    def acquire(self, name, **body):
        status, grant = self.call("POST", "/v1/locks/" + name, body)
        assert status in (200, 201), grant
        return grant

    def release(self, grant):
        status, answer = self.call("DELETE", "/v1/locks/" + grant["resource"].replace("#", "%23"),
                                   Lock_Id=grant["lock_id"])
        assert status == 200 and answer["released"], answer

    def resident_bytes(self):
        with open(f"/proc/{self.process._process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def metric(self, name):
        text = self.call("GET", "/metrics")[1]
        return int(next(line.split()[1] for line in text.split("\n") if line.startswith(name + " ")))

    def flood(self, events):
        """Makes so many events of nearly 500 bytes each, by batches of acquires."""
        for begin in range(0, events, 64):
            names = [f"flood/{begin + i}/".ljust(250, "x") for i in range(min(64, events - begin))]
            requests = [{"method": "POST", "path": "/v1/locks/" + name,
                         "body": {"ttl_ms": 200000, "owner": "o" * 90}} for name in names]
            status, answer = self.call("POST", "/v1/batch", {"requests": requests})
            assert status == 200 and all(each["status"] == 201 for each in answer["responses"]), answer
