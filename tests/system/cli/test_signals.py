"""Each signal from 1 to 64, sent to a `pawl` that waits for a lock, runs a command, or releases; as
process 1 of its namespace, and not. RULES says what has to happen, and --table prints what did.

usage: test_signals.py [--table] PAWL PAWLD CATCHES"""

import functools
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ARGUMENTS = [word for word in sys.argv[1:] if word != "--table"]
PAWL, PAWLD, CATCHES = ARGUMENTS[:3] if len(ARGUMENTS) >= 3 else (None, None, None)
PATIENCE_S = 30
MOMENT_S = 0.15  # for something that has to stay away
EXIT_CODE = 7  # of CATCHES
LEASE = "4m"  # a lock that stays for its lease outlasts the phase on a busy machine
LEASE_MS = 240000
SIGNALS = list(range(1, 65))

KEPT = (32, 33)  # by the C library
STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
HARMLESS = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)
ENDING = [n for n in SIGNALS
          if n not in KEPT + STOPS + HARMLESS + (signal.SIGSTOP,)]
SOME = [n for n in SIGNALS if n <= signal.SIGRTMIN or n == signal.SIGRTMAX]
ORPHANS = 5
GRANTS = 30


def got_by_command(n):
    """What a command writes that catches all: it goes on after a SIGSTOP of pawl."""
    if n == signal.SIGSTOP:
        return [signal.SIGCONT]
    return [] if n in KEPT + (signal.SIGCHLD, signal.SIGKILL) else [n]


def expected(phase, n):
    """What the command got, pawl's exit code, and whether the lock is free at once (None: either)."""
    if phase == "runs":
        return (got_by_command(n), EXIT_CODE, True) if n != signal.SIGKILL else ([], 128 + n, False)
    if phase == "runs, plain":
        if n == signal.SIGKILL:
            return [], 128 + n, False
        return [], (128 + n if n in ENDING else 0), True
    if phase == "releases":
        return [], (EXIT_CODE if n != signal.SIGKILL else 128 + n), True if n != signal.SIGKILL else None
    return [], (128 + n if n in ENDING else 0), True  # waits; acquire


def is_as_expected(phase, n, result):
    wanted = expected(phase, n)
    return result[:2] == wanted[:2] and wanted[2] in (None, result[2])


class Service:
    """A pawld with a file."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [PAWLD, "--data", f"{folder}/data", "--listen", f"127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.call("GET", "/readyz") == 200, "a pawld that is ready")

    def call(self, method, path, body=None, headers=None):
        """The status; 0: nobody answers."""
        self.body = None
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            connection.request(method, path, body and json.dumps(body), headers or {})
            answer = connection.getresponse()
            text = answer.read()
            self.body = json.loads(text) if text.startswith(b"{") else None
            connection.close()
            return answer.status
        except OSError:
            return 0

    def acquire(self, name):
        """The lock id; None: another one holds it."""
        status = self.call("POST", f"/v1/locks/{name}", {"ttl_ms": LEASE_MS})
        return self.body["lock_id"] if status == 201 else None

    def release(self, name, lock_id):
        self.call("DELETE", f"/v1/locks/{name}", headers={"Lock-Id": lock_id})

    def is_free(self, name):
        until(lambda: self.call("GET", f"/v1/locks/{name}") == 200, f"an answer about {name}")
        return not self.body["held"]

    def waiters(self, name):
        return self.call("GET", f"/v1/locks/{name}") == 200 and self.body.get("waiters", 0)


def until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.005)


def children(pid):
    try:
        return [int(word) for task in os.listdir(f"/proc/{pid}/task")
                for word in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return []


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


NAMESPACE = ["unshare", *(["--user", "--map-root-user"] if os.geteuid() != 0 else []), "--pid", "--fork",
             "--mount-proc", "--kill-child"]


def namespaces_are_refused():
    """Why; None: they are not."""
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True)
    return tried.stderr.strip() or None if tried.returncode else None


class Pawl:
    """One process, and the file that its command writes."""

    def __init__(self, service, folder, name, as_init, words):
        self.log = f"{folder}/{name}.log"
        self.said = f"{folder}/{name}.said"
        self.name = name
        # In a process group of its own, whose parent is in another one: the kernel stops no process
        # of an orphaned group (setpgid(2)), which is what this test may run in.
        with open(self.said, "w") as said:
            self.process = subprocess.Popen(
                [*(NAMESPACE if as_init else []), *words], stdin=subprocess.PIPE, stdout=said, stderr=said,
                process_group=0, env={**os.environ, "PAWL_SERVER": f"http://127.0.0.1:{service.port}"})
        self.as_init = as_init
        self.killed = False

    @functools.cached_property
    def pid(self):
        """Of `pawl`, which unshare has started in its namespace."""
        if not self.as_init:
            return self.process.pid
        until(lambda: children(self.process.pid), "the process in the namespace")
        return children(self.process.pid)[0]

    def send(self, n):
        """To a process that may have ended."""
        self.killed |= n == signal.SIGKILL
        try:
            os.kill(self.pid, n)
        except ProcessLookupError:
            pass

    def has_ended(self):
        return self.process.poll() is not None

    def text(self):
        return pathlib.Path(self.said).read_text()

    def numbers(self):
        """What the command got; None: it is not ready."""
        try:
            lines = pathlib.Path(self.log).read_text().split()
        except OSError:
            return None
        return [int(line) for line in lines[1:]] if lines else None

    def end_of(self):
        """The exit code, as a shell says it. unshare of util-linux 2.38 ends with 1 after a SIGKILL."""
        after(PATIENCE_S, self.has_ended)
        self.close_input()
        if not self.has_ended():
            self.process.kill()
            self.process.wait()
            return "goes on"
        code = self.process.returncode
        if self.killed and self.as_init and code == 1:
            return 128 + signal.SIGKILL
        return 128 - code if code < 0 else code

    def close_input(self):
        self.process.stdin.close()


def after(seconds, condition):
    """Waits until @condition, no longer than that."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)


class Play:
    def __init__(self, service, folder):
        self.service = service
        self.folder = folder
        self.count = 0
        self.cells = []

    def start(self, as_init, *words):
        """A `pawl` with @words, in which NAME and LOG are replaced."""
        return self.start_words(as_init, PAWL, *words)

    def start_words(self, as_init, *words):
        self.count += 1
        name = f"l{self.count}"
        words = [word.replace("NAME", name).replace("LOG", f"{self.folder}/{name}.log") for word in words]
        self.cells.append(Pawl(self.service, self.folder, name, as_init, words))
        return self.cells[-1]

    def end_all(self):
        for cell in self.cells:
            if not cell.has_ended():
                cell.process.kill()
                cell.process.wait()

    def waits(self, as_init, signals, *words):
        """Of each signal: what the command got, the exit code, and whether the lock was free."""
        first = self.count + 1
        held = {f"l{first + i}": self.service.acquire(f"l{first + i}") for i in range(len(signals))}
        cells = [self.start(as_init, *words) for _ in signals]
        for cell in cells:
            until(lambda: self.service.waiters(cell.name), f"{cell.name} to wait: {cell.text()}")
        for cell, n in zip(cells, signals):
            cell.send(n)
        after(PATIENCE_S, lambda: all(cell.has_ended() for cell, n in zip(cells, signals) if n in ENDING))
        for cell, n in zip(cells, signals):
            if n in STOPS and not as_init:
                until(lambda: state_of(cell.pid) == "T", f"the stop of {cell.name}")
            cell.ended = cell.has_ended()
            if not cell.ended:
                cell.send(signal.SIGCONT)
            self.service.release(cell.name, held[cell.name])
        results = []
        for cell, n in zip(cells, signals):
            code = cell.end_of()
            if n in ENDING and not cell.ended:
                code = f"ignores it, {code}"
            results.append(([], code, words[0] == "acquire" and code == 0 or self.service.is_free(cell.name)))
        return results

    def waits_to_run(self, as_init, signals):
        return self.waits(as_init, signals, "lock", "--ttl", LEASE, "NAME", "--", "true")

    def waits_to_acquire(self, as_init, signals):
        return self.waits(as_init, signals, "acquire", "NAME")

    def collect(self, cells, signals):
        results = []
        for cell, n in zip(cells, signals):
            code = cell.end_of()
            free = self.service.is_free(cell.name)
            results.append((cell.numbers() or [], code, free))
        return results

    def runs(self, as_init, signals):
        cells = [self.start(as_init, "lock", "--ttl", LEASE, "NAME", "--", CATCHES, "LOG") for _ in signals]
        for cell in cells:
            until(lambda: cell.numbers() is not None, f"the command of {cell.name}: {cell.text()}")
        for cell, n in zip(cells, signals):
            cell.send(n)
        after(MOMENT_S, lambda: False)
        for cell, n in zip(cells, signals):
            if n == signal.SIGSTOP:
                cell.send(signal.SIGCONT)
        after(PATIENCE_S, lambda: all(cell.numbers() for cell, n in zip(cells, signals) if got_by_command(n)))
        for cell in cells:
            cell.close_input()
        return self.collect(cells, signals)

    def runs_plain(self, as_init, signals):
        """A command that has all default actions, and goes on after a stop."""
        cells = [self.start(as_init, "lock", "--ttl", LEASE, "NAME", "--", "sh", "-c", "echo ready >LOG; exec cat")
                 for _ in signals]
        for cell in cells:
            until(lambda: cell.numbers() is not None, f"the command of {cell.name}: {cell.text()}")
        after(MOMENT_S, lambda: False)  # it becomes cat
        for cell, n in zip(cells, signals):
            cell.send(n)
        after(PATIENCE_S, lambda: all(cell.has_ended() for cell, n in zip(cells, signals) if n in ENDING))
        for cell in cells:
            if not cell.has_ended():
                cell.send(signal.SIGCONT)
            cell.close_input()
        return self.collect(cells, signals)

    def releases(self, as_init, signals):
        """The command has ended, and pawld does not answer yet."""
        cells = [self.start(as_init, "lock", "--ttl", LEASE, "NAME", "--", CATCHES, "LOG") for _ in signals]
        for cell in cells:
            until(lambda: cell.numbers() is not None, f"the command of {cell.name}: {cell.text()}")
        self.service.process.send_signal(signal.SIGSTOP)
        for cell in cells:
            cell.close_input()
        try:
            for cell in cells:
                until(lambda: not children(cell.pid), f"the end of the command of {cell.name}")
            for cell, n in zip(cells, signals):
                cell.send(n)
            after(MOMENT_S, lambda: False)
            next(cell for cell, n in zip(cells, signals) if n == signal.SIGSTOP).send(signal.SIGCONT)
        finally:
            self.service.process.send_signal(signal.SIGCONT)
        return self.collect(cells, signals)


PHASES = {"waits": Play.waits_to_run, "acquire waits": Play.waits_to_acquire, "runs": Play.runs,
          "runs, plain": Play.runs_plain, "releases": Play.releases}


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        cls.folder = tempfile.mkdtemp(prefix="pawl-signals-")
        cls.service = Service(cls.folder)
        cls.play = Play(cls.service, cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.play.end_all()
        cls.service.process.kill()
        cls.service.process.wait()
        shutil.rmtree(cls.folder)

    def skip_without_namespaces(self):
        refused = namespaces_are_refused()
        if refused:
            self.skipTest(f"no namespace of processes can be made here: {refused}")

    def both_ways(self, play):
        """As process 1 of its namespace, and not."""
        for as_init in (False, True):
            with self.subTest(as_init=as_init):
                if as_init:
                    self.skip_without_namespaces()
                play(as_init)

    def check(self, phase, signals=SIGNALS):
        def play(as_init):
            results = PHASES[phase](self.play, as_init, signals)
            wrong = [f"{n}: {result}, not {expected(phase, n)}"
                     for n, result in zip(signals, results) if not is_as_expected(phase, n, result)]
            self.assertEqual(wrong, [], phase)
        self.both_ways(play)

    def test_a_signal_that_ends_a_waiting_process_ends_it(self):
        self.check("waits")

    def test_a_signal_ends_acquire(self):
        self.check("acquire waits", SOME)

    def test_the_command_gets_each_signal(self):
        self.check("runs")

    def test_a_command_that_a_signal_ends_is_followed_by_the_release(self):
        self.check("runs, plain", SOME)

    def test_no_signal_ends_or_stops_the_release(self):
        self.check("releases")

    def reap(self, as_init):
        """Of children that `pawl` finds at its start, the zombies that are left."""
        held = self.service.acquire("r")
        cell = self.play.start_words(
            as_init, "sh", "-c", f"for i in {'x ' * ORPHANS}; do sleep 0.2 & done; for i in {'x ' * ORPHANS}; "
            "do sleep 0.7 & done; exec \"$0\" lock r -- \"$@\"", PAWL, CATCHES, "LOG")
        until(lambda: self.service.waiters("r"), f"the wait: {cell.text()}")
        until(lambda: len(children(cell.pid)) <= ORPHANS, f"the end of the first orphans: {cell.text()}")
        self.service.release("r", held)
        until(lambda: cell.numbers() is not None, f"the command: {cell.text()}")
        until(lambda: len(children(cell.pid)) == 1, f"the end of all orphans: {cell.text()}")
        cell.close_input()
        self.assertEqual(cell.end_of(), EXIT_CODE)

    def test_orphans_are_reaped(self):
        self.both_ways(self.reap)

    def test_a_grant_in_the_moment_of_the_signal_is_given_back(self):
        """Also where the answer with the grant is on its way."""
        for i in range(GRANTS):
            held = self.service.acquire("g")
            cell = self.play.start_words(False, PAWL, "lock", "--ttl", LEASE, "g", "--", "sleep", "60")
            until(lambda: self.service.waiters("g"), f"the wait: {cell.text()}")
            if i % 2:
                cell.send(signal.SIGTERM)
            self.service.release("g", held)
            cell.send(signal.SIGTERM)
            self.assertEqual(cell.end_of(), 128 + signal.SIGTERM)
            self.assertTrue(self.service.is_free("g"), f"round {i}: {self.service.body}")


def print_table():
    """A line for each signal, and a column for each phase: as process 1, and not."""
    Signals.setUpClass()
    plays = [(phase, as_init) for phase in PHASES for as_init in (False, True)]
    columns = [PHASES[phase](Signals.play, as_init, SIGNALS) for phase, as_init in plays]
    print("\t".join(["signal", *(f"{phase}{' (1)' if as_init else ''}" for phase, as_init in plays)]))
    for i, n in enumerate(SIGNALS):
        cells = []
        for column, (phase, _) in zip(columns, plays):
            got, code, free = column[i]
            cells.append(f"{'got ' + ','.join(map(str, got)) + ', ' if got else ''}{code}, "
                         f"{'free' if free else 'HELD'}{'' if is_as_expected(phase, n, column[i]) else ' !'}")
        print("\t".join([f"{n}", *cells]))
    Signals.tearDownClass()


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table()
    else:
        unittest.main(argv=sys.argv[:1])
