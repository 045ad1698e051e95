"""All clients do the same: which servers they call and how, how long they wait, and what they say.

alike.json has rows of gateways; the rest are cases. Wrong servers are rows of tests/clients. Each row and case is run
with pawl, and with the clients for C, Python (threads and asyncio) and Node, against a real pawld.
usage: test_alike.py PAWL ALIKE_CLIENT"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients"))
from table import WRONG_SERVERS  # noqa: E402
from python_service import (_PAWLD, PATIENCE, Listener, Process, free_port, is_ready, pawl,  # noqa: E402
                            read_request, until)

HERE = pathlib.Path(__file__).resolve().parent
PAWL, ALIKE_CLIENT = sys.argv[1:3] if len(sys.argv) > 2 else (None, None)
ROWS = json.loads((HERE / "alike.json").read_text())
CUT = 0.8  # seconds after which a gateway cuts a wait
HOLD = 4.0  # seconds that a lock is held while clients wait for it
ASKS_MOST = 12  # of a wait of HOLD seconds; a hot loop asks thousands of times
AT_ONCE = 12  # programs that mostly wait
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

PROGRAMS = {
    "C": [ALIKE_CLIENT],
    "Python": [sys.executable, "-B", str(HERE / "alike_client.py"), "threads"],
    "asyncio": [sys.executable, "-B", str(HERE / "alike_client.py"), "asyncio"],
    "Node": ["node", str(HERE / "alike_client.mjs")],
}
LANGUAGES = list(PROGRAMS)
EVERYONE = LANGUAGES + ["pawl"]
WAITERS = ["C", "Python", "Node", "pawl"]  # asyncio waits as threads do
EXITS = {0: "granted", 123: "lost", 124: "held", 125: "error"}


def environment(servers, more=None):
    clean = {name: text for name, text in os.environ.items()
             if not name.startswith("PAWL_") and name.lower() != "no_proxy"}
    return {**clean, "PAWL_SERVER": servers, **(more or {})}


def words_of(client, call, name, wait):
    if client != "pawl":
        return PROGRAMS[client] + [call, name, wait]
    if call == "watch":
        return [PAWL, "watch", "--until", "free", name]
    waits = [] if wait == "-" else ["--wait", f"{wait}ms"]
    inner = ["true"] if call == "acquire" else [PAWL, "lock", *waits, name, "--", "true"]
    return [PAWL, "lock", *waits, name, "--", *inner]


def run(client, servers, call, name, wait="-", env=None):
    """The kind and the sentence of what @client says."""
    try:
        done = subprocess.run(words_of(client, call, name, wait), env=environment(servers, env),
                              capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s", ""
    if client == "pawl":
        return EXITS.get(done.returncode, f"exit code {done.returncode}"), done.stderr.decode()
    fields = done.stdout.decode().split("\0")
    return (fields[0], fields[1]) if len(fields) == 4 else ("no answer", done.stderr.decode())


def run_all(jobs):
    """What each job of @jobs, by its name, returns. A few run at once."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        begun = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: job.result() for name, job in begun.items()}


class Service:
    """A pawld on a file of its own, with a port and a socket."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-alike-")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.socket = f"unix:{self.folder}/pawld.sock"
        self.start()

    def start(self):
        self.process = Process([_PAWLD, "--data", f"{self.folder}/data", "--listen",
                                f"127.0.0.1:{self.port}", "--listen", self.socket],
                               f"{self.folder}/log")
        until(lambda: is_ready(self.url), "pawld")

    def end(self):
        self.process.kill()
        shutil.rmtree(self.folder)


class Gateway(Listener):
    """Passes requests on, and answers @cut in place of a pawld that does not answer in time. Answers
    requests of @unknown, methods and paths, as a pawld does that is older than these requests."""

    def __init__(self, service, cut="", unknown=()):
        self.asks = []  # the lock ids; "": of a watch
        self.kept = []  # methods and paths of the other requests
        self.cut = cut.encode()
        self.unknown = unknown
        self.upstream = ("127.0.0.1", service.port)
        super().__init__()
        self.url = f"http://{self.address}"

    def serve(self, connection):
        head, body = read_request(connection)
        if head.startswith(b"POST"):
            self.asks.append(json.loads(body)["lock_id"])
        elif head.startswith(b"GET"):
            self.asks.append("")
        else:
            self.kept.append(" ".join(head.decode().split(" ")[:2]))
        if self.kept and self.kept[-1] in self.unknown:
            connection.sendall(NO_METHOD)
            return
        with socket.create_connection(self.upstream, PATIENCE) as upstream:
            lines = [line for line in head.split(b"\r\n")
                     if not line.lower().startswith(b"connection:")]
            upstream.sendall(b"\r\n".join(lines + [b"Connection: close", b"", body]))
            upstream.settimeout(CUT)
            try:
                connection.sendall(b"".join(iter(lambda: upstream.recv(65536), b"")))
            except TimeoutError:
                connection.sendall(self.cut)


NO_METHOD = (b"HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/problem+json\r\n"
             b"Connection: close\r\nContent-Length: 82\r\n\r\n"
             b'{"type":"urn:pawl:method-not-allowed","title":"no","status":405,"detail":"no"}    ')


class Recorder(Listener):
    """Stands for a proxy, and answers nothing but 502. What it was sent is in `heard`."""

    def __init__(self):
        self.heard = []
        super().__init__()
        self.url = f"http://user:hunter2@{self.address}"

    def serve(self, connection):
        self.heard.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")


class Alike(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        cls.addClassCleanup(cls.service.end)
        cls.client = pawl.Client(cls.service.url)

    def expect(self, results, kind, said=()):
        """Each result, by its name, is of @kind, and its sentence has each word of @said."""
        wrong = [f"{name}: {got}, not {kind} {said}: {sentence!r}"
                 for name, (got, sentence) in results.items()
                 if got != kind and not (name.startswith("pawl") and kind in got_by_pawl(got))
                 or not all(word.lower() in sentence.lower() for word in said)]
        self.assertEqual([], wrong, "\n" + "\n".join(wrong))

    def run_everyone(self, servers, call, name, wait="-", env=None, clients=EVERYONE):
        return run_all({client: lambda client=client: run(client, servers, call, f"{name}/{client}",
                                                          wait, env) for client in clients})

    # -- which servers --

    def test_wrong_servers_are_refused(self):
        for name, servers, said in WRONG_SERVERS:
            self.expect({f"pawl {name}": run("pawl", servers, "acquire", "a")}, "invalid", said)

    def test_socket_of_pawld_is_called(self):
        dead = f"http://127.0.0.1:{free_port()}"
        gone = f"unix:{self.service.folder}/gone"
        for servers in (self.service.socket, f"{dead} {self.service.socket}",
                        f"{gone} {self.service.url}", f"{gone} {self.service.socket}"):
            with self.subTest(servers):
                self.expect(self.run_everyone(servers, "acquire", "socket", "0"), "granted")

    def test_socket_that_is_not_there_is_named(self):
        gone = f"unix:{self.service.folder}/gone"
        self.expect(self.run_everyone(gone, "acquire", "gone", "0", clients=LANGUAGES),
                    "unavailable", ["cannot acquire gone/", gone])

    def test_no_proxy_is_asked(self):
        recorder = Recorder()
        self.addCleanup(recorder.close)
        env = {variable: recorder.url for variable in PROXY_VARIABLES}
        env.update(PAWL_KEY="pawl_secret", NODE_USE_ENV_PROXY="1")
        for servers in (self.service.url, self.service.url.replace("127.0.0.1", "localhost"),
                        self.service.socket):
            self.expect(self.run_everyone(servers, "acquire", "proxy", "0", env), "granted")
        self.assertEqual([], recorder.heard)

    def test_no_proxy_is_asked_for_another_machine(self):
        recorder = Recorder()
        self.addCleanup(recorder.close)
        env = {variable: recorder.url for variable in PROXY_VARIABLES}
        results = self.run_everyone("http://pawld.invalid:7380", "acquire", "proxy", "0",
                                    {**env, "NODE_USE_ENV_PROXY": "1"}, LANGUAGES)
        self.expect(results, "unavailable", ["http://pawld.invalid:7380 does not answer"])
        self.assertEqual([], recorder.heard)

    # -- how long --

    def test_wait_goes_on_behind_a_gateway_that_cuts_it(self):
        def wait(row, client):
            gateway = Gateway(self.service, row["answer"])
            name = f"gateway/{row['name']}/{client}"
            lock = self.client.acquire(name, ttl=PATIENCE)

            def release_later():
                until(lambda: gateway.asks, f"{name}: an ask")
                time.sleep(HOLD)
                lock.release()
            threading.Thread(target=release_later, daemon=True).start()
            result = run(client, gateway.url, "acquire", name)
            gateway.close()
            lock.release()
            try:
                self.client.acquire(name, wait=0).release()
            except pawl.Held:
                return "left the lock behind", ""
            if len(set(gateway.asks)) != 1 or not 1 < len(gateway.asks) <= ASKS_MOST:
                result = f"{result[0]}, {len(gateway.asks)} asks", result[1]
            return result
        jobs = {f"{client} {row['name']}": lambda row=row, client=client: wait(row, client)
                for row in ROWS["gateways"] for client in WAITERS}
        self.expect(run_all(jobs), "granted")

    def test_wait_behind_a_gateway_ends_with_held(self):
        def wait(row, client):
            gateway = Gateway(self.service, row["answer"])
            name = f"ends/{row['name']}/{client}"
            lock = self.client.acquire(name, ttl=PATIENCE, owner="worker-7")
            kind, sentence = run(client, gateway.url, "acquire", name, f"{int(CUT * 1000) + 5}")
            gateway.close()
            lock.release()
            return kind, sentence if name in sentence and "worker-7" in sentence else "no name"
        jobs = {f"{client} {row['name']}": lambda row=row, client=client: wait(row, client)
                for row in ROWS["gateways"][:1] + ROWS["gateways"][4:7] for client in WAITERS}
        self.expect(run_all(jobs), "held", ["worker-7"])

    def test_wait_is_without_end_by_default(self):
        locks = {client: self.client.acquire(f"default/{client}", ttl=PATIENCE)
                 for client in EVERYONE}
        timers = [threading.Timer(1.5, lock.release) for lock in locks.values()]
        for timer in timers:
            timer.start()
        began = time.monotonic()
        self.expect(self.run_everyone(self.service.url, "acquire", "default"), "granted")
        self.assertGreater(time.monotonic() - began, 1.4)

    # -- watching --

    def test_watch_goes_on_behind_a_gateway_that_cuts_it(self):
        def watch(row, client):
            gateway = Gateway(self.service, row["answer"])
            name = f"watched/{row['name']}/{client}"
            lock = self.client.acquire(name, ttl=PATIENCE, owner="worker-7")

            def release_later():
                until(lambda: gateway.asks, f"{name}: a look")
                time.sleep(HOLD)
                lock.release()
            threading.Thread(target=release_later, daemon=True).start()
            kind, said = run(client, gateway.url, "watch", name, "2")
            gateway.close()
            if not 2 < len(gateway.asks) <= ASKS_MOST:
                kind = f"{kind}, {len(gateway.asks)} looks"
            if client != "pawl" and said != f"held under {lock.token} by worker-7. free. ":
                kind = f"{kind}, {said}"
            return kind, said
        jobs = {f"{client} {row['name']}": lambda row=row, client=client: watch(row, client)
                for row in ROWS["gateways"][:1] + ROWS["gateways"][5:7] for client in EVERYONE}
        self.expect(run_all(jobs), "granted")

    def test_watch_goes_on_while_its_server_is_gone(self):
        service = Service()
        self.addCleanup(service.end)
        client = pawl.Client(service.url)
        locks = [client.acquire(f"gone/{one}", ttl=PATIENCE, owner="b") for one in EVERYONE]

        dead = f"http://127.0.0.1:{free_port()}"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            watches = pool.submit(self.run_everyone, f"{dead} {service.url}", "watch", "gone", "2")
            until(lambda: watching(service.url) == len(locks), "all watches")
            service.process.kill()
            time.sleep(1)
            service.start()
            for lock in locks:
                lock.release()
            results = watches.result()
        self.expect(results, "granted")
        self.expect({one: results[one] for one in LANGUAGES}, "granted", ["held under 1 by b. free."])

    # -- what they say --

    def test_errors_have_the_name_of_the_lock(self):
        for client in EVERYONE:
            self.client.acquire(f"held/{client}", ttl=PATIENCE, owner="worker-7")
        for wait in ("0", "300"):
            results = self.run_everyone(self.service.url, "acquire", "held", wait)
            self.expect(results, "held", ["held/", "is held by worker-7", "unless extended"])
            self.assertNotIn("wait_ms", str(results))
        dead = f"http://127.0.0.1:{free_port()}"
        self.expect(self.run_everyone(dead, "acquire", "dead", clients=LANGUAGES), "unavailable",
                    ["cannot acquire dead/", f"{dead} does not answer"])
        self.expect(self.run_everyone(dead, "watch", "dead", "1", clients=LANGUAGES), "unavailable",
                    ["cannot watch dead/", f"{dead} does not answer"])
        for call, last in (("acquire", "0"), ("watch", "1")):
            self.expect(self.run_everyone(self.service.url, call, "a b", last), "invalid",
                        ["a b/"])

    def keep_several(self, unknown):
        """The requests of pawl that keep three locks and release them."""
        gateway = Gateway(self.service, unknown=unknown)
        names = [f"several/{len(unknown)}/{at}" for at in "abc"]
        words = [PAWL, "lock", "--ttl", "900ms", "--all", *names, "--", "sleep", "1.5"]
        done = subprocess.run(words, env=environment(gateway.url), capture_output=True,
                              timeout=PATIENCE, check=False)
        gateway.close()
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in names:
            self.client.acquire(name, wait=0).release()
        return gateway.kept

    def test_several_names_are_kept_and_released_by_one_request(self):
        kept = self.keep_several(())
        self.assertGreaterEqual(kept.count("PATCH /v1/locks"), 2)
        self.assertEqual(kept.count("DELETE /v1/locks"), 1)

    def test_several_names_are_kept_one_by_one_by_an_older_pawld(self):
        kept = self.keep_several(("PATCH /v1/locks", "DELETE /v1/locks"))
        self.assertEqual(sum(line in ("PATCH /v1/locks", "DELETE /v1/locks") for line in kept), 1)
        self.assertIn("PATCH /v1/locks/several/2/c", kept)
        self.assertIn("DELETE /v1/locks/several/2/c", kept)

    def test_own_lock_is_not_waited_for(self):
        for wait, clients in (("-", EVERYONE), ("5000", LANGUAGES)):
            results = self.run_everyone(self.service.url, "nested", f"own/{wait}", wait, None,
                                        clients)
            self.expect(results, "refused", [f"own/{wait}/", "wait for itself"])

    def test_lost_lock_is_told_and_not_released_for_long(self):
        def lose(client):
            service = Service()
            child = subprocess.Popen(words_of(client, "lose", "a", "-"),
                                     env=environment(service.url), stdout=subprocess.PIPE)
            self.assertEqual(b"holding\n", child.stdout.readline())
            service.end()
            kind, _, late_ms, _ = child.communicate(timeout=PATIENCE)[0].decode().split("\0")
            return kind, "in time" if int(late_ms) < 1000 else f"{late_ms} ms late"
        self.expect(run_all({client: lambda client=client: lose(client) for client in LANGUAGES}),
                    "lost", ["in time"])


def watching(url):
    """How many calls wait at the pawld of @url."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE) as answer:
        return sum(int(line.split()[-1]) for line in answer.read().decode().splitlines()
                   if line.startswith("pawl_waiters "))


def got_by_pawl(got):
    """The kinds of errors that one exit code of pawl stands for."""
    return ("invalid", "refused", "unavailable") if got == "error" else (got,)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
