"""What plays a row of the table: a driver, the servers of the row, and what must be seen."""

import concurrent.futures
import contextlib
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time

from server import Server

PATIENCE = 20.0  # of a slow machine
DRIVERS = 4  # of one client at once; rows mostly wait
CALL_MS = 900  # the call timeout of a row that does not say another
NAME = "orders/42"
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Wrong(Exception):
    """The client did not do what the row says."""


class Missing(Exception):
    """The client has no such call. The driver says why."""


class Driver:
    """A program that drives a client by lines of words with a tab between two."""

    def __init__(self, command, environment=None):
        self._command, self._environment = command, {**os.environ, **(environment or {})}
        self._start()

    def _start(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env=self._environment)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def ask_and_end(self, *words):
        """A command that ends the driver, which then begins again."""
        try:
            kind, _, text = self.ask(*words)
        except Wrong:
            if self._process.poll() is None:
                raise
            self.end()
            self._start()
            return
        raise Missing(text) if kind == "none" else Wrong(f"{words} gave {kind} {text}")

    def ask(self, *words):
        """The kind, the value and the sentence that the driver answers."""
        self._process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise Wrong(f"{words}: no answer within {PATIENCE} s") from None
        if line is None:
            self._process.wait()
            raise Wrong(f"{words}: the driver ended")
        fields = line.decode("utf-8", "replace").rstrip("\n").split("\t")
        if len(fields) != 3:
            raise Wrong(f"{words}: the driver wrote {line!r}")
        return fields

    def signal(self, number):
        self._process.send_signal(number)

    def sleep(self, seconds):
        """Stops the process for a time, as a suspended machine or a debugger does."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):  # of a driver that ended by itself
            self._process.stdin.close()
        self._process.stdout.close()


class Step:
    """One command, the kind of its answer, and what its value, sentence and time must be."""

    def __init__(self, *words, kind="ok", value=None, said=(), least=None, most=None, within=None, after=None):
        self.words, self.kinds = words, kind.split(" or ")
        self.value, self.said, self.least, self.most = value, said, least, most
        self.within, self.after = within, after

    def play(self, driver, _servers):
        began = time.monotonic()
        kind, value, text = driver.ask(*self.words)
        took = time.monotonic() - began
        answer = f"{self.words} gave {kind} {value!r} {text!r} after {took:.2f} s"
        if kind == "none" and "none" not in self.kinds:
            raise Missing(text)
        if kind not in self.kinds:
            raise Wrong(f"{answer}, not {' or '.join(self.kinds)}")
        if self.value is not None and value != self.value:
            raise Wrong(f"{answer}, not {self.value!r}")
        if self.least is not None and not self.least <= int(value) <= self.most:
            raise Wrong(f"{answer}, not {self.least} to {self.most}")
        if any(word not in text for word in self.said) or ODD.search(text) or ODD.search(value):
            raise Wrong(f"{answer}, not with {self.said}")
        if self.within is not None and took > self.within or self.after is not None and took < self.after:
            raise Wrong(f"{answer}, not from {self.after} to {self.within} s")


class Act:
    """A step of the harness: @call is given the driver and the servers."""

    def __init__(self, call):
        self.call = call

    def play(self, driver, servers):
        self.call(driver, servers)


class Row:
    """@script: of one server, or a list of several ("dead": nobody listens; "hangs": it accepts, and never
    answers). @seen: a function of the servers; false is wrong. Rows play at once, but @alone."""

    def __init__(self, name, script, steps, seen=None, call_ms=CALL_MS, key=None):
        self.name, self.steps, self.seen, self.call_ms, self.key = name, steps, seen, call_ms, key
        self.scripts = script if isinstance(script, list) else [script]

    def play(self, driver):
        """Raises Wrong, and Missing."""
        servers = [_server(script) for script in self.scripts]
        words = ["client", self.call_ms, " ".join(server.url for server in servers)]
        try:
            kind, _, text = driver.ask(*words, *([self.key] if self.key else []))
            if kind != "ok":
                raise Wrong(f"no client: {kind} {text}")
            for step in self.steps:
                step.play(driver, servers)
            if not self._is_seen(servers):
                raise Wrong(f"the servers saw {[server.requests for server in servers]}")
        finally:
            for server in servers:
                server.stop()

    def _is_seen(self, servers) -> bool:
        try:
            return self.seen is None or self.seen(*servers)
        except (IndexError, KeyError):
            return False  # a request did not come, or had no such header


class _Silent:
    """A port where nobody listens, or where nobody answers."""

    requests = ()

    def __init__(self, hangs):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        if hangs:
            self._socket.listen(16)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def stop(self):
        self._socket.close()


def _server(script):
    return _Silent(script == "hangs") if isinstance(script, str) else Server(script)


def play_all(command, rows, drivers=DRIVERS):
    """What came of each row, by its name: None, Missing or a sentence. Each of some drivers takes the next
    row, and a driver that a row leaves in an unknown state is replaced."""
    left = queue.SimpleQueue()
    for row in rows:
        left.put(row)
    came = {}

    ordinary = Server()

    def start():
        """A driver whose interpreter has done everything once: rows have times."""
        driver = Driver(command)
        for words in (("client", 15000, ordinary.url), ("acquire", 0, 5000, "-", NAME), ("extend", "-"), ("release",)):
            driver.ask(*words)
        return driver

    def work():
        driver = start()
        while True:
            try:
                row = left.get_nowait()
            except queue.Empty:
                return driver.end()
            try:
                came[row.name] = row.play(driver)
            except Missing as missing:
                came[row.name] = missing if str(missing) else f"{row.name} has no reason to be left out"
            except (Wrong, OSError) as wrong:
                came[row.name] = str(wrong) or repr(wrong)
                driver.end()
                driver = start()

    with concurrent.futures.ThreadPoolExecutor(drivers) as pool:
        for done in [pool.submit(work) for _ in range(min(drivers, len(rows)))]:
            done.result()
    ordinary.stop()
    return came
