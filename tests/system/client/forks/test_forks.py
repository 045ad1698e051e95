"""Processes fork, in each kind and at each moment of a lock, with each client: the lock of the parent
is untouched, and the child ends. usage: test_forks.py C_HOLDER [WORD...]

The words choose cells: each one is a part of "CLIENT KIND MOMENT". A cell is played PAWL_FORKS_TIMES
times (2 without it). Where it is given, a child has one second to end, and otherwise five: other
tests keep the machine busy. PAWL_CLIENTS names another folder with clients, those of an older commit
say. The last lines are a table of all cells.

The holders of each language say what they do at a moment (holder.py). In between there is a relay,
which stops their requests half-way: a call is under way at a server while the holder forks."""

import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from python_service import PATIENCE, Service, pawl  # noqa: E402

CLIENTS = os.path.realpath(os.environ.get("PAWL_CLIENTS", HERE.parents[3] / "api/client"))
TIMES = int(os.environ.get("PAWL_FORKS_TIMES", "2"))
SECONDS = 1 if "PAWL_FORKS_TIMES" in os.environ else 5
WORDS = sys.argv[2:]
READS = 20
PLAYERS = 4
rounds = itertools.count(1)
MOMENTS = ("waiting", "holding", "extending", "releasing")
METHODS = {"waiting": b"POST ", "extending": b"PATCH ", "releasing": b"DELETE "}
PYTHON = ("fork", "daemon", "prefork", "mp_fork", "mp_forkserver", "mp_spawn", "subprocess")
KINDS = {"threads": (*PYTHON, "posix_spawn", "preexec", "handler"), "asyncio": PYTHON,
         "c": ("fork", "daemon", "prefork", "handler", "vfork", "posix_spawn", "namespace"),
         "node": ("spawn", "fork", "cluster")}
HOLDERS = {"threads": ["python3", "-B", str(HERE / "holder.py"), "threads"],
           "asyncio": ["python3", "-B", str(HERE / "holder.py"), "asyncio"],
           "c": [sys.argv[1] if len(sys.argv) > 1 else ""],
           "node": ["node", str(HERE / "holder.mjs")]}


class Relay:
    """Hands bytes on to a service. A request may be told of, and stopped before it goes on."""

    def __init__(self, port):
        self._upstream = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._mutex = threading.Lock()
        self._method = None
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.watch(None)
        threading.Thread(target=self._listen, daemon=True).start()

    def watch(self, method, passed=0, stops=True):
        """The request of @method after @passed others sets `arrived`, and waits for `go_on`."""
        with self._mutex:
            self.arrived = threading.Event()
            self.granted = threading.Event()
            self.left = threading.Event()  # a client closed a connection
            self.go_on = threading.Event()
            self._method, self._passed, self._stops = method, passed, stops

    def _listen(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # it was closed
            upstream = socket.create_connection(self._upstream, PATIENCE)
            upstream.settimeout(None)
            threading.Thread(target=self._pass, args=(connection, upstream, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(upstream, connection, False), daemon=True).start()

    def _pass(self, source, target, requests):
        try:
            while part := source.recv(65536):
                if requests:
                    self._look_at(part)
                elif part.startswith(b"HTTP/1.1 201"):
                    self.granted.set()
                target.sendall(part)
        except OSError:
            pass  # one of the two is gone
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if requests:
            self.left.set()
        else:
            source.close()
            target.close()

    def _look_at(self, part):
        with self._mutex:
            if self._method is None or not part.startswith(self._method):
                return
            self._passed -= 1
            if self._passed >= 0:
                return
            self._method = None
            arrived, go_on, stops = self.arrived, self.go_on, self._stops
        arrived.set()
        if stops:
            go_on.wait(PATIENCE)

    def close(self):
        self._listener.close()


class Holder:
    """A holder that runs, and its relay."""

    def __init__(self, client, kind, service):
        self.relay = Relay(service.port)
        environment = dict(os.environ, PAWL_SERVER=self.relay.url, PAWL_CLIENTS=CLIENTS,
                           PAWL_FORKS_SECONDS=str(SECONDS))
        self.process = subprocess.Popen([*HOLDERS[client], kind, service.url], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, who):
        """The outcome that @who has."""
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            return f"the {who} hangs"
        line = self.process.stdout.readline().decode().strip()
        return line[len(who) + 1:] if line.startswith(who) else f"the {who} ended: {line}"

    def end(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.relay.close()


class File:
    """A fleet that is a file."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-test-")

    def options(self):
        return ["--data", os.path.join(self.folder, "locks")]

    def end(self):
        shutil.rmtree(self.folder)


class Forks(unittest.TestCase):
    """The holders of all kinds play at the same time, a few at once: most of it is waiting."""

    @classmethod
    def setUpClass(cls):
        fleet = File()
        cls.addClassCleanup(fleet.end)
        cls.service = Service(fleet)
        cls.addClassCleanup(lambda: cls.service.process.kill())
        cls.client = pawl.Client(cls.service.url)
        cls.cells = {}
        cls.addClassCleanup(lambda: print_table(cls.cells))
        cls.players = concurrent.futures.ThreadPoolExecutor(PLAYERS)
        cls.addClassCleanup(cls.players.shutdown)
        cls.plays = {key: cls.players.submit(play, cls.service, cls.client, cls.cells, *key)
                     for key in cells_of_kinds()}

    def expect_untouched(self, client, kind, moment):
        if kind == "namespace" and not may_make_namespaces():
            self.skipTest("this process may not make a PID namespace")
        self.plays[client, kind].result()
        self.assertEqual(self.cells[client, kind, moment], {"ok": TIMES})


def token_of(service, name):
    """The token under which @name is held; None: it is free."""
    for _ in range(READS):
        try:
            with urllib.request.urlopen(f"{service.url}/v1/locks/{name}",
                                        timeout=PATIENCE) as answer:
                answer = json.load(answer)
                return answer["token"] if answer["held"] else None
        except urllib.error.HTTPError:
            time.sleep(0.05)  # 503: the file is slow
    raise AssertionError("the lock cannot be read")


def play_round(service, client, holder, kind, moment):
    """What went wrong in a round: a list of sentences."""
    name = f"forks/{next(rounds)}"
    relay = holder.relay
    other = client.acquire(name, ttl=60) if moment == "waiting" else None
    relay.watch(METHODS.get(moment), passed=1 if moment == "extending" and kind != "handler" else 0,
                stops=moment != "waiting")
    holder.say(f"{moment} {name}")
    if not (relay.arrived if moment in METHODS else holder.relay.granted).wait(PATIENCE):
        return ["the holder does not get there: " + holder.hear("parent")]
    token = token_of(service, name)
    holder.say("now")
    found = [holder.hear("child")]
    if token_of(service, name) != token:
        found.append("the lock was released")
    if other is not None:
        other.release()
    relay.go_on.set()
    holder.say("end")
    found.append(holder.hear("parent"))
    return [outcome for outcome in found if outcome != "ok"]


def play(service, client, cells, holder_client, kind):
    """Plays all moments of a kind."""
    if kind == "namespace" and not may_make_namespaces():
        return
    holder = Holder(holder_client, kind, service)
    try:
        for moment in chosen_moments(holder_client, kind):
            outcomes = cells[holder_client, kind, moment] = collections.Counter()
            for _ in range(TIMES):
                found = play_round(service, client, holder, kind, moment)
                outcomes["; ".join(found) or "ok"] += 1
                if found:  # it may be in any state
                    holder.end()
                    holder = Holder(holder_client, kind, service)
    finally:
        holder.end()


def may_make_namespaces():
    return subprocess.run(["unshare", "-p", "-f", "true"],
                          stderr=subprocess.DEVNULL).returncode == 0


def print_table(cells):
    for (client, kind, moment), outcomes in sorted(cells.items()):
        others = ", ".join(f"{count}x {what}" for what, count in outcomes.most_common() if what != "ok")
        print(f"{client:8} {kind:14} {moment:10} {outcomes['ok']:4} of {TIMES} {others[:300]}",
              flush=True)


def chosen_moments(client, kind):
    return [moment for moment in MOMENTS
            if all(word in (client, kind, moment) for word in WORDS)]


def cells_of_kinds():
    return [(client, kind) for client, kinds in KINDS.items() for kind in kinds
            if chosen_moments(client, kind)]


class Orphans(unittest.TestCase):
    """A child that lives on has no part in the connections of a parent that is killed."""

    def expect_no_ghost(self, client):
        fleet = File()
        self.addCleanup(fleet.end)
        service = Service(fleet)
        self.addCleanup(service.process.kill)
        own = pawl.Client(service.url)
        other = own.acquire("ghost", ttl=60)
        holder = Holder(client, "orphan", service)
        self.addCleanup(holder.end)
        holder.relay.watch(METHODS["waiting"], stops=False)
        holder.say("waiting ghost")
        self.assertTrue(holder.relay.arrived.wait(PATIENCE))
        holder.say("now")
        child = int(holder.hear("child"))
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.assertTrue(holder.relay.left.wait(PATIENCE), "the connection lives on")
        time.sleep(0.3)  # pawld sees it, too
        other.release()
        own.acquire("ghost", wait=1).release()


def add_orphan(client):
    def case(self):
        self.expect_no_ghost(client)
    setattr(Orphans, f"test_{client}", case)


for client in ("threads", "asyncio", "c"):
    if all(word in (client, "orphan", "waiting") for word in WORDS):
        add_orphan(client)


def add_case(client, kind, moment):
    def case(self):
        self.expect_untouched(client, kind, moment)
    setattr(Forks, f"test_{client}_{kind}_{moment}", case)


for client, kind in cells_of_kinds():
    for moment in chosen_moments(client, kind):
        add_case(client, kind, moment)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
