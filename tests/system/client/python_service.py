"""What the tests of the Python client share: masters, a pawld over them, and a relay that does harm
to answers. All of it ends with the test program, however that ends."""

import atexit
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "api/client/python"))
import pawl  # noqa: E402

os.environ["no_proxy"] = "127.0.0.1,localhost"  # for urllib

PATIENCE = 20.0  # of a slow machine
PORT_LEAST = 10000
PORT_MOST = 32000
MASTERS = 3
EXTENSIONS_MAX = 100  # of one grant

_PAWLD = os.path.join(os.environ.get("PAWL_BUILD", os.path.join(ROOT, "build")), "bin/pawld")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def until(condition, what):
    """Waits until @condition() says yes."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} does not come")
        time.sleep(0.01)


def free_port():
    """A port that nothing is bound to, below those that the kernel gives to outgoing connections: a
    server that was killed finds it free again."""
    while True:
        port = random.randint(PORT_LEAST, PORT_MOST)
        with socket.socket() as listener:
            if listener.connect_ex(("127.0.0.1", port)) != 0:
                return port


def _listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A program that ends with this one."""

    def __init__(self, argv, log):
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
        atexit.register(self.kill)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)


class Fleet:
    """Three durable masters, marked."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-test-")
        self.ports = [free_port() for _ in range(MASTERS)]
        self.processes = [self._start(i, port) for i, port in enumerate(self.ports)]
        for port in self.ports:
            until(lambda: _listens(port), "a master")
        subprocess.run([_PAWLD, "init", "--new", "--max-extensions", str(EXTENSIONS_MAX),
                        *self.options()], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)

    def _start(self, i, port):
        folder = os.path.join(self.folder, f"redis-{i}")
        os.mkdir(folder)
        return Process(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                        "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
                       os.path.join(folder, "log"))

    def options(self):
        return [word for port in self.ports for word in ("--master", f"redis://127.0.0.1:{port}")]

    def end(self):
        for process in self.processes:
            process.kill()
        shutil.rmtree(self.folder)


class Service:
    """A pawld over a fleet, on a port that it keeps."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = Process([_PAWLD, "--listen", f"127.0.0.1:{self.port}", "--workers", "1",
                                "--probe-ms", "50", *self.fleet.options()],
                               os.path.join(self.fleet.folder, "pawld.log"))
        until(lambda: is_ready(self.url), "pawld")


def read_request(connection):
    """The head and the body of a request."""
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError
        request += part
    head, body = request.split(b"\r\n\r\n", 1)
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0].split(b":")[1]):
        part = connection.recv(65536)
        if not part:
            raise ConnectionError
        body += part
    return head, body


def is_ready(url):
    """What the pawld at @url says of itself."""
    try:
        with urllib.request.urlopen(url + "/readyz", timeout=PATIENCE) as answer:
            return answer.status == 200
    except OSError:  # also what is no 200
        return False


class Listener:
    """Calls serve() with each connection to its port, in a thread of its own."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass  # the client is gone

    def close(self):
        """The thread ends before its socket is closed: it could accept from the next socket that gets
        the descriptor's number, which is that of another listener."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()


class Relay(Listener):
    """Hands requests on to a service, one on each connection, and does harm to answers.

    harm: a function of the method and of how many requests of it there were before. It returns
    None, or what becomes of the answer: a function of its bytes that returns others, b"": none.
    context: TLS is spoken with it. requests: the first lines of all requests."""

    def __init__(self, service, harm, context=None):
        self.requests = []
        self._harm = harm
        self._upstream = ("127.0.0.1", service.port)
        self._context = context
        super().__init__()
        self.url = f"{'https' if context else 'http'}://{self.address}"

    def serve(self, connection):
        if self._context:  # a client that does not trust it is gone
            connection = self._context.wrap_socket(connection, server_side=True)
        with connection:
            head, body = read_request(connection)
            method = head.split()[0].decode()
            before = sum(line.startswith(method) for line in self.requests)
            self.requests.append(head.split(b"\r\n")[0].decode())
            harm = self._harm(method, before)
            answer = b""
            with socket.create_connection(self._upstream, PATIENCE) as upstream:
                lines = [line for line in head.split(b"\r\n")
                         if not line.lower().startswith(b"connection:")]
                upstream.sendall(b"\r\n".join(lines + [b"Connection: close", b"", body]))
                while part := upstream.recv(65536):
                    answer += part
            connection.sendall(harm(answer) if harm else answer)


def certificate(folder):
    """Makes a certificate of 127.0.0.1. Returns its file and that of its key."""
    files = os.path.join(folder, "certificate"), os.path.join(folder, "key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-out", files[0], "-keyout", files[1]], check=True, timeout=PATIENCE,
                   stderr=subprocess.DEVNULL)
    return files


def first(method, become):
    """The harm that makes @become of the first answer to @method."""
    return lambda asked, before: become if asked == method and before == 0 else None


class Case(unittest.TestCase):
    """A case with the fleet and the pawld that all share, and names of its own."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.end)
        cls.service = Service(cls.fleet)
        cls.addClassCleanup(lambda: cls.service.process.kill())

    def setUp(self):
        self.client = pawl.Client(self.service.url)
        self.name = f"{self.id().rsplit('.', 1)[-1]}/1"

    def relay(self, harm, context=None):
        relay = Relay(self.service, harm, context)
        self.addCleanup(relay.close)
        return relay

    def hang_resolver(self):
        """Lets no host be resolved until the event that it returns is set."""
        go_on = threading.Event()
        resolve = socket.getaddrinfo

        def hang(*arguments, **options):
            go_on.wait(PATIENCE)
            return resolve(*arguments, **options)
        patch = unittest.mock.patch("socket.getaddrinfo", hang)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(go_on.set)
        return go_on

    def expect_free(self, name=None):
        self.client.acquire(name or self.name, ttl=1, wait=0).release()

    def break_lock(self, token):
        request = urllib.request.Request(f"{self.service.url}/v1/locks/{self.name}?force=true",
                                         method="DELETE", headers={"If-Match": f'"{token}"'})
        urllib.request.urlopen(request, timeout=PATIENCE).close()

    def take(self, lock):
        """Releases a lock behind the back of its holder."""
        return pawl.Lock(self.client, lock.lock_id, 5, lock.tokens, 0, False).release()

    def waiters(self):
        with urllib.request.urlopen(f"{self.service.url}/v1/locks/{self.name}",
                                    timeout=PATIENCE) as answer:
            return json.load(answer)["waiters"]

    def expect_held(self, name=None):
        with self.assertRaises(pawl.Held):
            self.client.acquire(name or self.name, ttl=1, wait=0)
